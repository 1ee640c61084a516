// One execution: how it went, what came out, what it wrote, and why it waits if it does.
import { CloseCircleOutlined, FormOutlined, RedoOutlined } from '@ant-design/icons';
import { Card, Progress, Tag } from 'antd';
import { useEffect, useState } from 'react';
import { Link, useParams } from 'react-router-dom';
import { api, isFinished } from '../../api/client';
import { type Execution, isRun, type Task } from '../../api/types';
import { ActButton } from '../../components/ActButton';
import { type Copied, CopyMenu } from '../../components/CopyMenu';
import { cliLine } from '../../components/copyLines';
import { Field, Fields } from '../../components/Field';
import { JsonBox } from '../../components/JsonBox';
import { PageHeader } from '../../components/PageHeader';
import { Loaded, Whole } from '../../components/States';
import { StatusTag } from '../../components/StatusTag';
import { Moment, RunTime, Took } from '../../components/Time';
import { useAct } from '../../hooks/useAct';
import { useData } from '../../hooks/useData';
import { useDefaults } from '../../hooks/useDefaults';
import { TaskZone } from '../../hooks/useTaskZone';
import { useI18n } from '../../i18n';
import { reasonText } from '../../i18n/said';
import { RunFlow } from '../flow/RunFlow';
import { limitText } from '../tasks/fieldTexts';
import { zoneOf } from '../tasks/zones';
import { AttemptTimeline } from './AttemptTimeline';
import { LogView } from './LogView';
import { PartOf } from './PartOf';
import { RerunDialog } from './RerunDialog';
import { useWhy, Why } from './Why';

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
    // Whoever cancelled it did not make a mistake.
    const cancelled = execution.status === 'cancelled';
    const said = execution.error?.message;
    return (
        <Card size="small" className="span-6" title={t('execution.outcome')}>
            {execution.error && (
                <div className={cancelled ? 'outcome-part' : 'outcome-error'} data-testid="error">
                    <div className="muted small">
                        {cancelled
                            ? t('execution.cancelledBy')
                            : `${t('execution.error')} · ${reasonText(execution.error, t)} · `}
                        {!cancelled && <code>{execution.error.code}</code>}
                    </div>
                    {said && <pre className="preformatted">{said}</pre>}
                </div>
            )}
            {execution.message && (
                <div className="outcome-part" data-testid="said">
                    <div className="muted small">{t('execution.message')}</div>
                    <pre className="preformatted">{execution.message}</pre>
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

// Of an attempt: as its task says, else as the scheduler is set. Steps name theirs in their workflow. What is over
// may have had another: its task was changed since.
function useLimit(execution: Execution, task: Task | undefined): string | undefined {
    const { t } = useI18n();
    const defaults = useDefaults();
    if (!task || isFinished(execution.status) || execution.parent_id || task.steps) return undefined;
    return limitText(task) ?? (defaults && t('form.unless', { value: defaults.timeout }));
}

interface PageProps {
    execution: Execution;
    task: Task | undefined;
    reload: () => void;
}

function ExecutionPage({ execution, task, reload }: PageProps) {
    const { t } = useI18n();
    const limit = useLimit(execution, task);
    const running = !isFinished(execution.status);
    const ofSteps = isRun(execution);
    const percent = execution.progress?.percent;
    const why = useWhy(execution, !running);
    return (
        <Whole of={running ? [why] : []}>
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
            {running && <Why why={why} />}
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
                        <Field label={execution.attempt > 1 ? t('execution.lastTook') : t('execution.took')}>
                            <RunTime execution={execution} />
                        </Field>
                        <Field label={t('execution.total')}>
                            <Took from={execution.created_at} to={execution.finished_at} />
                        </Field>
                        {limit && <Field label={t('task.timeout')}>{limit}</Field>}
                        <Field label={t('execution.due')}>
                            <Moment at={execution.scheduled_at} />
                        </Field>
                        <Field label={t('execution.counts')}>
                            {[
                                execution.failures > 0 &&
                                    t('execution.failuresOf', { count: execution.failures }),
                                execution.losses > 0 && t('execution.lossesOf', { count: execution.losses }),
                            ]
                                .filter(Boolean)
                                .join(', ') || t('execution.noFailures')}
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
        </Whole>
    );
}

// While it runs its handler tells how far it is, of which there is no event.
const followMs = 1_000;
const lookMs = 5_000;

function ExecutionOf({ id }: { id: string }) {
    const [running, setRunning] = useState(false);
    const execution = useData((signal) => api.execution(id, signal), [id], {
        topics: ['task'],
        concerns: (event) => event.execution_id === id,
        everyMs: running ? followMs : lookMs,
    });
    const of = execution.data?.task_id ?? '';
    const task = useData((signal) => api.task(of, signal), [of], { paused: !of });
    const status = execution.data?.status;
    useEffect(() => setRunning(status === 'running'), [status]);
    return (
        <Loaded of={execution}>
            {(data) => (
                <TaskZone value={data.origin !== 'once' && task.data ? zoneOf(task.data) : undefined}>
                    <ExecutionPage execution={data} task={task.data} reload={execution.reload} />
                </TaskZone>
            )}
        </Loaded>
    );
}

export default function ExecutionDetail() {
    const { id = '' } = useParams();
    // Another execution is another page: nothing of the last one stays.
    return <ExecutionOf key={id} id={id} />;
}
