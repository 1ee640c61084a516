// How workers fared in the last week, and which of them are slow.
import { api } from '../../api/client';
import type { Statistic } from '../../api/observe';
import { useData } from '../../hooks/useData';

// With fewer runs a worker is not called slow: one long task would do.
const runsMin = 10;
const slowFrom = 1.5;

export function useWorkerHealth(): {
    healthOf: (worker: string) => Statistic | undefined;
    typical: number | undefined; // The median of what is typical for each worker.
} {
    const { data } = useData((signal) => api.statistics({ by: 'worker' }, signal), [], {
        topics: ['task'],
        everyMs: 30_000,
        restMs: 5_000,
    });
    const lines = new Map(data?.items.map((line) => [line.key, line]));
    const medians = (data?.items ?? [])
        .filter(({ total }) => total >= runsMin)
        .flatMap(({ duration }) => duration.p50_ms ?? [])
        .sort((a, b) => a - b);
    return {
        healthOf: (worker) => lines.get(worker),
        typical: medians.length > 1 ? medians[Math.floor((medians.length - 1) / 2)] : undefined,
    };
}

// "2.3", or nothing where it is as fast as others, or nobody knows.
export function timesSlower(line: Statistic | undefined, typical: number | undefined): string | undefined {
    if (!line?.duration.p50_ms || !typical || line.total < runsMin) return undefined;
    const times = line.duration.p50_ms / typical;
    return times >= slowFrom ? times.toFixed(1) : undefined;
}
