// The recurring tasks: what there is, when each fires next, and what can be done with it.
import {
    CaretRightOutlined,
    DeleteOutlined,
    EditOutlined,
    MoreOutlined,
    PauseOutlined,
    PlusOutlined,
    ThunderboltOutlined,
} from '@ant-design/icons';
import { Button, Card, Dropdown, Input, Table, type TableProps } from 'antd';
import { useState } from 'react';
import { Link, useSearchParams } from 'react-router-dom';
import { api } from '../../api/client';
import type { Task } from '../../api/types';
import { ActButton } from '../../components/ActButton';
import { PageHeader } from '../../components/PageHeader';
import { EmptyNote, Loaded } from '../../components/States';
import { Badge } from '../../components/StatusTag';
import { Ago } from '../../components/Time';
import { formatNumber } from '../../format';
import { useData } from '../../hooks/useData';
import { useMay } from '../../hooks/useMe';
import { usePalette } from '../../hooks/usePalette';
import { useI18n } from '../../i18n';
import { scheduleText } from './schedule';
import { TaskForm } from './TaskForm';
import { TriggerDialog } from './TriggerDialog';
import { useTaskActions } from './useTaskActions';

const pageSize = 50;

// It never fires again: fires_max is used up, or its end has passed. One that runs again after its
// run ended has no next time while that run lasts.
function isOver(task: Task): boolean {
    if (task.fires_max && (task.fires ?? 0) >= task.fires_max) return true;
    return !task.next_fire_at && !task.interval_after_end;
}

export function EnabledTag({ task }: { task: Task }) {
    const { t } = useI18n();
    const palette = usePalette();
    if (!task.enabled) return <Badge colour={palette.status.retrying} label={t('task.isPaused')} />;
    return isOver(task) ? (
        <Badge colour={palette.status.cancelled} label={t('task.isOver')} />
    ) : (
        <Badge colour={palette.status.success} label={t('task.active')} />
    );
}

interface Acts {
    edit: (task: Task) => void;
    trigger: (task: Task) => void;
    pause: (task: Task) => void;
    resume: (task: Task) => void;
    remove: (task: Task) => void;
}

function useColumns(acts: Acts): TableProps<Task>['columns'] {
    const { t, locale } = useI18n();
    const may = useMay();
    return [
        {
            title: t('task.name'),
            render: (_, task) => (
                <div className="two-lines">
                    <Link to={`/tasks/${encodeURIComponent(task.id)}`} className="cell-main">
                        {task.name}
                    </Link>
                    {task.type !== task.name && <span className="muted small">{task.type}</span>}
                </div>
            ),
        },
        {
            title: t('task.schedule'),
            render: (_, task) => <code>{scheduleText(task, t)}</code>,
            responsive: ['sm'],
        },
        { title: t('task.state'), render: (_, task) => <EnabledTag task={task} /> },
        {
            title: t('task.nextFire'),
            render: (_, task) =>
                task.enabled ? <Ago at={task.next_fire_at} coming /> : <span className="muted">–</span>,
            responsive: ['md'],
        },
        {
            title: t('task.lastFire'),
            render: (_, task) => <Ago at={task.last_fire_at} />,
            responsive: ['lg'],
        },
        {
            title: t('task.fires'),
            align: 'right',
            render: (_, task) => <span className="number">{formatNumber(task.fires, locale)}</span>,
            responsive: ['lg'],
        },
        {
            title: t('queue.queue'),
            render: (_, task) => `${task.queue} · ${task.priority}`,
            responsive: ['xl'],
        },
        {
            align: 'right',
            width: 96,
            render: (_, task) => (
                <>
                    <ActButton
                        type="text"
                        size="small"
                        icon={<ThunderboltOutlined />}
                        title={t('action.trigger')}
                        aria-label={`${t('action.trigger')}: ${task.name}`}
                        onClick={() => acts.trigger(task)}
                    />
                    <Dropdown
                        disabled={!may('operator')}
                        trigger={['click']}
                        menu={{
                            items: [
                                {
                                    key: 'edit',
                                    icon: <EditOutlined />,
                                    label: t('action.edit'),
                                    onClick: () => acts.edit(task),
                                },
                                task.enabled
                                    ? {
                                          key: 'pause',
                                          icon: <PauseOutlined />,
                                          label: t('action.pause'),
                                          onClick: () => acts.pause(task),
                                      }
                                    : {
                                          key: 'resume',
                                          icon: <CaretRightOutlined />,
                                          label: t('action.resume'),
                                          onClick: () => acts.resume(task),
                                      },
                                { type: 'divider' },
                                {
                                    key: 'delete',
                                    danger: true,
                                    icon: <DeleteOutlined />,
                                    label: t('action.delete'),
                                    onClick: () => acts.remove(task),
                                },
                            ],
                        }}
                    >
                        <Button
                            type="text"
                            size="small"
                            icon={<MoreOutlined />}
                            aria-label={`${t('action.more')}: ${task.name}`}
                        />
                    </Dropdown>
                </>
            ),
        },
    ];
}

