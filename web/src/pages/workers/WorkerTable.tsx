// Workers: how busy each is, how it fares, and taking it out of rotation.
import { Table, type TableProps, Tooltip } from 'antd';
import { Fragment } from 'react';
import { Link } from 'react-router-dom';
import type { Statistic } from '../../api/observe';
import type { Worker } from '../../api/types';
import { ChoiceFilter } from '../../components/ChoiceFilter';
import { HelpLink } from '../../components/HelpLink';
import { EmptyNote } from '../../components/States';
import { TextFilter } from '../../components/TextFilter';
import { formatMs, formatPercent } from '../../format';
import { rowsPerPage, type TableOrder, useTableOrder } from '../../hooks/useTableOrder';
import { useUrlFilter } from '../../hooks/useUrlFilter';
import { useI18n } from '../../i18n';
import { useCommonColumns } from './columns';
import { timesSlower, useWorkerHealth } from './useWorkerHealth';
import { WorkerButtons } from './WorkerButtons';
import { Seen, Share } from './WorkerFields';

interface Props {
    workers: Worker[];
    changed: () => void;
}

// Those that need somebody first.
const urgency: Record<Worker['status'], number> = { offline: 0, draining: 1, maintenance: 2, online: 3 };

interface Shown {
    changed: () => void;
    order: TableOrder;
    healthOf: (worker: string) => Statistic | undefined;
    typical: number | undefined;
}

// How to write a worker, by language.
const kits = { cpp: 'C++', python: 'Python', node: 'Node.js' };

function KitLinks() {
    return Object.entries(kits).map(([page, name]) => (
        <Fragment key={page}>
            <HelpLink page={page}>{name}</HelpLink>{' '}
        </Fragment>
    ));
}

function useColumns({ changed, order, healthOf, typical }: Shown): TableProps<Worker>['columns'] {
    const { t } = useI18n();
    const { status, load, seen } = useCommonColumns<Worker>();
    const sorted = (key: string, sorter: (a: Worker, b: Worker) => number) => ({
        key,
        sorter,
        sortOrder: order.orderOf(key),
    });
    const by = (pick: (worker: Worker) => number | null | undefined) => (a: Worker, b: Worker) =>
        (pick(a) ?? -1) - (pick(b) ?? -1);
    return [
        {
            title: t('worker.worker'),
            // "w2" before "w10".
            ...sorted('name', (a, b) => a.name.localeCompare(b.name, undefined, { numeric: true })),
            render: (_, worker) => (
                <div className="two-lines">
                    <Link to={`/workers/${encodeURIComponent(worker.id)}`} className="cell-main clip">
                        {worker.name}
                    </Link>
                    <span className="muted small clip">
                        {[worker.id === worker.name ? '' : worker.id, worker.group || worker.address]
                            .filter(Boolean)
                            .join(' · ')}
                    </span>
                </div>
            ),
        },
        {
            ...status,
            ...sorted(
                'status',
                by((worker) => urgency[worker.status]),
            ),
        },
        {
            ...load,
            ...sorted(
                'load',
                by(({ running, capacity }) => running / capacity),
            ),
        },
        {
            title: t('workerPage.runP50'),
            align: 'right',
            ...sorted(
                'took',
                by(({ id }) => healthOf(id)?.duration.p50_ms),
            ),
            render: (_, { id }) => {
                const times = timesSlower(healthOf(id), typical);
                return (
                    <div className="two-lines">
                        <span className="number nowrap">{formatMs(healthOf(id)?.duration.p50_ms)}</span>
                        {times && (
                            <Tooltip title={t('workerPage.slowText')}>
                                <span className="warned small nowrap">{t('workerPage.slow', { times })}</span>
                            </Tooltip>
                        )}
                    </div>
                );
            },
            responsive: ['md'],
        },
        {
            title: t('list.successRate'),
            align: 'right',
            ...sorted(
                'rate',
                by(({ id }) => healthOf(id)?.success_rate),
            ),
            render: (_, { id }) => (
                <span className="number nowrap">{formatPercent(healthOf(id)?.success_rate)}</span>
            ),
            responsive: ['xl'],
        },
        {
            title: t('worker.cpu'),
            ...sorted(
                'cpu',
                by((worker) => worker.load.cpu),
            ),
            render: (_, worker) => <Share of={worker.load.cpu} title={t('worker.cpu')} />,
            responsive: ['xl'],
        },
        {
            title: t('worker.memory'),
            ...sorted(
                'memory',
                by((worker) => worker.load.memory),
            ),
            render: (_, worker) => <Share of={worker.load.memory} title={t('worker.memory')} />,
            responsive: ['xl'],
        },
        {
            ...seen,
            render: (_, worker) => <Seen worker={worker} />,
            ...sorted(
                'seen',
                by(({ seen_at }) => (seen_at ? Date.parse(seen_at) : 0)),
            ),
        },
        { align: 'right', render: (_, worker) => <WorkerButtons worker={worker} changed={changed} /> },
    ];
}

function fits(worker: Worker, { search = '', status }: { search?: string; status?: string }): boolean {
    const labels = Object.entries(worker.labels).map(([name, value]) => `${name}=${value}`);
    const texts = [worker.name, worker.id, worker.group, worker.address, ...worker.types, ...labels];
    return (
        (!status || worker.status === status) &&
        texts.some((text) => text?.toLowerCase().includes(search.toLowerCase()))
    );
}

export function WorkerTable({ workers, changed }: Props) {
    const { t } = useI18n();
    const order = useTableOrder('status');
    const { healthOf, typical } = useWorkerHealth();
    const { filter, put } = useUrlFilter(['search', 'status'] as const);
    const columns = useColumns({ changed, order, healthOf, typical });
    const rows = workers
        .filter((worker) => fits(worker, filter))
        .sort((a, b) => a.name.localeCompare(b.name, undefined, { numeric: true }));
    return (
        <>
            <div className="filters">
                <TextFilter
                    label={t('list.searchWorkers')}
                    value={filter.search}
                    onDone={(search) => put({ search })}
                />
                <ChoiceFilter
                    label={t('execution.status')}
                    value={filter.status}
                    choices={(['online', 'offline', 'draining', 'maintenance'] as const).map((status) => ({
                        value: status,
                        label: t(`worker.${status}`),
                    }))}
                    onChange={(status) => put({ status })}
                />
            </div>
            <Table
                size="small"
                rowKey="id"
                columns={columns}
                dataSource={rows}
                onChange={order.onChange as TableProps<Worker>['onChange']}
                pagination={{
                    current: order.page,
                    pageSize: rowsPerPage,
                    hideOnSinglePage: workers.length <= rowsPerPage,
                    showSizeChanger: false,
                    showTotal: (count) => t('list.total', { count }),
                }}
                locale={{
                    emptyText:
                        workers.length > 0 ? (
                            <EmptyNote title={t('list.noneFits')} />
                        ) : (
                            <EmptyNote
                                title={t('worker.none')}
                                text={t('worker.noneText')}
                                action={<KitLinks />}
                            />
                        ),
                }}
            />
        </>
    );
}
