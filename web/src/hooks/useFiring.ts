// The alerts that fire now.
import { api } from '../api/client';
import type { Alert } from '../api/observe';
import { useData } from './useData';

export function useFiring(): Alert[] {
    const alerts = useData((signal) => api.alerts('firing', signal), [], {
        topics: ['alert'],
        everyMs: 30_000,
    });
    // In an outage those that were known last: what was wrong before it is hardly right now.
    return alerts.data?.items ?? [];
}
