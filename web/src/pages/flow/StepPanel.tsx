// One step of a run: where it stands, why it waits, its executions and what they wrote.
import { QuestionCircleOutlined, RedoOutlined } from '@ant-design/icons';
import { Alert, Drawer, Segmented, Table, type TableProps } from 'antd';
import { useState } from 'react';
import { Link } from 'react-router-dom';
import { api, isFinished } from '../../api/client';
import type { Execution } from '../../api/types';
import { ActButton } from '../../components/ActButton';
import { Field, Fields } from '../../components/Field';
import { JsonBox } from '../../components/JsonBox';
import { EmptyNote, Loaded } from '../../components/States';
import { StatusTag } from '../../components/StatusTag';
import { Moment, RunTime, Took } from '../../components/Time';
import { useAct } from '../../hooks/useAct';
import { useI18n } from '../../i18n';
import { failureText } from '../../i18n/said';
import { LogView } from '../executions/LogView';
import { WhyOf } from '../executions/Why';
import { CountsBar, useCountsText } from './CountsBar';
import { type FlowStep, waitsFor } from './flowSteps';
import { stepReason } from './stepReason';
import { useChildren } from './useChildren';

interface Props {
    run: Execution;
    step: FlowStep;
    steps: readonly FlowStep[];
    onClose: () => void;
    changed: () => void;
}

function RetryFromHere({ run, step, changed }: Omit<Props, 'steps' | 'onClose'>) {
    const { t } = useI18n();
    const { act, confirm } = useAct();
    const retry = () =>
        confirm(
            {
                title: t('flow.retryTitle', { step: step.name }),
                what: t('flow.retryWhat'),
                ok: t('action.retry'),
                danger: false,
            },
            async () => {
                if (await act(t('execution.retried'), () => api.retryExecution(run.id, [step.name])))
                    changed();
            },
        );
    return (
        <ActButton
            icon={<RedoOutlined />}
            disabled={!isFinished(run.status)}
            title={isFinished(run.status) ? undefined : t('flow.retryLater')}
            onClick={retry}
        >
            {t('flow.retryHere')}
        </ActButton>
    );
}

function useColumns(): TableProps<Execution>['columns'] {
    const { t } = useI18n();
    return [
        {
            title: t('flow.shard'),
            render: (_, { id, shard }) => (
                <Link to={`/executions/${encodeURIComponent(id)}`}>
                    {shard ? `${shard.index + 1} / ${shard.total}` : <code>{id}</code>}
                </Link>
            ),
        },
        {
            title: t('execution.status'),
            render: (_, { status, error }) => (
                <div className="two-lines">
                    <StatusTag status={status} />
                    {error && <span className="muted small clip">{failureText(error, t)}</span>}
                </div>
            ),
        },
        { title: t('execution.took'), render: (_, execution) => <RunTime execution={execution} /> },
        { title: t('worker.worker'), responsive: ['sm'], render: (_, { worker_id }) => worker_id ?? '–' },
    ];
}

function ChildView({ child }: { child: Execution }) {
    return (
        <div className="step-child">
            {!isFinished(child.status) && <WhyOf execution={child} />}
            <LogView execution={child} />
        </div>
    );
}

const choices = ['', 'failed', 'running'] as const;

function ChildList({ run, step }: { run: Execution; step: FlowStep }) {
    const { t } = useI18n();
    const [status, setStatus] = useState<string>('');
    const [opened, setOpened] = useState<string>();
    const children = useChildren(run.id, step.name, status);
    const columns = useColumns();
    const many = (step.run?.executions.total ?? 0) > 1;
    return (
        <>
            {many && (
                <Segmented
                    className="step-states"
                    value={status}
                    onChange={setStatus}
                    options={choices.map((value) => ({
                        value,
                        label: value ? t(`status.${value}`) : t('action.all'),
                    }))}
                />
            )}
            <Loaded of={children}>
                {({ items, more }) => {
                    const only = items.length === 1 && !many ? items[0] : undefined;
                    const shown = only ?? items.find(({ id }) => id === opened);
                    return (
                        <>
                            <Table
                                size="small"
                                rowKey="id"
                                columns={columns}
                                dataSource={items}
                                pagination={items.length > 10 ? { pageSize: 10, size: 'small' } : false}
                                onRow={({ id }) => ({ onClick: () => setOpened(id) })}
                                rowClassName={({ id }) =>
                                    id === shown?.id ? 'step-row step-row-open' : 'step-row'
                                }
                                locale={{
                                    emptyText: (
                                        <EmptyNote
                                            title={t('flow.noExecutions')}
                                            text={t('flow.noExecutionsText')}
                                        />
                                    ),
                                }}
                            />
                            {more && <p className="muted small">{t('flow.moreExecutions')}</p>}
                            {shown && <ChildView key={shown.id} child={shown} />}
                            {!shown && items.length > 0 && (
                                <p className="muted small">{t('flow.chooseExecution')}</p>
                            )}
                        </>
                    );
                }}
            </Loaded>
        </>
    );
}

export function StepPanel({ run, step, steps, onClose, changed }: Props) {
    const { t } = useI18n();
    const countsText = useCountsText();
    const state = step.run;
    const waiting = state?.status === 'pending' ? waitsFor(step, steps) : [];
    return (
        <Drawer
            open
            width={Math.min(680, window.innerWidth)}
            title={step.name}
            onClose={onClose}
            extra={<RetryFromHere run={run} step={step} changed={changed} />}
        >
            {waiting.length > 0 && (
                <Alert
                    className="why"
                    type="info"
                    showIcon
                    icon={<QuestionCircleOutlined />}
                    message={t('flow.waitsFor', { steps: waiting.map(({ name }) => name).join(', ') })}
                />
            )}
            {state?.reason && (
                <Alert className="why" type="warning" showIcon message={stepReason(state.reason, t)} />
            )}
            {state && (
                <Fields narrow>
                    <Field label={t('execution.status')}>
                        <StatusTag status={state.status} />
                    </Field>
                    <Field label={t('flow.began')}>
                        <Moment at={state.started_at} />
                    </Field>
                    <Field label={t('execution.took')}>
                        {state.started_at && <Took from={state.started_at} to={state.finished_at} />}
                    </Field>
                    {step.type && <Field label={t('task.type')}>{step.type}</Field>}
                    {step.task && (
                        <Field label={t('task.task')}>
                            <Link to={`/tasks/${encodeURIComponent(step.task)}`}>{step.task}</Link>
                        </Field>
                    )}
                    {step.after.length > 0 && <Field label={t('flow.after')}>{step.after.join(', ')}</Field>}
                    {step.when && <Field label={t('flow.begins')}>{t(`flow.when.${step.when}`)}</Field>}
                </Fields>
            )}
            {state && step.fan && state.executions.total > 0 && (
                <div className="step-counts">
                    <CountsBar counts={state.executions} />
                    <div className="muted small">{countsText(state.executions)}</div>
                </div>
            )}
            {state?.result && (
                <div className="field-block">
                    <div className="muted small">{t('execution.result')}</div>
                    <JsonBox value={state.result} />
                </div>
            )}
            <h3 className="step-part">{t('nav.executions')}</h3>
            <ChildList run={run} step={step} />
        </Drawer>
    );
}
