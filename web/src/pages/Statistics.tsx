// How it went over days, and by task, type and worker. Kept after the executions are gone.
import { DownloadOutlined } from '@ant-design/icons';
import { Button, Card, DatePicker, Segmented, Table, type TableProps } from 'antd';
import dayjs from 'dayjs';
import utc from 'dayjs/plugin/utc';
import { useMemo } from 'react';
import { useSearchParams } from 'react-router-dom';
import { api, type StatisticsQuery } from '../api/client';
import type { Statistic } from '../api/observe';
import { Chart } from '../components/Chart';
import { barChart } from '../components/chartOptions';
import { PageHeader } from '../components/PageHeader';
import { Stat } from '../components/Stat';
import { EmptyNote, Loaded } from '../components/States';
import { saveBlob } from '../download';
import { formatMs, formatNumber, formatPercent, inZone, shownZone } from '../format';
import { useAct } from '../hooks/useAct';
import { useData } from '../hooks/useData';
import { usePalette } from '../hooks/usePalette';
import { useI18n } from '../i18n';

dayjs.extend(utc);

const groups = ['day', 'hour', 'task', 'type', 'worker'] as const;
const ranges = { day: 1, week: 7, month: 30, quarter: 90 } as const;
type Range = keyof typeof ranges;
// More lines than this the server refuses: see docs/statistics.md.
const linesMax = 1_000;

const fits = (range: Range, by: string) => by !== 'hour' || ranges[range] * 24 < linesMax;

// More bars than this are a texture, not a chart.
const barsMax = 60;

const hourMs = 3_600_000;

// Hours as the reader's clock tells them; days are days of UTC and have no hour to tell.
function nameOf(row: Statistic, by: string, locale: string): string {
    if (by !== 'hour') return row.name || row.key;
    return inZone(new Date(row.key), locale, {
        day: '2-digit',
        month: '2-digit',
        hour: '2-digit',
        minute: '2-digit',
        hourCycle: 'h23',
    });
}

// Without gaps: an hour in which nothing ran is one too, else two days stand side by side like two hours.
function withEmptyHours(rows: Statistic[]): Statistic[] {
    const first = rows[0];
    const last = rows[rows.length - 1];
    if (!first || !last) return rows;
    const known = new Map(rows.map((row) => [Date.parse(row.key), row]));
    const all: Statistic[] = [];
    for (let at = Date.parse(first.key); at <= Date.parse(last.key); at += hourMs) {
        all.push(
            known.get(at) ?? {
                ...first,
                key: new Date(at).toISOString(),
                name: '',
                total: 0,
                success: 0,
                failed: 0,
                cancelled: 0,
                skipped: 0,
                missed: 0,
            },
        );
    }
    return all;
}

function StatisticsChart({ rows, by }: { rows: Statistic[]; by: string }) {
    const byTime = by === 'day' || by === 'hour';
    const { t, locale } = useI18n();
    const palette = usePalette();
    const option = useMemo(() => {
        const inOrder = [...rows].sort((a, b) => a.key.localeCompare(b.key));
        const shown = byTime
            ? (by === 'hour' ? withEmptyHours(inOrder) : inOrder).slice(-barsMax)
            : [...rows].sort((a, b) => b.total - a.total).slice(0, 12);
        const bars = (['success', 'failed', 'cancelled', 'skipped'] as const).map((status) => ({
            name: t(`status.${status}`),
            colour: palette.status[status],
            values: shown.map((row) => row[status]),
        }));
        return barChart(
            palette,
            shown.map((row) => nameOf(row, by, locale)),
            bars,
            (value) => formatNumber(value, locale),
            { sideways: !byTime },
        );
    }, [rows, by, byTime, palette, t, locale]);
    return (
        <Chart
            option={option}
            height={byTime ? 260 : Math.max(160, 60 + 30 * Math.min(12, rows.length))}
            label={t('nav.statistics')}
        />
    );
}

function useColumns(by: string): TableProps<Statistic>['columns'] {
    const { t, locale } = useI18n();
    const number = (title: string, pick: (row: Statistic) => number, wide = false) => ({
        title,
        align: 'right' as const,
        sorter: (a: Statistic, b: Statistic) => pick(a) - pick(b),
        render: (_: unknown, row: Statistic) => (
            <span className="number">{formatNumber(pick(row), locale)}</span>
        ),
        responsive: wide ? (['lg'] as ['lg']) : undefined,
    });
    const time = (title: string, pick: (row: Statistic) => number | null) => ({
        title,
        align: 'right' as const,
        sorter: (a: Statistic, b: Statistic) => (pick(a) ?? 0) - (pick(b) ?? 0),
        render: (_: unknown, row: Statistic) => <span className="number nowrap">{formatMs(pick(row))}</span>,
        responsive: ['lg'] as ['lg'],
    });
    return [
        {
            title: t(`statistics.by.${by as 'day'}`),
            render: (_, row) => <span className="cell-main">{nameOf(row, by, locale)}</span>,
        },
        number(t('statistics.total'), (row) => row.total),
        {
            title: t('overview.successRate'),
            align: 'right',
            sorter: (a, b) => (a.success_rate ?? 0) - (b.success_rate ?? 0),
            render: (_, row) => <span className="number nowrap">{formatPercent(row.success_rate)}</span>,
        },
        number(t('status.failed'), (row) => row.failed),
        number(t('statistics.retries'), (row) => row.retries, true),
        number(t('statistics.missed'), (row) => row.missed, true),
        time('P50', (row) => row.duration.p50_ms),
        time('P95', (row) => row.duration.p95_ms),
        time('P99', (row) => row.duration.p99_ms),
        time(t('statistics.waitP95'), (row) => row.wait.p95_ms),
    ];
}

