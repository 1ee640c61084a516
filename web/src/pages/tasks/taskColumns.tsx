// The columns of the list of tasks, each of which can be put in order.
import {
    CaretRightOutlined,
    DeleteOutlined,
    EditOutlined,
    MoreOutlined,
    PauseOutlined,
    ThunderboltOutlined,
} from '@ant-design/icons';
import { Button, Dropdown, type TableProps } from 'antd';
import { Link } from 'react-router-dom';
import type { Statistic } from '../../api/observe';
import type { Task, Worker } from '../../api/types';
import { ActButton } from '../../components/ActButton';
import { StatusTag } from '../../components/StatusTag';
import { Ago } from '../../components/Time';
import { formatMs, formatPercent } from '../../format';
import { useMay } from '../../hooks/useMe';
import type { TableOrder } from '../../hooks/useTableOrder';
import { useI18n } from '../../i18n';
import { scheduleText } from './schedule';
import { stateOf, TaskState } from './TaskState';

interface Acts {
    edit: (task: Task) => void;
    trigger: (task: Task) => void;
    pause: (task: Task) => void;
    resume: (task: Task) => void;
    remove: (task: Task) => void;
}

const byText = (pick: (task: Task) => string) => (a: Task, b: Task) => pick(a).localeCompare(pick(b));
// What has no value comes last in the order that rises.
const byNumber =
    (pick: (task: Task) => number | null | undefined) =>
    (a: Task, b: Task): number =>
        (pick(a) ?? Infinity) === (pick(b) ?? Infinity) ? 0 : (pick(a) ?? Infinity) - (pick(b) ?? Infinity);
const timeOf = (at: string | null | undefined) => (at ? Date.parse(at) : undefined);

interface Seen {
    acts: Acts;
    order: TableOrder;
    healthOf: (task: string) => Statistic | undefined;
    workers: readonly Worker[] | undefined;
}

export function useTaskColumns({ acts, order, healthOf, workers }: Seen): TableProps<Task>['columns'] {
    const { t } = useI18n();
    const may = useMay();
    const sorted = (key: string, sorter: (a: Task, b: Task) => number) => ({
        key,
        sorter,
        sortOrder: order.orderOf(key),
    });
    return [
        {
            title: t('task.name'),
            ...sorted(
                'name',
                byText(({ name }) => name),
            ),
            render: (_, task) => (
                <div className="two-lines">
                    <Link
                        to={`/tasks/${encodeURIComponent(task.id)}`}
                        className="cell-main"
                        title={task.name}
                    >
                        {task.name}
                    </Link>
                    {task.type !== task.name && <span className="muted small clip">{task.type}</span>}
                </div>
            ),
        },
        {
            title: t('task.schedule'),
            render: (_, task) => <code className="clip">{scheduleText(task, t)}</code>,
            responsive: ['md'],
        },
        {
            title: t('task.state'),
            ...sorted('state', byText(stateOf)),
            render: (_, task) => <TaskState task={task} workers={workers} />,
        },
        {
            title: t('list.lastResult'),
            ...sorted(
                'result',
                byText(({ id }) => healthOf(id)?.last_status ?? '~'),
            ),
            render: (_, { id }) => {
                const health = healthOf(id);
                if (!health?.last_status) return <span className="muted">–</span>;
                return (
                    <div className="two-lines">
                        <StatusTag status={health.last_status} />
                        <span className="muted small">
                            <Ago at={health.last_at} />
                        </span>
                    </div>
                );
            },
            responsive: ['sm'],
        },
        {
            title: t('list.successRate'),
            align: 'right',
            ...sorted(
                'rate',
                byNumber(({ id }) => healthOf(id)?.success_rate),
            ),
            render: (_, { id }) => (
                <span className="number nowrap">{formatPercent(healthOf(id)?.success_rate)}</span>
            ),
            responsive: ['xl'],
        },
        {
            title: t('list.typical'),
            align: 'right',
            ...sorted(
                'took',
                byNumber(({ id }) => healthOf(id)?.duration.p50_ms),
            ),
            render: (_, { id }) => (
                <span className="number nowrap">{formatMs(healthOf(id)?.duration.p50_ms)}</span>
            ),
            responsive: ['xl'],
        },
        {
            title: t('task.nextFire'),
            ...sorted(
                'next',
                byNumber(({ enabled, next_fire_at }) => (enabled ? timeOf(next_fire_at) : undefined)),
            ),
            render: (_, task) =>
                task.enabled ? <Ago at={task.next_fire_at} coming /> : <span className="muted">–</span>,
            responsive: ['md'],
        },
        {
            title: t('queue.queue'),
            ...sorted(
                'queue',
                byText(({ queue }) => queue ?? ''),
            ),
            render: (_, task) => (
                <Link
                    className="clip clip-narrow"
                    title={task.queue}
                    to={`/queues/${encodeURIComponent(task.queue ?? 'default')}`}
                >
                    {task.queue}
                </Link>
            ),
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
