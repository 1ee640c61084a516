// Queues: how much waits, for how long, and holding it back.
import { CaretRightOutlined, ControlOutlined, PauseOutlined } from '@ant-design/icons';
import { Card, Table, type TableProps } from 'antd';
import { useState } from 'react';
import { Link } from 'react-router-dom';
import { api } from '../../api/client';
import type { Queue } from '../../api/types';
import { ChoiceFilter } from '../../components/ChoiceFilter';
import { PageHeader } from '../../components/PageHeader';
import { RowButton } from '../../components/RowButton';
import { EmptyNote, Loaded } from '../../components/States';
import { Badge } from '../../components/StatusTag';
import { TextFilter } from '../../components/TextFilter';
import { formatMs, formatNumber } from '../../format';
import { useData } from '../../hooks/useData';
import { usePalette } from '../../hooks/usePalette';
import { rowsPerPage, type TableOrder, useTableOrder } from '../../hooks/useTableOrder';
import { useUrlFilter } from '../../hooks/useUrlFilter';
import { useI18n } from '../../i18n';
import { LimitsDialog } from './LimitsDialog';
import { useQueueActions } from './useQueueActions';

function useColumns(
    limit: (queue: Queue) => void,
    changed: () => void,
    order: TableOrder,
): TableProps<Queue>['columns'] {
    const { t, locale } = useI18n();
    const palette = usePalette();
    const { pause, resume } = useQueueActions(changed);
    const sorted = (key: string, pick: (queue: Queue) => number | null) => ({
        key,
        sorter: (a: Queue, b: Queue) => (pick(a) ?? -1) - (pick(b) ?? -1),
        sortOrder: order.orderOf(key),
    });
    const number = (value: number | null) => <span className="number">{formatNumber(value, locale)}</span>;
    return [
        {
            title: t('queue.queue'),
            key: 'name',
            sorter: (a, b) => a.name.localeCompare(b.name),
            sortOrder: order.orderOf('name'),
            render: (_, queue) => (
                <Link className="cell-main" to={`/queues/${encodeURIComponent(queue.name)}`}>
                    {queue.name}
                </Link>
            ),
        },
        {
            title: t('execution.status'),
            render: (_, queue) =>
                queue.paused ? (
                    <Badge colour={palette.status.retrying} label={t('queue.paused')} />
                ) : (
                    <Badge colour={palette.status.success} label={t('queue.open')} />
                ),
        },
        {
            title: t('queue.waiting'),
            align: 'right',
            ...sorted('waiting', ({ waiting }) => waiting),
            render: (_, queue) => number(queue.waiting),
        },
        {
            title: t('queue.working'),
            align: 'right',
            ...sorted('working', (queue) => queue.working),
            render: (_, queue) => number(queue.working),
            responsive: ['sm'],
        },
        {
            title: t('queue.finished'),
            align: 'right',
            ...sorted('finished', (queue) => queue.finished),
            render: (_, queue) => number(queue.finished),
            responsive: ['xl'],
        },
        {
            title: t('queue.perSecond'),
            align: 'right',
            ...sorted('rate', (queue) => queue.finished_per_second),
            render: (_, queue) => (
                <span className="number">{formatNumber(queue.finished_per_second, locale, 1)}</span>
            ),
            responsive: ['md'],
        },
        {
            title: t('queue.oldestWait'),
            align: 'right',
            ...sorted('oldest', (queue) => queue.oldest_wait_seconds),
            render: (_, { oldest_wait_seconds: wait }) => (
                <span className="number">{wait === null ? '–' : formatMs(wait * 1_000)}</span>
            ),
            responsive: ['md'],
        },
        {
            title: t('queue.limits'),
            render: (_, queue) =>
                [
                    queue.concurrency_max && t('queue.atOnce', { count: queue.concurrency_max }),
                    queue.rate_limit && `${queue.rate_limit.count} / ${queue.rate_limit.per ?? '1s'}`,
                ]
                    .filter(Boolean)
                    .join(' · ') || <span className="muted">–</span>,
            responsive: ['xl'],
        },
        {
            align: 'right',
            render: (_, queue) => (
                <span className="nowrap">
                    <RowButton
                        label={t('queue.limits')}
                        name={queue.name}
                        icon={<ControlOutlined />}
                        onClick={() => limit(queue)}
                    />{' '}
                    {queue.paused ? (
                        <RowButton
                            label={t('action.resume')}
                            name={queue.name}
                            icon={<CaretRightOutlined />}
                            onClick={() => void resume(queue)}
                        />
                    ) : (
                        <RowButton
                            label={t('action.pause')}
                            name={queue.name}
                            icon={<PauseOutlined />}
                            onClick={() => pause(queue)}
                        />
                    )}
                </span>
            ),
        },
    ];
}

export default function Queues() {
    const { t } = useI18n();
    const queues = useData((signal) => api.queues(signal), [], { topics: ['task', 'queue'], everyMs: 3_000 });
    const [limiting, setLimiting] = useState<Queue>();
    const order = useTableOrder('name');
    const { filter, put } = useUrlFilter(['search', 'state'] as const);
    const columns = useColumns(setLimiting, queues.reload, order);
    const fits = ({ name, paused, waiting }: Queue) =>
        name.toLowerCase().includes((filter.search ?? '').toLowerCase()) &&
        (!filter.state || filter.state === (paused ? 'paused' : waiting > 0 ? 'waiting' : 'open'));
    return (
        <>
            <PageHeader title={t('nav.queues')} about={t('queue.about')} />
            <Card className="card-table">
                <div className="filters">
                    <TextFilter
                        label={t('queue.queue')}
                        value={filter.search}
                        onDone={(search) => put({ search })}
                    />
                    <ChoiceFilter
                        label={t('execution.status')}
                        value={filter.state}
                        choices={[
                            { value: 'waiting', label: t('queue.waiting') },
                            { value: 'paused', label: t('queue.paused') },
                            { value: 'open', label: t('queue.open') },
                        ]}
                        onChange={(state) => put({ state })}
                    />
                </div>
                <Loaded of={queues}>
                    {({ items }) => (
                        <Table
                            size="small"
                            rowKey="name"
                            columns={columns}
                            dataSource={items.filter(fits)}
                            onChange={order.onChange as TableProps<Queue>['onChange']}
                            pagination={{
                                current: order.page,
                                pageSize: rowsPerPage,
                                hideOnSinglePage: items.length <= rowsPerPage,
                                showSizeChanger: false,
                                showTotal: (count) => t('list.total', { count }),
                            }}
                            locale={{
                                emptyText:
                                    items.length > 0 ? (
                                        <EmptyNote title={t('list.noneFits')} />
                                    ) : (
                                        <EmptyNote title={t('queue.none')} text={t('queue.noneText')} />
                                    ),
                            }}
                        />
                    )}
                </Loaded>
            </Card>
            {limiting && (
                <LimitsDialog
                    queue={limiting}
                    onClose={() => setLimiting(undefined)}
                    changed={queues.reload}
                />
            )}
        </>
    );
}
