// The live feed: one stream of the scheduler's events, shared with other tabs, and what to do without it.
//
// Pages subscribe to topics ("task", "worker", …) and read again what changed. Every node has the stream: one
// that follows hands on what the leader sends. Where the events cannot be had all the same (the stream is
// refused, or has more events than a page can use), the feed ticks instead, and pages read again at each tick.
import { addressOf } from './space';
import { followShared } from './sharedStream';
import type { StreamEvent } from './sse';

export interface LiveEvent {
    id?: string;
    type: string;
    at?: string;
    task_id?: string;
    execution_id?: string;
    worker_id?: string;
    attempt?: number;
    detail?: string;
}

export type Topic = 'task' | 'queue' | 'lock' | 'worker' | 'leader' | 'alert';
export type LiveState = 'connecting' | 'live' | 'polling' | 'offline';

type Listener = (event: LiveEvent | undefined) => void;

const tickMs = 2_000;
// How long the feed ticks before it looks for the stream again: soon where it was refused, later where there
// is too much to see.
const pollRefusedMs = 4_000;
const pollBusyMs = 30_000;
// A page that handles more than this does nothing else; people cannot read so fast either.
const eventsPerSecondMax = 400;

class LiveFeed {
    private listeners = new Map<Listener, readonly Topic[]>();
    private watchers = new Set<() => void>();
    private current: LiveState = 'connecting';
    private running: AbortController | undefined;
    private ticking: ReturnType<typeof setInterval> | undefined;
    private countedSince = 0;
    private counted = 0;

    state = (): LiveState => this.current;

    watchState = (watcher: () => void): (() => void) => {
        this.watchers.add(watcher);
        return () => this.watchers.delete(watcher);
    };

    // `listener` gets each event of these topics, and undefined when anything may have changed.
    subscribe(topics: readonly Topic[], listener: Listener): () => void {
        this.listeners.set(listener, topics);
        if (!this.running) this.start();
        return () => this.listeners.delete(listener);
    }

    // From the beginning, for example with another token.
    start(): void {
        this.stop();
        this.running = new AbortController();
        this.become('connecting');
        this.connect(this.running.signal);
    }

    stop(): void {
        this.running?.abort();
        this.running = undefined;
        clearInterval(this.ticking);
        this.ticking = undefined;
    }

    private become(state: LiveState): void {
        clearInterval(this.ticking);
        this.ticking = undefined;
        if (state === 'polling' || state === 'offline') {
            this.ticking = setInterval(() => this.tell(undefined), tickMs);
        }
        if (this.current === state) return;
        this.current = state;
        for (const watcher of this.watchers) watcher();
    }

    private connect(signal: AbortSignal): void {
        followShared(addressOf('events'), {
            signal,
            onOpen: () => {
                this.become('live');
                // What happened while there was no stream is known to nobody but the server.
                this.tell(undefined);
            },
            onEvent: (event) => this.receive(event),
            onLost: () => this.become('offline'),
            onRefused: (problem) => {
                if (problem.status === 401 || problem.status === 403) return this.become('offline');
                this.pollFor(pollRefusedMs);
            },
        });
    }

    private pollFor(ms: number): void {
        this.running?.abort();
        const running = new AbortController();
        this.running = running;
        this.become('polling');
        // Still ticking while it tries, so that the page does not stand still.
        setTimeout(() => {
            if (!running.signal.aborted) this.connect(running.signal);
        }, ms);
    }

    private receive(event: StreamEvent): void {
        const now = Date.now();
        if (now - this.countedSince >= 1_000) {
            this.countedSince = now;
            this.counted = 0;
        }
        this.counted += 1;
        if (this.counted > eventsPerSecondMax) return this.pollFor(pollBusyMs);
        if (event.event === 'reset') return this.tell(undefined);
        try {
            this.tell({ type: event.event, ...(JSON.parse(event.data) as object) } as LiveEvent);
        } catch {
            this.tell(undefined); // Not ours to understand, but something happened.
        }
    }

    private tell(event: LiveEvent | undefined): void {
        const topic = event?.type.split('.')[0];
        for (const [listener, topics] of this.listeners) {
            if (!event || topics.includes(topic as Topic)) listener(event);
        }
    }
}

export const live = new LiveFeed();
