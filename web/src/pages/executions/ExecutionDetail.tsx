// One execution: how it went, what came out, what it wrote, and why it waits if it does.
import { CloseCircleOutlined, FormOutlined, RedoOutlined } from '@ant-design/icons';
import { Card, Progress, Tag } from 'antd';
import { useState } from 'react';
import { Link, useParams } from 'react-router-dom';
import { api, isFinished } from '../../api/client';
import { type Execution, isRun } from '../../api/types';
import { ActButton } from '../../components/ActButton';
import { type Copied, CopyMenu } from '../../components/CopyMenu';
import { cliLine } from '../../components/copyLines';
import { Field, Fields } from '../../components/Field';
import { JsonBox } from '../../components/JsonBox';
import { PageHeader } from '../../components/PageHeader';
import { Loaded } from '../../components/States';
import { StatusTag } from '../../components/StatusTag';
import { Moment, RunTime } from '../../components/Time';
import { useAct } from '../../hooks/useAct';
import { useData } from '../../hooks/useData';
import { useI18n } from '../../i18n';
import { reasonText } from '../../i18n/said';
import { RunFlow } from '../flow/RunFlow';
import { AttemptTimeline } from './AttemptTimeline';
import { LogView } from './LogView';
import { PartOf } from './PartOf';
import { RerunDialog } from './RerunDialog';
import { Why } from './Why';

function Actions({ execution, changed }: { execution: Execution; changed: () => void }) {
    const { t } = useI18n();
    const { act, confirm } = useAct();
    const [rerunning, setRerunning] = useState(false);
    const cancel = () =>
        confirm(
            {
                title: t('execution.cancelTitle'),
                what: t('execution.cancelWhat'),
                ok: t('execution.cancelOk'),
            },
            async () => {
                if (await act(t('execution.cancelled'), () => api.cancelExecution(execution.id))) changed();
            },
        );
    const retry = () =>
        confirm(
            {
                title: t('execution.retryTitle'),
                what: t('execution.retryWhat'),
                ok: t('action.retry'),
                danger: false,
            },
            async () => {
                if (await act(t('execution.retried'), () => api.retryExecution(execution.id))) changed();
            },
        );
    const path = `executions/${encodeURIComponent(execution.id)}`;
    const over = isFinished(execution.status);
    const failed = execution.status === 'failed' || execution.status === 'cancelled';
    const lines: Copied[] = [
        { label: t('copy.show'), call: { method: 'GET', path }, cli: cliLine('get', execution.id) },
        {
            label: t('log.title'),
            call: { method: 'GET', path: `${path}/log` },
            cli: cliLine('logs', execution.id),
        },
    ];
    if (!over) {
        lines.push({
            label: t('execution.cancelOk'),
            call: { method: 'POST', path: `${path}/cancel` },
            cli: cliLine('cancel', execution.id),
        });
    }
    if (failed) {
        lines.push({
            label: t('action.retry'),
            call: { method: 'POST', path: `${path}/retry` },
            cli: cliLine('retry', execution.id),
        });
    }
    return (
        <>
            {failed && (
                <ActButton type="primary" icon={<RedoOutlined />} onClick={retry}>
                    {t('action.retry')}
                </ActButton>
            )}
            {/* A part of a run is run again with its run. */}
            {over && !execution.parent_id && (
                <ActButton icon={<FormOutlined />} onClick={() => setRerunning(true)}>
                    {t('rerun.action')}
                </ActButton>
            )}
            {!over && (
                <ActButton danger icon={<CloseCircleOutlined />} onClick={cancel}>
                    {t('execution.cancelOk')}
                </ActButton>
            )}
            <CopyMenu lines={lines} />
            {rerunning && <RerunDialog execution={execution} onClose={() => setRerunning(false)} />}
        </>
    );
}

function Outcome({ execution }: { execution: Execution }) {
    const { t } = useI18n();
    return (
        <Card size="small" className="span-6" title={t('execution.outcome')}>
            {execution.error && (
                <div className="outcome-error" data-testid="error">
                    <div className="muted small">
                        {t('execution.error')} · {reasonText(execution.error, t)} ·{' '}
                        <code>{execution.error.code}</code>
                    </div>
                    <pre className="preformatted">{execution.error.message}</pre>
                </div>
            )}
            {execution.result && (
                <div className="outcome-part">
                    <div className="muted small">{t('execution.result')}</div>
                    <JsonBox value={execution.result} />
                </div>
            )}
            {!execution.error && !execution.result && (
                <div className="muted outcome-part">
                    {isFinished(execution.status) ? t('execution.noResult') : t('execution.notYet')}
                </div>
            )}
            <div className="muted small">{t('task.parameters')}</div>
            <JsonBox value={execution.parameters ?? 'null'} />
        </Card>
    );
}

