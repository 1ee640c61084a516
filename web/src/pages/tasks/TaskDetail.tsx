// One task: its calendar, how long its runs take, its runs, and its fields.
import {
    CaretRightOutlined,
    DeleteOutlined,
    EditOutlined,
    HistoryOutlined,
    PauseOutlined,
    ThunderboltOutlined,
} from '@ant-design/icons';
import { Card } from 'antd';
import { useState } from 'react';
import { Link, Navigate, useNavigate, useParams } from 'react-router-dom';
import { api } from '../../api/client';
import type { Task } from '../../api/types';
import { ActButton } from '../../components/ActButton';
import { CopyMenu } from '../../components/CopyMenu';
import { cliLine } from '../../components/copyLines';
import { Field, Fields } from '../../components/Field';
import { JsonBox } from '../../components/JsonBox';
import { PageHeader } from '../../components/PageHeader';
import { Loaded, Whole } from '../../components/States';
import { Ago, Moment } from '../../components/Time';
import { formatNumber } from '../../format';
import { useData } from '../../hooks/useData';
import { TaskZone } from '../../hooks/useTaskZone';
import { useI18n } from '../../i18n';
import { ExecutionTable } from '../executions/ExecutionTable';
import { TaskFlow } from '../flow/TaskFlow';
import { BackfillDialog } from './BackfillDialog';
import { DurationChart } from './DurationChart';
import { FireCalendar } from './FireCalendar';
import { GivenFields } from './GivenFields';
import { isRecurring, scheduleText } from './schedule';
import { TaskForm } from './TaskForm';
import { EnabledTag } from './TaskState';
import { TaskWhy, useTaskWhy } from './TaskWhy';
import { TriggerDialog } from './TriggerDialog';
import { useTaskActions } from './useTaskActions';
import { zoneOf } from './zones';

// Enough for the chart; the list of executions has the rest.
const runsRead = 200;
const runsShown = 15;

function TaskFieldsCard({ task }: { task: Task }) {
    const { t, language, locale } = useI18n();
    const fires = useData((signal) => api.fires(task.id, 1, signal), [task.id, task.version]);
    const words = language === 'zh' ? fires.data?.description_zh : fires.data?.description;
    return (
        <Card size="small" title={t('task.definition')} className="span-4">
            <Fields narrow>
                <Field label={t('task.schedule')}>
                    <code>{scheduleText(task, t)}</code>
                    {words && <div className="muted small">{words}</div>}
                </Field>
                <Field label={t('task.nextFire')}>
                    {task.enabled ? <Moment at={task.next_fire_at} /> : t('task.isPaused')}
                </Field>
                <Field label={t('task.lastFire')}>
                    <Ago at={task.last_fire_at} />
                </Field>
                <Field label={t('task.fires')}>
                    {formatNumber(task.fires, locale)}
                    {!!task.missed && ` (${t('task.missed', { count: task.missed })})`}
                </Field>
                <Field label={t('task.type')}>{task.steps ? t('flow.workflow') : task.type}</Field>
                <Field label={t('queue.queue')}>{task.queue}</Field>
                <Field label={t('task.priority')}>{task.priority}</Field>
                <Field label={t('task.mode')}>
                    {task.execution_mode && t(`mode.${task.execution_mode as 'skip'}`)}
                </Field>
                <Field label={t('task.misfire')}>
                    {task.misfire_policy && t(`misfire.${task.misfire_policy as 'skip'}`)}
                </Field>
                <GivenFields task={task} />
                <Field label={t('task.changed')}>
                    <Ago at={task.updated_at} />
                </Field>
                <Field label="id">
                    <code>{task.id}</code>
                </Field>
            </Fields>
            {task.parameters && (
                <div className="field-block">
                    <div className="muted small">{t('task.parameters')}</div>
                    <JsonBox value={task.parameters} />
                </div>
            )}
        </Card>
    );
}

