// The present time, for texts such as "3 minutes ago". One timer for the whole page.
import { useSyncExternalStore } from 'react';

let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;
const listeners = new Set<() => void>();

function watch(listener: () => void): () => void {
    listeners.add(listener);
    timer ??= setInterval(() => {
        now = Date.now();
        for (const each of listeners) each();
    }, 1_000);
    return () => {
        listeners.delete(listener);
        if (listeners.size > 0) return;
        clearInterval(timer);
        timer = undefined;
    };
}

export const useNow = (): number => useSyncExternalStore(watch, () => now);
