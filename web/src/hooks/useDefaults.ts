// What counts for tasks that say nothing of it: as this namespace and its scheduler are configured.
import { api } from '../api/client';
import type { Defaults } from '../api/types';
import { useData } from './useData';

export function useDefaults(): Defaults | undefined {
    return useData((signal) => api.defaults(signal), []).data;
}
