// Filters that are kept in the page's address.
import { useSearchParams } from 'react-router-dom';

export function useUrlFilter<Key extends string>(
    keys: readonly Key[],
): { filter: Partial<Record<Key, string>>; put: (change: Partial<Record<Key, string | undefined>>) => void } {
    const [query, setQuery] = useSearchParams();
    const filter: Partial<Record<Key, string>> = {};
    for (const key of keys) {
        const value = query.get(key);
        if (value) filter[key] = value;
    }
    return {
        filter,
        put: (change) => {
            const next = new URLSearchParams(query);
            for (const [key, value] of Object.entries(change) as [string, string | undefined][]) {
                if (value) next.set(key, value);
                else next.delete(key);
            }
            // What was the second page of other rows is not one of these.
            next.delete('page');
            next.delete('cursor');
            setQuery(next, { replace: true });
        },
    };
}
