// How it went over days, and by task, type and worker. Kept after the executions are gone.
import { DownloadOutlined } from '@ant-design/icons';
import { Button, Card, Segmented, Table, type TableProps } from 'antd';
import dayjs from 'dayjs';
import { useMemo } from 'react';
import { useSearchParams } from 'react-router-dom';
import { api, type StatisticsQuery } from '../api/client';
import type { Statistic } from '../api/observe';
import { Chart } from '../components/Chart';
import { barChart } from '../components/chartOptions';
import { PageHeader } from '../components/PageHeader';
import { EmptyNote, Loaded } from '../components/States';
import { saveBlob } from '../download';
import { formatMs, formatNumber, formatPercent } from '../format';
import { useAct } from '../hooks/useAct';
import { useData } from '../hooks/useData';
import { usePalette } from '../hooks/usePalette';
import { useI18n } from '../i18n';

const groups = ['day', 'hour', 'task', 'type', 'worker'] as const;
const ranges = { day: 1, week: 7, month: 30, quarter: 90 } as const;
type Range = keyof typeof ranges;
// More lines than this the server refuses: see docs/statistics.md.
const linesMax = 1_000;

const fits = (range: Range, by: string) => by !== 'hour' || ranges[range] * 24 < linesMax;

// More bars than this are a texture, not a chart.
const barsMax = 60;

function StatisticsChart({ rows, byTime }: { rows: Statistic[]; byTime: boolean }) {
    const { t, locale } = useI18n();
    const palette = usePalette();
    const option = useMemo(() => {
        const shown = byTime
            ? [...rows].sort((a, b) => a.key.localeCompare(b.key)).slice(-barsMax)
            : [...rows].sort((a, b) => b.total - a.total).slice(0, 12);
        const bars = (['success', 'failed', 'cancelled', 'skipped'] as const).map((status) => ({
            name: t(`status.${status}`),
            colour: palette.status[status],
            values: shown.map((row) => row[status]),
        }));
        return barChart(
            palette,
            shown.map((row) => row.name || row.key),
            bars,
            (value) => formatNumber(value, locale),
            { sideways: !byTime },
        );
    }, [rows, byTime, palette, t, locale]);
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
            render: (_, row) => <span className="cell-main">{row.name || row.key}</span>,
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

export default function Statistics() {
    const { t } = useI18n();
    const { act } = useAct();
    const [params, setParams] = useSearchParams();
    const by = groups.find((group) => group === params.get('by')) ?? 'day';
    const offered = (Object.keys(ranges) as Range[]).filter((range) => fits(range, by));
    const range = offered.find((range) => range === params.get('range')) ?? 'week';
    const put = (key: string, value: string) =>
        setParams({ ...Object.fromEntries(params), [key]: value }, { replace: true });
    const query = (): StatisticsQuery => ({
        by,
        from: dayjs().subtract(ranges[range], 'day').startOf('hour').toISOString(),
    });
    const statistics = useData((signal) => api.statistics(query(), signal), [by, range], { everyMs: 30_000 });
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
                        onChange={(value) => put('by', value)}
                        options={groups.map((value) => ({ value, label: t(`statistics.by.${value}`) }))}
                    />
                    <Segmented
                        value={range}
                        onChange={(value) => put('range', value)}
                        options={offered.map((value) => ({
                            value,
                            label: t(`statistics.range.${value}`),
                        }))}
                    />
                </div>
                <Loaded of={statistics}>
                    {({ items }) =>
                        items.length === 0 ? (
                            <EmptyNote title={t('statistics.none')} text={t('statistics.noneText')} />
                        ) : (
                            <>
                                <div className="card-chart">
                                    <StatisticsChart rows={items} byTime={by === 'day' || by === 'hour'} />
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
