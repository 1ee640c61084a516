// Which namespace the pages are of, and the way to another. Where there is one alone there is nothing to choose.
import { lazy, Suspense } from 'react';
import { api } from '../api/client';
import { space } from '../api/space';
import { useData } from '../hooks/useData';

// Most have one namespace alone: what chooses among several is no part of the first page.
const NamespaceSelect = lazy(() => import('./NamespaceSelect'));

export function NamespaceSwitch() {
    const spaces = useData((signal) => api.namespaces(signal), [], { everyMs: 30_000 });
    const names = spaces.data?.items.map(({ name }) => name) ?? [];
    // A token for one namespace means that one where none is named.
    const current = space || (names.includes('default') ? 'default' : names[0]);
    if (!current || (names.length < 2 && current === 'default')) return null;
    const offered = names.includes(current) ? names : [current, ...names];
    return (
        <Suspense fallback={null}>
            <NamespaceSelect current={current} offered={offered} />
        </Suspense>
    );
}