interface Sum {
    total: number;
    success: number;
    failed: number;
}

const sumOf = (rows: Statistic[]): Sum =>
    rows.reduce(
        (sum, { total, success, failed }) => ({
            total: sum.total + total,
            success: sum.success + success,
            failed: sum.failed + failed,
        }),
        { total: 0, success: 0, failed: 0 },
    );

// Today beside the same hours of yesterday, by the reader's own days: as far as the full hours that are over.
function Today() {
    const { t, locale } = useI18n();
    const both = useData(
        async (signal) => {
            const clock = shownZone() === 'UTC' ? dayjs.utc() : dayjs();
            const now = clock.startOf('hour');
            // In its first hour a day has nothing to show yet: then it is the one before.
            const whole = now.isSame(clock.startOf('day'));
            const midnight = clock.subtract(whole ? 1 : 0, 'day').startOf('day');
            const between = async (back: number, end = now) => {
                const from = midnight.subtract(back, 'day').toISOString();
                const to = end.subtract(back, 'day').toISOString();
                return sumOf((await api.statistics({ by: 'hour', from, to }, signal)).items);
            };
            const [today, yesterday] = await Promise.all([between(0), between(1)]);
            // On its first day a scheduler has nothing but the hour that it is in.
            if (!whole && today.total + yesterday.total === 0) {
                return { today: await between(0, clock), yesterday, whole, until: clock.toISOString() };
            }
            return { today, yesterday, whole, until: now.toISOString() };
        },
        [shownZone()],
        { everyMs: 60_000 },
    );
    if (!both.data) return both.problem ? null : <div className="stats today today-wait" />;
    const { today, yesterday, whole, until } = both.data;
    const rate = ({ success, failed }: Sum) => (success + failed > 0 ? success / (success + failed) : null);
    const beside = (value: string) => t(whole ? 'statistics.dayBefore' : 'statistics.yesterday', { value });
    const clock = inZone(new Date(until), locale, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
    return (
        <div className="stats today" data-testid="today">
            <Stat
                label={whole ? t('statistics.wholeYesterday') : t('statistics.today', { clock })}
                value={formatNumber(today.total, locale)}
                detail={beside(formatNumber(yesterday.total, locale))}
            />
            <Stat
                label={t('overview.successRate')}
                value={formatPercent(rate(today))}
                detail={beside(formatPercent(rate(yesterday)))}
            />
            <Stat
                label={t('status.failed')}
                value={formatNumber(today.failed, locale)}
                detail={beside(formatNumber(yesterday.failed, locale))}
            />
        </div>
    );
}

export default function Statistics() {
    const { t } = useI18n();
    const { act } = useAct();
    const [params, setParams] = useSearchParams();
    const by = groups.find((group) => group === params.get('by')) ?? 'day';
    const offered = (Object.keys(ranges) as Range[]).filter((range) => fits(range, by));
    const range = offered.find((range) => range === params.get('range')) ?? 'week';
    const own = { from: params.get('from') ?? '', to: params.get('to') ?? '' };
    const put = (change: Record<string, string | undefined>) =>
        setParams(
            Object.entries({ ...Object.fromEntries(params), ...change }).filter(([, value]) => value) as [
                string,
                string,
            ][],
            { replace: true },
        );
    const query = (): StatisticsQuery =>
        own.from
            ? { by, from: own.from, to: own.to || undefined }
            : { by, from: dayjs().subtract(ranges[range], 'day').startOf('hour').toISOString() };
    const statistics = useData((signal) => api.statistics(query(), signal), [by, range, own.from, own.to], {
        everyMs: 30_000,
    });
    const columns = useColumns(by);
    const download = () =>
        act(t('statistics.downloaded'), async () =>
            saveBlob(`takt-statistics-by-${by}.csv`, await api.statisticsCsv(query())),
        );
    return (
        <>
            <PageHeader
                title={t('nav.statistics')}
                about={t('statistics.about')}
                actions={
                    <Button
                        icon={<DownloadOutlined />}
                        disabled={!statistics.data?.items.length}
                        onClick={() => void download()}
                    >
                        CSV
                    </Button>
                }
            />
            <Card className="card-table">
                <div className="filters">
                    <Segmented
                        value={by}
                        onChange={(value) => put({ by: value })}
                        options={groups.map((value) => ({ value, label: t(`statistics.by.${value}`) }))}
                    />
                    <Segmented
                        value={own.from ? '' : range}
                        onChange={(value) => put({ range: value, from: undefined, to: undefined })}
                        options={offered.map((value) => ({
                            value,
                            label: t(`statistics.range.${value}`),
                        }))}
                    />
                    <DatePicker.RangePicker
                        aria-label={t('statistics.ownRange')}
                        showTime={{ format: 'HH:mm' }}
                        allowEmpty={[false, true]}
                        style={{ width: 330 }}
                        value={[own.from ? dayjs(own.from) : null, own.to ? dayjs(own.to) : null]}
                        onChange={(chosen) =>
                            put({ from: chosen?.[0]?.toISOString(), to: chosen?.[1]?.toISOString() })
                        }
                    />
                </div>
                <Today />
                <Loaded of={statistics}>
                    {({ items }) =>
                        items.length === 0 ? (
                            <EmptyNote title={t('statistics.none')} text={t('statistics.noneText')} />
                        ) : (
                            <>
                                <div className="card-chart">
                                    <StatisticsChart rows={items} by={by} />
                                </div>
                                <Table
                                    size="small"
                                    rowKey="key"
                                    columns={columns}
                                    dataSource={items}
                                    pagination={items.length > 50 ? { pageSize: 50 } : false}
                                />
                            </>
                        )
                    }
                </Loaded>
            </Card>
        </>
    );
}
