// A stream of the scheduler's events for this page alone, closed while nobody looks at it.
import { Problem, problemOf } from './client';
import { followEvents, isFinal, type StreamEvent } from './sse';
import { token } from './token';

export type { StreamEvent };

export interface StreamOptions {
    signal: AbortSignal;
    onOpen?: () => void;
    onEvent: (event: StreamEvent) => void;
    onLost?: () => void;
    // What to do with an answer that trying again would not change; the stream ends.
    onRefused: (problem: Problem) => void;
}

export const follow = (path: string, options: StreamOptions): Promise<void> =>
    followEvents(path, {
        ...options,
        token: token.get,
        onRefusal: async (response, used) => {
            if (response.type === 'opaqueredirect') options.onRefused(new Problem(307, 'elsewhere', ''));
            else if (isFinal(response)) options.onRefused(await problemOf(response, used));
            return isFinal(response) ? 'over' : 'again';
        },
    });

// A tab that is looked away from for a moment is not worth a new connection.
const hiddenMs = 10_000;

// Runs `work` while the page is seen, from its beginning each time. A browser has six connections for each
// server: those of tabs that nobody sees would keep others from loading.
export function whileVisible(signal: AbortSignal, work: (signal: AbortSignal) => void): void {
    let running: AbortController | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = () => {
        running?.abort();
        running = undefined;
    };
    const look = () => {
        clearTimeout(timer);
        if (signal.aborted) return;
        if (document.hidden) {
            timer = setTimeout(stop, hiddenMs);
        } else if (!running) {
            running = new AbortController();
            work(running.signal);
        }
    };
    document.addEventListener('visibilitychange', look);
    signal.addEventListener('abort', () => {
        clearTimeout(timer);
        document.removeEventListener('visibilitychange', look);
        stop();
    });
    look();
}
