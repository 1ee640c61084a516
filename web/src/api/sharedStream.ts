// The stream of events that all tabs of this browser share: see liveWorker.ts.
import { Problem, problemFrom } from './client';
import type { StreamEvent } from './sse';
import { follow, type StreamOptions, whileVisible } from './stream';
import { token } from './token';
import type { ProblemFields } from './types';

export type FromTab =
    | { kind: 'watch'; address: string; token: string; visible: boolean }
    | { kind: 'seen'; visible: boolean }
    | { kind: 'bye' };

export type ToTab =
    | { kind: 'open' }
    | { kind: 'event'; event: StreamEvent }
    | { kind: 'lost' }
    | { kind: 'refused'; status: number; body: string };

function problemOfText(status: number, body: string): Problem {
    try {
        return problemFrom(status, JSON.parse(body) as ProblemFields);
    } catch {
        return status === 0 ? new Problem(307, 'elsewhere', '') : new Problem(status, '', body);
    }
}

function openWorker(): SharedWorker | undefined {
    try {
        return new SharedWorker(new URL('./liveWorker.ts', import.meta.url), {
            type: 'module',
            name: 'takt-live',
        });
    } catch {
        return undefined; // Phones have none, and some people forbid it.
    }
}

export function followShared(address: string, options: StreamOptions): void {
    const { signal } = options;
    const worker = openWorker();
    if (!worker) return whileVisible(signal, (seen) => void follow(address, { ...options, signal: seen }));
    const used = token.get();
    const say = (message: FromTab) => worker.port.postMessage(message);
    const look = () => say({ kind: 'seen', visible: !document.hidden });
    // Not for good: Back may bring the page to life again.
    const hide = () => say({ kind: 'seen', visible: false });
    worker.onerror = () => {
        // It could not be loaded: after an upgrade, or while the server is away.
        end();
        if (!signal.aborted)
            whileVisible(signal, (seen) => void follow(address, { ...options, signal: seen }));
    };
    worker.port.onmessage = ({ data }: MessageEvent<ToTab>) => {
        if (signal.aborted) return;
        if (data.kind === 'open') options.onOpen?.();
        if (data.kind === 'event') options.onEvent(data.event);
        if (data.kind === 'lost') options.onLost?.();
        if (data.kind === 'refused') {
            if (data.status === 401) token.refuse(used);
            options.onRefused(problemOfText(data.status, data.body));
        }
    };
    const end = () => {
        say({ kind: 'bye' });
        document.removeEventListener('visibilitychange', look);
        window.removeEventListener('pagehide', hide);
    };
    document.addEventListener('visibilitychange', look);
    window.addEventListener('pagehide', hide);
    signal.addEventListener('abort', end);
    say({ kind: 'watch', address, token: used, visible: !document.hidden });
}