function TaskPage({ task, reload }: { task: Task; reload: () => void }) {
    const { t } = useI18n();
    const navigate = useNavigate();
    const [editing, setEditing] = useState(false);
    const [triggering, setTriggering] = useState(false);
    const [filling, setFilling] = useState(false);
    const actions = useTaskActions(reload);
    const taskPath = `tasks/${encodeURIComponent(task.id)}`;
    const runs = useData(
        (signal) => api.executions({ task_id: task.id, limit: runsRead }, signal),
        [task.id],
        {
            topics: ['task'],
            concerns: (event) => event.task_id === task.id,
            everyMs: 30_000,
        },
    );
    const why = useTaskWhy(task);
    return (
        <Whole of={[runs, why]}>
            <PageHeader
                name={task.name}
                title={task.name}
                about={<EnabledTag task={task} />}
                actions={
                    <>
                        <ActButton
                            type="primary"
                            icon={<ThunderboltOutlined />}
                            onClick={() => setTriggering(true)}
                        >
                            {t('action.trigger')}
                        </ActButton>
                        <ActButton
                            icon={<EditOutlined />}
                            onClick={() =>
                                task.steps
                                    ? navigate(`/editor/${encodeURIComponent(task.id)}`)
                                    : setEditing(true)
                            }
                        >
                            {t('action.edit')}
                        </ActButton>
                        {!task.interval_after_end && (
                            <ActButton icon={<HistoryOutlined />} onClick={() => setFilling(true)}>
                                {t('backfill.action')}
                            </ActButton>
                        )}
                        {task.enabled ? (
                            <ActButton icon={<PauseOutlined />} onClick={() => actions.pause(task)}>
                                {t('action.pause')}
                            </ActButton>
                        ) : (
                            <ActButton
                                icon={<CaretRightOutlined />}
                                onClick={() => void actions.resume(task)}
                            >
                                {t('action.resume')}
                            </ActButton>
                        )}
                        <CopyMenu
                            lines={[
                                {
                                    label: t('copy.show'),
                                    call: { method: 'GET', path: taskPath },
                                    cli: cliLine('tasks', 'get', task.id),
                                },
                                {
                                    label: t('action.trigger'),
                                    call: { method: 'POST', path: `${taskPath}/trigger`, body: {} },
                                    cli: cliLine('trigger', task.id),
                                },
                                {
                                    label: task.enabled ? t('action.pause') : t('action.resume'),
                                    call: {
                                        method: 'POST',
                                        path: `${taskPath}/${task.enabled ? 'pause' : 'resume'}`,
                                    },
                                    cli: cliLine('tasks', task.enabled ? 'pause' : 'resume', task.id),
                                },
                            ]}
                        />
                        <ActButton
                            danger
                            icon={<DeleteOutlined />}
                            onClick={() => actions.remove(task, () => navigate('/tasks'))}
                        >
                            {t('action.delete')}
                        </ActButton>
                    </>
                }
            />
            <TaskWhy why={why} />
            {task.steps && <TaskFlow task={task} />}
            <div className="grid">
                <div className="span-8 stack">
                    <FireCalendar
                        task={task}
                        runs={runs.data?.items}
                        complete={runs.data?.next_cursor === null}
                    />
                    <Card size="small" title={t('task.durations')}>
                        <Loaded of={runs}>
                            {({ items }) => <DurationChart runs={items} emptyText={t('task.noRunsText')} />}
                        </Loaded>
                    </Card>
                </div>
                <TaskFieldsCard task={task} />
            </div>
            <Card
                className="card-table"
                size="small"
                title={t('task.runs')}
                extra={
                    <Link to={`/executions?task_id=${encodeURIComponent(task.id)}`}>{t('action.all')}</Link>
                }
            >
                <Loaded of={runs}>
                    {({ items }) => (
                        <ExecutionTable
                            items={items.slice(0, runsShown)}
                            ofOneTask
                            empty={t('task.noRuns')}
                            emptyText={t('task.noRunsText')}
                        />
                    )}
                </Loaded>
            </Card>
            {editing && <TaskForm task={task} onClose={() => setEditing(false)} onSaved={reload} />}
            {filling && <BackfillDialog task={task} onClose={() => setFilling(false)} />}
            {triggering && <TriggerDialog task={task} onClose={() => setTriggering(false)} />}
        </Whole>
    );
}

function TaskOf({ id }: { id: string }) {
    const task = useData((signal) => api.task(id, signal), [id], {
        topics: ['task'],
        concerns: (event) => event.task_id === id,
        everyMs: 15_000,
    });
    return (
        <Loaded of={task}>
            {(data) =>
                // A one-off task and its execution are one.
                isRecurring(data) ? (
                    <TaskZone value={zoneOf(data)}>
                        <TaskPage task={data} reload={task.reload} />
                    </TaskZone>
                ) : (
                    <Navigate replace to={`/executions/${encodeURIComponent(id)}`} />
                )
            }
        </Loaded>
    );
}

export default function TaskDetail() {
    const { id = '' } = useParams();
    // Another task is another page: nothing of the last one stays.
    return <TaskOf key={id} id={id} />;
}
