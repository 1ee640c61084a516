// The numbers at the top of the overview.
import { useSyncExternalStore } from 'react';
import { live } from '../../api/live';
import { api } from '../../api/client';
import type { Metrics } from '../../api/types';
import { Stat } from '../../components/Stat';
import { formatNumber, formatPercent } from '../../format';
import { useData } from '../../hooks/useData';
import { usePalette } from '../../hooks/usePalette';
import type { LiveSeries } from '../../hooks/useSeries';
import { useI18n, type Translate } from '../../i18n';
import type { Palette } from '../../theme';

// Of the hour that the server kept, else of everything since the leader began.
function successRate(
    metrics: Metrics,
    series: LiveSeries,
): { rate: number | null; hour: boolean; count: number } {
    const sum = (pick: (p: LiveSeries['points'][number]) => number) =>
        series.lastHour.reduce((s, p) => s + pick(p), 0);
    const hour = series.lastHour.length > 0;
    const good = hour ? sum((p) => p.completed) : metrics.tasks_completed;
    const bad = hour ? sum((p) => p.failed) : metrics.tasks_failed;
    return { rate: good + bad > 0 ? good / (good + bad) : null, hour, count: good + bad };
}

// Of a handful of runs one failure is no reason to be red.
const runsMin = 20;

function rateColour(rate: number | null, count: number, palette: Palette): string | undefined {
    if (rate === null || count < runsMin) return undefined;
    if (rate >= 0.99) return palette.status.success;
    return rate >= 0.9 ? palette.status.retrying : palette.status.failed;
}

// What is wrong with the workers, the worst first.
function workersDetail(metrics: Metrics, t: Translate): string {
    if (metrics.workers_offline > 0) return t('overview.offline', { count: metrics.workers_offline });
    if (metrics.workers_online === 0) return t('overview.noWorkers');
    if (metrics.workers_draining > 0) return t('overview.draining', { count: metrics.workers_draining });
    return t('overview.allOnline');
}

// Of what waits: how much a worker could begin at once. The rest is for later, in a paused queue, or held back.
function waitingDetail(metrics: Metrics, t: Translate): string {
    const ready = metrics.tasks_ready.reduce((sum, count) => sum + count, 0);
    const retrying = metrics.tasks_retrying;
    return retrying > 0
        ? t('overview.readyRetrying', { ready, retrying })
        : t('overview.ready', { count: ready });
}

export function Numbers({ metrics, series }: { metrics: Metrics; series: LiveSeries }) {
    const { t, locale } = useI18n();
    const palette = usePalette();
    const feed = useSyncExternalStore(live.watchState, live.state);
    const status = useData((signal) => api.status(signal), [], { topics: ['leader'], everyMs: 5_000 });
    const { rate, hour, count } = successRate(metrics, series);
    const last = series.rates[series.rates.length - 1];
    const throughput = last ? last.completed + last.failed : metrics.task_throughput;
    const waiting = metrics.tasks_pending + metrics.tasks_scheduled;
    const leader = status.data?.leader;
    return (
        <div className="stats">
            <Stat
                label={t('overview.throughput')}
                value={`${formatNumber(throughput, locale, throughput < 10 ? 1 : 0)}/s`}
                detail={t('overview.throughputDetail')}
            />
            <Stat
                label={t('overview.successRate')}
                value={formatPercent(rate)}
                colour={rateColour(rate, count, palette)}
                detail={hour ? t('overview.lastHour') : t('overview.sinceStart')}
                to="/executions?status=failed"
            />
            <Stat
                label={t('status.running')}
                value={formatNumber(metrics.tasks_running, locale)}
                detail={t('overview.utilization', { share: formatPercent(metrics.worker_utilization, 0) })}
                to="/executions?status=running"
            />
            <Stat
                label={t('overview.waiting')}
                value={formatNumber(waiting, locale)}
                detail={waitingDetail(metrics, t)}
                to="/executions?status=pending,scheduled,retrying"
            />
            <Stat
                label={t('nav.workers')}
                value={formatNumber(metrics.workers_online, locale)}
                colour={metrics.workers_online === 0 ? palette.status.failed : undefined}
                detail={workersDetail(metrics, t)}
                to="/workers"
            />
            <Stat
                label={t('cluster.leader')}
                value={<span className="clip stat-name">{leader?.node_id ?? '–'}</span>}
                colour={leader || !status.data ? undefined : palette.status.failed}
                detail={
                    leader
                        ? t('overview.term', { epoch: leader.epoch, nodes: status.data?.nodes?.length ?? 1 })
                        : t(`live.${feed}`)
                }
                to="/cluster"
            />
        </div>
    );
}
