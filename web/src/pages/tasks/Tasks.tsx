// The recurring tasks: how each fared, when it fires next, and what can be done with one or many.
import {
    ApartmentOutlined,
    CaretRightOutlined,
    DeleteOutlined,
    PauseOutlined,
    PlusOutlined,
    ThunderboltOutlined,
} from '@ant-design/icons';
import { Button, Card, Table, type TableProps } from 'antd';
import { useState } from 'react';
import { useNavigate, useSearchParams } from 'react-router-dom';
import { api } from '../../api/client';
import type { Task } from '../../api/types';
import { ActButton } from '../../components/ActButton';
import { PageHeader } from '../../components/PageHeader';
import { EmptyNote, Loaded } from '../../components/States';
import { formatNumber } from '../../format';
import { useData } from '../../hooks/useData';
import { rowsPerPage, useTableOrder } from '../../hooks/useTableOrder';
import { useUrlFilter } from '../../hooks/useUrlFilter';
import { useI18n } from '../../i18n';
import { useWorkers } from './RunnableNote';
import { useTaskColumns } from './taskColumns';
import { TaskFilters, taskFilterKeys } from './TaskFilters';
import { TaskForm } from './TaskForm';
import { TriggerDialog } from './TriggerDialog';
import { useTaskActions } from './useTaskActions';
import { useTaskBulk } from './useTaskBulk';
import { useTaskHealth } from './useTaskHealth';

// Read at once and put in order here; a list by id alone is of no use to anybody.
const tasksRead = 500;

// A run that begins moves the next one.
const changesTasks = new Set(['task.changed', 'task.deleted', 'task.submitted']);

function BulkBar({ chosen, done }: { chosen: Task[]; done: () => void }) {
    const { t } = useI18n();
    const bulk = useTaskBulk(done);
    const active = chosen.filter(({ enabled }) => enabled);
    const paused = chosen.filter(({ enabled }) => !enabled);
    return (
        <div className="bulk">
            <span>{t('bulk.chosen', { count: chosen.length })}</span>
            <ActButton size="small" icon={<ThunderboltOutlined />} onClick={() => bulk.run(chosen)}>
                {t('list.runMany', { count: chosen.length })}
            </ActButton>
            <ActButton
                size="small"
                icon={<PauseOutlined />}
                disabled={active.length === 0}
                onClick={() => bulk.pause(active)}
            >
                {t('list.pauseMany', { count: active.length })}
            </ActButton>
            <ActButton
                size="small"
                icon={<CaretRightOutlined />}
                disabled={paused.length === 0}
                onClick={() => void bulk.resume(paused)}
            >
                {t('list.resumeMany', { count: paused.length })}
            </ActButton>
            <ActButton size="small" danger icon={<DeleteOutlined />} onClick={() => bulk.remove(chosen)}>
                {t('list.deleteMany', { count: chosen.length })}
            </ActButton>
        </div>
    );
}

export default function Tasks() {
    const { t, locale } = useI18n();
    const navigate = useNavigate();
    const [query, setQuery] = useSearchParams();
    const { filter, put } = useUrlFilter(taskFilterKeys);
    const order = useTableOrder('name');
    const cursor = query.get('cursor') ?? undefined;
    const creating = query.has('new');
    const [editing, setEditing] = useState<Task>();
    const [triggering, setTriggering] = useState<Task>();
    const [chosen, setChosen] = useState<string[]>([]);
    const tasks = useData(
        (signal) => api.tasks({ ...filter, cursor, limit: tasksRead }, signal),
        [JSON.stringify(filter), cursor],
        {
            topics: ['task'],
            concerns: (event) => changesTasks.has(event.type),
            everyMs: 10_000,
            // Hundreds of tasks are much to read for each fire of one of them.
            restMs: 3_000,
        },
    );
    const actions = useTaskActions(tasks.reload);
    const columns = useTaskColumns({
        acts: { ...actions, edit: setEditing, trigger: setTriggering },
        order,
        healthOf: useTaskHealth(),
        workers: useWorkers(),
    });
    const turn = (key: string, value: string | undefined, replace = false) => {
        const next = new URLSearchParams(query);
        if (value) next.set(key, value);
        else next.delete(key);
        setQuery(next, { replace });
    };
    const create = (
        <>
            <ActButton icon={<ApartmentOutlined />} onClick={() => navigate('/editor')}>
                {t('editor.new')}
            </ActButton>
            <ActButton type="primary" icon={<PlusOutlined />} onClick={() => turn('new', '1')}>
                {t('task.new')}
            </ActButton>
        </>
    );
    const filtered = Object.keys(filter).length > 0;

    return (
        <>
            <PageHeader title={t('nav.tasks')} about={t('task.about')} actions={create} />
            <Card className="card-table">
                <TaskFilters filter={filter} put={put} />
                <Loaded of={tasks}>
                    {({ items, next_cursor }) => (
                        <>
                            {chosen.length > 0 && (
                                <BulkBar
                                    chosen={items.filter(({ id }) => chosen.includes(id))}
                                    done={() => {
                                        setChosen([]);
                                        tasks.reload();
                                    }}
                                />
                            )}
                            <Table
                                size="small"
                                rowKey="id"
                                columns={columns}
                                dataSource={items}
                                onChange={order.onChange as TableProps<Task>['onChange']}
                                rowSelection={{
                                    selectedRowKeys: chosen,
                                    onChange: (keys) => setChosen(keys.map(String)),
                                    getCheckboxProps: ({ name }) => ({ title: t('list.choose', { name }) }),
                                }}
                                pagination={{
                                    current: order.page,
                                    pageSize: rowsPerPage,
                                    showSizeChanger: false,
                                    showTotal: (total) =>
                                        t('list.tasksTotal', {
                                            count: `${formatNumber(total, locale)}${next_cursor ? '+' : ''}`,
                                        }),
                                }}
                                locale={{
                                    emptyText: filtered ? (
                                        <EmptyNote title={t('list.noTask')} text={t('list.noTaskText')} />
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
                                    <span className="muted small">
                                        {t('list.manyTasks', { count: tasksRead })}
                                    </span>
                                    <span className="row-gap">
                                        <Button disabled={!cursor} onClick={() => turn('cursor', undefined)}>
                                            {t('action.first')}
                                        </Button>
                                        <Button
                                            disabled={!next_cursor}
                                            onClick={() => turn('cursor', next_cursor ?? undefined)}
                                        >
                                            {t('action.next')}
                                        </Button>
                                    </span>
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
                        turn('new', undefined, true);
                    }}
                    onSaved={tasks.reload}
                />
            )}
            {triggering && <TriggerDialog task={triggering} onClose={() => setTriggering(undefined)} />}
        </>
    );
}
