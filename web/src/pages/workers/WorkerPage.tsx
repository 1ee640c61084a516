// One worker: what it runs now, how it fares beside the others, and why it gets nothing if it does not.
import { DesktopOutlined } from '@ant-design/icons';
import { Card } from 'antd';
import { Link, useParams } from 'react-router-dom';
import { api } from '../../api/client';
import type { Worker } from '../../api/types';
import { CopyMenu } from '../../components/CopyMenu';
import { cliLine } from '../../components/copyLines';
import { Explained } from '../../components/Explained';
import { PageHeader } from '../../components/PageHeader';
import { Stat } from '../../components/Stat';
import { Loaded, Note } from '../../components/States';
import { StatusTag, WorkerTag } from '../../components/StatusTag';
import { formatMs, formatNumber, formatPercent } from '../../format';
import { useData } from '../../hooks/useData';
import { usePalette } from '../../hooks/usePalette';
import { useI18n } from '../../i18n';
import { ExecutionTable } from '../executions/ExecutionTable';
import { timesSlower, useWorkerHealth } from './useWorkerHealth';
import { WorkerButtons } from './WorkerButtons';
import { WorkerFields } from './WorkerFields';

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

function Runs({ worker }: { worker: string }) {
    const { t } = useI18n();
    const options = { topics: ['task'] as const, everyMs: 10_000 };
    const now = useData(
        (signal) => api.executions({ worker_id: worker, status: 'scheduled,running', limit: 100 }, signal),
        [worker],
        options,
    );
    const past = useData(
        (signal) =>
            api.executions(
                { worker_id: worker, status: 'success,failed,cancelled', limit: pastShown },
                signal,
            ),
        [worker],
        { ...options, restMs: 5_000 },
    );
    return (
        <>
            <Card className="card-table" size="small" title={t('workerPage.now')}>
                <Loaded of={now}>
                    {({ items }) => (
                        <ExecutionTable items={items} empty={t('workerPage.nothing')} emptyText="" />
                    )}
                </Loaded>
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
                    {({ items }) => <ExecutionTable items={items} empty={t('execution.none')} emptyText="" />}
                </Loaded>
            </Card>
        </>
    );
}

function Present({ worker, reload }: { worker: Worker; reload: () => void }) {
    const { t } = useI18n();
    const path = `workers/${encodeURIComponent(worker.id)}`;
    const why = useData((signal) => api.explainWorker(worker.id, signal), [worker.id, worker.status], {
        topics: ['worker', 'queue'],
        everyMs: 5_000,
    });
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
                        <WorkerButtons worker={worker} changed={reload} />
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
    return (
        <div className="stack">
            {gone ? (
                <>
                    <PageHeader title={id} name={id} about={t('workerPage.about')} />
                    <Note icon={<DesktopOutlined />} title={t('workerPage.gone')}>
                        {t('workerPage.goneText')}
                    </Note>
                </>
            ) : (
                <Loaded of={worker}>{(data) => <Present worker={data} reload={worker.reload} />}</Loaded>
            )}
            <Runs worker={id} />
        </div>
    );
}

export default function WorkerPage() {
    const { id = '' } = useParams();
    return <WorkerOf key={id} id={id} />;
}