// A run that begins moves the next one.
const changesTasks = new Set(['task.changed', 'task.deleted', 'task.submitted']);

export default function Tasks() {
    const { t } = useI18n();
    const [query, setQuery] = useSearchParams();
    const name = query.get('name') ?? '';
    const cursor = query.get('cursor') ?? undefined;
    const creating = query.has('new');
    const [editing, setEditing] = useState<Task>();
    const [triggering, setTriggering] = useState<Task>();
    const tasks = useData(
        (signal) => api.tasks({ name: name || undefined, cursor, limit: pageSize }, signal),
        [name, cursor],
        { topics: ['task'], concerns: (event) => changesTasks.has(event.type), everyMs: 10_000 },
    );
    const actions = useTaskActions(tasks.reload);
    const columns = useColumns({ ...actions, edit: setEditing, trigger: setTriggering });
    const put = (key: string, value: string | undefined, replace = true) => {
        const next = new URLSearchParams(query);
        if (value) next.set(key, value);
        else next.delete(key);
        if (key === 'name') next.delete('cursor');
        setQuery(next, { replace });
    };
    const create = (
        <ActButton type="primary" icon={<PlusOutlined />} onClick={() => put('new', '1', false)}>
            {t('task.new')}
        </ActButton>
    );

    return (
        <>
            <PageHeader title={t('nav.tasks')} about={t('task.about')} actions={create} />
            <Card className="card-table">
                <div className="filters">
                    <Input.Search
                        allowClear
                        defaultValue={name}
                        placeholder={t('task.search')}
                        style={{ width: 260 }}
                        onSearch={(text) => put('name', text.trim())}
                    />
                </div>
                <Loaded of={tasks}>
                    {({ items, next_cursor }) => (
                        <>
                            <Table
                                size="small"
                                rowKey="id"
                                columns={columns}
                                dataSource={items}
                                pagination={false}
                                locale={{
                                    emptyText: name ? (
                                        <EmptyNote title={t('task.noMatch')} text={t('task.noMatchText')} />
                                    ) : (
                                        <EmptyNote
                                            title={t('task.none')}
                                            text={t('task.noneText')}
                                            action={create}
                                        />
                                    ),
                                }}
                            />
                            {(cursor || next_cursor) && (
                                <div className="table-foot">
                                    <Button disabled={!cursor} onClick={() => put('cursor', undefined)}>
                                        {t('action.first')}
                                    </Button>
                                    <Button
                                        disabled={!next_cursor}
                                        onClick={() => put('cursor', next_cursor ?? undefined, false)}
                                    >
                                        {t('action.next')}
                                    </Button>
                                </div>
                            )}
                        </>
                    )}
                </Loaded>
            </Card>
            {(creating || editing) && (
                <TaskForm
                    task={editing}
                    onClose={() => {
                        setEditing(undefined);
                        put('new', undefined);
                    }}
                    onSaved={tasks.reload}
                />
            )}
            {triggering && <TriggerDialog task={triggering} onClose={() => setTriggering(undefined)} />}
        </>
    );
}