function ExecutionPage({ execution, reload }: { execution: Execution; reload: () => void }) {
    const { t } = useI18n();
    const running = !isFinished(execution.status);
    const ofSteps = isRun(execution);
    const percent = execution.progress?.percent;
    return (
        <>
            <PageHeader
                name={execution.task_name}
                title={execution.task_name}
                about={
                    <span className="row-gap">
                        <StatusTag status={execution.status} /> <code>{execution.id}</code>
                    </span>
                }
                actions={<Actions execution={execution} changed={reload} />}
            />
            {running && <Why execution={execution} />}
            {running && percent !== null && percent !== undefined && (
                <div className="progress-row">
                    <Progress percent={Math.round(percent)} />
                    {execution.progress?.message && (
                        <span className="muted">{execution.progress.message}</span>
                    )}
                </div>
            )}
            {ofSteps && <RunFlow run={execution} changed={reload} />}
            <div className="grid">
                <Card size="small" className="span-6" title={t('execution.timeline')}>
                    <AttemptTimeline execution={execution} />
                    <Fields>
                        <Field label={t('task.task')}>
                            {execution.origin === 'once' ? (
                                execution.task_name
                            ) : (
                                <Link to={`/tasks/${encodeURIComponent(execution.task_id)}`}>
                                    {execution.task_name}
                                </Link>
                            )}
                        </Field>
                        <PartOf execution={execution} />
                        <Field label={t('execution.origin')}>{t(`origin.${execution.origin}`)}</Field>
                        <Field label={t('task.type')}>{ofSteps ? t('flow.workflow') : execution.type}</Field>
                        <Field
                            label={t('queue.queue')}
                        >{`${execution.queue} · ${t('task.priorityOf', { value: execution.priority })}`}</Field>
                        <Field label={t('worker.worker')}>
                            {execution.worker_id && (
                                <Link to={`/workers/${encodeURIComponent(execution.worker_id)}`}>
                                    {execution.worker_id}
                                </Link>
                            )}
                        </Field>
                        <Field label={t('execution.took')}>
                            <RunTime execution={execution} />
                        </Field>
                        <Field label={t('execution.due')}>
                            <Moment at={execution.scheduled_at} />
                        </Field>
                        <Field label={t('execution.counts')}>
                            {t('execution.countsOf', {
                                failures: execution.failures,
                                losses: execution.losses,
                            })}
                        </Field>
                        {Object.keys(execution.metadata ?? {}).length > 0 && (
                            <Field label={t('list.metadataLabel')}>
                                {Object.entries(execution.metadata ?? {}).map(([name, value]) => (
                                    <Link
                                        key={name}
                                        to={`/executions?metadata=${encodeURIComponent(`${name}=${value}`)}`}
                                    >
                                        <Tag>{`${name}=${value}`}</Tag>
                                    </Link>
                                ))}
                            </Field>
                        )}
                        {execution.trace_id && (
                            <Field label={t('execution.trace')}>
                                <code>{execution.trace_id}</code>
                            </Field>
                        )}
                    </Fields>
                </Card>
                <Outcome execution={execution} />
                {/* A run has no handler that could write. */}
                {!ofSteps && <LogView execution={execution} />}
            </div>
        </>
    );
}

function ExecutionOf({ id }: { id: string }) {
    const execution = useData((signal) => api.execution(id, signal), [id], {
        topics: ['task'],
        concerns: (event) => event.execution_id === id,
        everyMs: 5_000,
    });
    return (
        <Loaded of={execution}>
            {(data) => <ExecutionPage execution={data} reload={execution.reload} />}
        </Loaded>
    );
}

export default function ExecutionDetail() {
    const { id = '' } = useParams();
    // Another execution is another page: nothing of the last one stays.
    return <ExecutionOf key={id} id={id} />;
}
