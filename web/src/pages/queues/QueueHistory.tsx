// How a queue filled and emptied: what waited, for how long, and what ended, as the scheduler kept it, and since
// then as this page has seen it.
import { Card } from 'antd';
import { useEffect, useMemo, useState } from 'react';
import { api } from '../../api/client';
import type { Queue } from '../../api/types';
import { Chart } from '../../components/Chart';
import { type Line, timeChart } from '../../components/chartOptions';
import { useRange } from '../../components/RangeSwitch';
import { ProblemNote } from '../../components/States';
import { formatMs, formatNumber } from '../../format';
import { useData } from '../../hooks/useData';
import { usePalette } from '../../hooks/usePalette';
import { usePreferences } from '../../hooks/usePreferences';
import { useI18n } from '../../i18n';

// Half an hour at one reading in three seconds; the scheduler has what is older.
const seenMax = 600;

interface Point {
    at: number;
    waiting: number;
    working: number;
    oldest: number;
    // Of whole steps only.
    p95?: number | null;
    finished?: number;
    failed?: number;
}

function usePoints(queue: Queue, minutes: number) {
    const history = useData(
        (signal) => api.queueHistory(queue.name, minutes, signal),
        [queue.name, minutes],
        // A point comes once a minute.
        { everyMs: 20_000 },
    );
    const [seen, setSeen] = useState<Point[]>([]);
    useEffect(() => {
        const now = {
            at: Date.now(),
            waiting: queue.waiting,
            working: queue.working,
            oldest: (queue.oldest_wait_seconds ?? 0) * 1_000,
        };
        setSeen((old) => [...old.slice(-seenMax), now]);
    }, [queue]);
    const points = useMemo(() => {
        const kept = (history.data?.items ?? []).map((point): Point => ({
            at: Date.parse(point.at),
            waiting: point.waiting,
            working: point.working,
            oldest: point.oldest_wait_ms,
            p95: point.wait_p95_ms,
            finished: point.finished,
            failed: point.failed,
        }));
        const until = kept.at(-1)?.at ?? 0;
        const from = Date.now() - minutes * 60_000;
        return [...kept, ...seen.filter(({ at }) => at > until && at >= from)];
    }, [history.data, seen, minutes]);
    return { points, kept: history.data?.kept ?? true, problem: history.problem };
}

export function QueueHistory({ queue }: { queue: Queue }) {
    const { t, locale } = useI18n();
    const utc = usePreferences().zone === 'utc';
    const palette = usePalette();
    const { minutes } = useRange();
    const { points, kept, problem } = usePoints(queue, minutes);
    const charts = useMemo(() => {
        const line = (
            name: string,
            colour: string,
            pick: (point: Point) => number | null | undefined,
            filled = false,
        ): Line => ({
            name,
            colour,
            filled,
            points: points.flatMap((point): [number, number | null][] => {
                const value = pick(point);
                return value === undefined ? [] : [[point.at, value]];
            }),
        });
        const count = (value: number) => formatNumber(value, locale);
        const { status } = palette;
        return [
            {
                title: t('queuePage.depth'),
                option: timeChart(
                    palette,
                    [
                        line(t('queue.waiting'), status.pending, ({ waiting }) => waiting, true),
                        line(t('queue.working'), status.running, ({ working }) => working),
                    ],
                    count,
                    { utc },
                ),
            },
            {
                title: t('queuePage.wait'),
                option: timeChart(
                    palette,
                    [
                        line(t('queuePage.oldest'), status.retrying, ({ oldest }) => oldest || null),
                        line(t('queuePage.waitP95'), status.scheduled, ({ p95 }) => p95),
                    ],
                    formatMs,
                    { logarithmic: true, utc },
                ),
            },
            {
                title: t('queuePage.ended'),
                option: timeChart(
                    palette,
                    [
                        line(t('queuePage.all'), status.success, ({ finished }) => finished, true),
                        line(t('status.failed'), status.failed, ({ failed }) => failed, true),
                    ],
                    count,
                    { utc },
                ),
            },
        ];
    }, [points, palette, t, locale, utc]);
    return (
        <>
            {problem && <ProblemNote problem={problem} />}
            {!kept && <p className="muted small">{t('queuePage.notKept')}</p>}
            <div className="grid">
                {charts.map(({ title, option }) => (
                    <Card key={title} size="small" className="span-4" title={title}>
                        <Chart option={option} height={190} label={title} />
                    </Card>
                ))}
            </div>
        </>
    );
}
