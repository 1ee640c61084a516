// How tasks fared in the last week: last result, success rate, duration. From the statistics, which outlive both
// executions and leaders.
import { api } from '../../api/client';
import type { Statistic } from '../../api/observe';
import { useData } from '../../hooks/useData';

export function useTaskHealth(): (task: string) => Statistic | undefined {
    const { data } = useData((signal) => api.statistics({ by: 'task' }, signal), [], {
        topics: ['task'],
        everyMs: 30_000,
        restMs: 5_000,
    });
    const lines = new Map(data?.items.map((line) => [line.key, line]));
    return (task) => lines.get(task);
}
