// One worker: what it runs now, how it fares beside the others, and why it gets nothing if it does not.
import { DesktopOutlined } from '@ant-design/icons';
import { Card } from 'antd';
import { Link, useParams } from 'react-router-dom';
import { api } from '../../api/client';
import type { Execution, Explanation, Page, Worker } from '../../api/types';
import { CopyMenu } from '../../components/CopyMenu';
import { cliLine } from '../../components/copyLines';
import { Explained } from '../../components/Explained';
import { PageHeader } from '../../components/PageHeader';
import { Stat } from '../../components/Stat';
import { Loaded, Note, Whole } from '../../components/States';
import { StatusTag, WorkerTag } from '../../components/StatusTag';
import { formatMs, formatNumber, formatPercent } from '../../format';
import { type Data, useData } from '../../hooks/useData';
import { usePalette } from '../../hooks/usePalette';
import { useI18n } from '../../i18n';
import { ExecutionTable } from '../executions/ExecutionTable';
import { DurationChart } from '../tasks/DurationChart';
import { timesSlower, useWorkerHealth } from './useWorkerHealth';
import { WorkerButtons } from './WorkerButtons';
import { WorkerFields } from './WorkerFields';

// Enough for the chart; the list of executions has the rest.
const pastRead = 200;
const pastShown = 20;
const quiet = new Set(['worker_idle']);

function Numbers({ worker }: { worker: Worker }) {
    const { t, locale } = useI18n();
    const palette = usePalette();
    const { healthOf, typical } = useWorkerHealth();
    const health = healthOf(worker.id);
    const times = timesSlower(health, typical);
    return (
        <div className="stats">
            <Stat
                label={t('worker.load')}
                value={`${worker.running}/${worker.capacity}`}
                detail={
                    worker.capacity_set === null
                        ? t('worker.slots')
                        : t('worker.capacitySetOf', { capacity: worker.capacity, own: worker.capacity_own })
                }
            />
            <Stat
                label={t('statistics.total')}
                value={formatNumber(health?.total ?? 0, locale)}
                detail={t('workerPage.lastWeek')}
            />
            <Stat
                label={t('overview.successRate')}
                value={formatPercent(health?.success_rate)}
                detail={health && `${t('workerPage.failed')}: ${formatNumber(health.failed, locale)}`}
                to={`/executions?worker_id=${encodeURIComponent(worker.id)}&status=failed`}
            />
            <Stat
                label={t('workerPage.runP50')}
                value={formatMs(health?.duration.p50_ms)}
                colour={times ? palette.status.retrying : undefined}
                detail={times && t('workerPage.slow', { times })}
            />
            <Stat label={t('workerPage.runP95')} value={formatMs(health?.duration.p95_ms)} />
            <Stat
                label={t('list.lastResult')}
                value={health?.last_status ? <StatusTag status={health.last_status} /> : '–'}
            />
        </div>
    );
}

interface RunsProps {
    worker: string;
    now: Data<Page<Execution>>;
    past: Data<Page<Execution>>;
}

function Runs({ worker, now, past }: RunsProps) {
    const { t } = useI18n();
    return (
        <>
            <Card className="card-table" size="small" title={t('workerPage.now')}>
                <Loaded of={now}>
                    {({ items }) => (
                        <ExecutionTable
                            items={items}
                            without="worker"
                            empty={t('workerPage.nothing')}
                            emptyText=""
                        />
                    )}
                </Loaded>
            </Card>
            <Card size="small" title={t('task.durations')}>
                <Loaded of={past}>{({ items }) => <DurationChart runs={items} />}</Loaded>
            </Card>
            <Card
                className="card-table"
                size="small"
                title={t('workerPage.past')}
                extra={
                    <Link to={`/executions?worker_id=${encodeURIComponent(worker)}`}>{t('action.all')}</Link>
                }
            >
                <Loaded of={past}>
                    {({ items }) => (
                        <ExecutionTable
                            items={items.slice(0, pastShown)}
                            without="worker"
                            empty={t('execution.none')}
                            emptyText=""
                        />
                    )}
                </Loaded>
            </Card>
        </>
    );
}

function Present({ worker, why, reload }: { worker: Worker; why: Data<Explanation>; reload: () => void }) {
    const { t } = useI18n();
    const path = `workers/${encodeURIComponent(worker.id)}`;
    return (
        <>
            <PageHeader
                name={worker.name}
                title={worker.name}
                about={
                    <span className="row-gap">
                        <WorkerTag status={worker.status} /> <code>{worker.id}</code>
                    </span>
                }
                actions={
                    <>
                        <CopyMenu
                            lines={[
                                {
                                    label: t('copy.show'),
                                    call: { method: 'GET', path },
                                    cli: cliLine('workers', 'get', worker.id),
                                },
                                {
                                    label: t('worker.drain'),
                                    call: { method: 'POST', path: `${path}/drain` },
                                    cli: cliLine('workers', 'drain', worker.id),
                                },
                            ]}
                        />
                        <WorkerButtons worker={worker} changed={reload} inHeader />
                    </>
                }
            />
            <Explained of={why} quiet={quiet} />
            <Numbers worker={worker} />
            <Card size="small" className="below">
                <WorkerFields worker={worker} changed={reload} />
            </Card>
        </>
    );
}

function WorkerOf({ id }: { id: string }) {
    const { t } = useI18n();
    const worker = useData((signal) => api.worker(id, signal), [id], { topics: ['worker'], everyMs: 3_000 });
    const gone = !worker.data && worker.problem?.status === 404;
    const why = useData((signal) => api.explainWorker(id, signal), [id, worker.data?.status], {
        topics: ['worker', 'queue'],
        everyMs: 5_000,
        paused: gone,
    });
    const options = { topics: ['task'] as const, everyMs: 10_000 };
    const now = useData(
        (signal) => api.executions({ worker_id: id, status: 'scheduled,running', limit: 100 }, signal),
        [id],
        options,
    );
    const past = useData(
        (signal) =>
            api.executions({ worker_id: id, status: 'success,failed,cancelled', limit: pastRead }, signal),
        [id],
        { ...options, restMs: 5_000 },
    );
    return (
        <Whole of={gone ? [now, past] : [worker, why, now, past]}>
            <div className="stack">
                {gone ? (
                    <>
                        <PageHeader title={id} name={id} about={t('workerPage.about')} />
                        <Note icon={<DesktopOutlined />} title={t('workerPage.gone')}>
                            {t('workerPage.goneText')}
                        </Note>
                    </>
                ) : (
                    <Loaded of={worker}>
                        {(data) => <Present worker={data} why={why} reload={worker.reload} />}
                    </Loaded>
                )}
                <Runs worker={id} now={now} past={past} />
            </div>
        </Whole>
    );
}

export default function WorkerPage() {
    const { id = '' } = useParams();
    return <WorkerOf key={id} id={id} />;
}
