// Everything in one glance: how much is running, how well, how fast, and what comes next.
import { Card } from 'antd';
import { useMemo } from 'react';
import { api } from '../api/client';
import { Chart } from '../components/Chart';
import { timeChart } from '../components/chartOptions';
import { PageHeader } from '../components/PageHeader';
import { RangeSwitch, useRange } from '../components/RangeSwitch';
import { Loaded, ProblemNote, Whole } from '../components/States';
import { formatMs, formatNumber } from '../format';
import { useData } from '../hooks/useData';
import { useAlertsFiring } from '../hooks/useFiring';
import { usePalette } from '../hooks/usePalette';
import { usePreferences } from '../hooks/usePreferences';
import { type LiveSeries, useSeries } from '../hooks/useSeries';
import { useI18n } from '../i18n';
import { Backlog } from './overview/Backlog';
import { ComingFires } from './overview/ComingFires';
import { Firing } from './overview/Firing';
import { Fleet } from './overview/Fleet';
import { Numbers } from './overview/Numbers';
import { RecentFailures } from './overview/RecentFailures';

function Throughput({ series }: { series: LiveSeries }) {
    const { t } = useI18n();
    const utc = usePreferences().zone === 'utc';
    const palette = usePalette();
    const option = useMemo(
        () =>
            timeChart(
                palette,
                [
                    {
                        name: t('overview.submitted'),
                        colour: palette.status.running,
                        points: series.rates.map((r) => [r.at, r.submitted]),
                    },
                    {
                        name: t('status.success'),
                        colour: palette.status.success,
                        filled: true,
                        points: series.rates.map((r) => [r.at, r.completed]),
                    },
                    {
                        name: t('status.failed'),
                        colour: palette.status.failed,
                        filled: true,
                        points: series.rates.map((r) => [r.at, r.failed]),
                    },
                ],
                (value) => (value >= 10 || value === 0 ? String(Math.round(value)) : value.toFixed(1)),
                { utc },
            ),
        [palette, series.rates, t, utc],
    );
    return <Chart option={option} label={t('overview.throughput')} />;
}

function Latency({ series }: { series: LiveSeries }) {
    const { t } = useI18n();
    const utc = usePreferences().zone === 'utc';
    const palette = usePalette();
    const option = useMemo(() => {
        const line = (
            name: string,
            colour: string,
            pick: (p: (typeof series.points)[number]) => number | null,
        ) => ({
            name,
            colour,
            points: series.points.map((p): [number, number | null] => [Date.parse(p.at), pick(p)]),
        });
        return timeChart(
            palette,
            [
                line(t('overview.waitP50'), palette.status.scheduled, (p) => p.wait_p50_ms),
                line(t('overview.waitP99'), palette.status.retrying, (p) => p.wait_p99_ms),
                line(t('overview.runP50'), palette.status.running, (p) => p.run_p50_ms),
                line(t('overview.runP99'), palette.accent, (p) => p.run_p99_ms),
            ],
            (value) => formatMs(value),
            { logarithmic: true, utc },
        );
    }, [palette, series, t, utc]);
    if (series.problem) return <ProblemNote problem={series.problem} />;
    return <Chart option={option} label={t('overview.latency')} />;
}

export default function Overview() {
    const { t, locale } = useI18n();
    const metrics = useData((signal) => api.metrics(signal), [], { everyMs: 2_000 });
    const alerts = useAlertsFiring();
    const { minutes } = useRange();
    const series = useSeries(metrics.data, minutes);
    const ended = series.lastHour.reduce((sum, { completed, failed }) => sum + completed + failed, 0);
    return (
        <>
            <PageHeader
                title={t('nav.overview')}
                about={
                    metrics.data &&
                    t('overview.about', {
                        count: ended,
                        total: formatNumber(ended, locale),
                        uptime: formatMs(metrics.data.scheduler_uptime * 1_000),
                    })
                }
            />
            <Whole of={[metrics, alerts]}>
                <Firing firing={alerts.data?.items ?? []} />
                <Loaded of={metrics}>{(data) => <Numbers metrics={data} series={series} />}</Loaded>
                <div className="above-charts">
                    <RangeSwitch />
                </div>
                <div className="grid">
                    <Card
                        className="span-6"
                        size="small"
                        title={t('overview.throughput')}
                        extra={<span className="muted small">{t('overview.perSecond')}</span>}
                    >
                        <Throughput series={series} />
                    </Card>
                    <Card
                        className="span-6"
                        size="small"
                        title={t('overview.latency')}
                        extra={<span className="muted small">{t('overview.latencyNote')}</span>}
                    >
                        <Latency series={series} />
                    </Card>
                    <Backlog metrics={metrics} />
                    <ComingFires />
                    <Fleet />
                    <RecentFailures />
                </div>
            </Whole>
        </>
    );
}
