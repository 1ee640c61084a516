// The alerts that fire now.
import { api } from '../api/client';
import type { Alert } from '../api/observe';
import type { Page } from '../api/types';
import { type Data, useData } from './useData';

export function useAlertsFiring(): Data<Page<Alert>> {
    return useData((signal) => api.alerts('firing', signal), [], {
        topics: ['alert'],
        everyMs: 30_000,
    });
}

export function useFiring(): Alert[] {
    const alerts = useAlertsFiring();
    // In an outage those that were known last: what was wrong before it is hardly right now.
    return alerts.data?.items ?? [];
}
