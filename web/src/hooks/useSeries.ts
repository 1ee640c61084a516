// The last hours in steps, for the live charts: as the server kept it, or, from a server that keeps none,
// as this page has seen it since it was opened.
import { useEffect, useState } from 'react';
import { api, type Problem } from '../api/client';
import type { SeriesPoint } from '../api/observe';
import type { Metrics } from '../api/types';
import { useData } from './useData';

export interface Rates {
    at: number;
    submitted: number; // Per second, like the next two.
    completed: number;
    failed: number;
    running: number;
    pending: number;
}

export interface LiveSeries {
    rates: Rates[];
    points: SeriesPoint[]; // Empty if the server keeps none.
    lastHour: SeriesPoint[]; // Those of them, however far back the charts go.
    problem: Problem | undefined;
}

const hour = 60;
const seenMax = 900; // Half an hour at one reading in two seconds.

interface Seen {
    at: number;
    metrics: Metrics;
}

const secondsOf = (step: string): number => Number.parseFloat(step) * (step.endsWith('m') ? 60 : 1) || 10;

function ratesOfSeen(seen: Seen[]): Rates[] {
    return seen.slice(1).map(({ at, metrics }, index) => {
        const before = seen[index] as Seen;
        const seconds = Math.max(0.5, (at - before.at) / 1_000);
        const rate = (now: number, then: number) => Math.max(0, now - then) / seconds;
        return {
            at,
            submitted: rate(metrics.tasks_total, before.metrics.tasks_total),
            completed: rate(metrics.tasks_completed, before.metrics.tasks_completed),
            failed: rate(metrics.tasks_failed, before.metrics.tasks_failed),
            running: metrics.tasks_running,
            pending: metrics.tasks_pending + metrics.tasks_scheduled + metrics.tasks_retrying,
        };
    });
}

const since = (points: SeriesPoint[], minutes: number) => {
    const from = Date.now() - minutes * 60_000;
    return points.filter(({ at }) => Date.parse(at) >= from);
};

export function useSeries(metrics: Metrics | undefined, minutes: number): LiveSeries {
    // The numbers beside the charts are of an hour. Six hours are half a megabyte: not every ten seconds.
    const read = Math.max(hour, minutes);
    const series = useData((signal) => api.series(read, signal), [read], {
        everyMs: read > hour ? 60_000 : 10_000,
    });
    const [seen, setSeen] = useState<Seen[]>([]);
    useEffect(() => {
        if (metrics) setSeen((old) => [...old.slice(-seenMax), { at: Date.now(), metrics }]);
    }, [metrics]);

    if (!series.data) return { rates: ratesOfSeen(seen), points: [], lastHour: [], problem: series.problem };
    const step = secondsOf(series.data.step);
    const points = since(series.data.items, minutes);
    return {
        rates: points.map((point) => ({
            at: Date.parse(point.at),
            submitted: point.submitted / step,
            completed: point.completed / step,
            failed: point.failed / step,
            running: point.running,
            pending: point.pending,
        })),
        points,
        lastHour: since(series.data.items, hour),
        problem: undefined,
    };
}
