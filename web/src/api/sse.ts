// Server-sent events over fetch, without the page around them: a worker uses this too, which has no page.
// EventSource cannot send an Authorization header.

export interface StreamEvent {
    event: string;
    id: string;
    data: string;
}

export interface SseOptions {
    signal: AbortSignal;
    token: () => string;
    onOpen?: () => void;
    onEvent: (event: StreamEvent) => void;
    // The connection ended; the next try is this far away.
    onLost?: (retryMs: number) => void;
    // An answer that is no stream, to a call with the token `used`: whether trying again could change it.
    onRefusal: (response: Response, used: string) => Promise<'again' | 'over'>;
}

const retryFirstMs = 500;
const retryMaxMs = 10_000;
// The server says something every 15 seconds; a connection that is silent for longer is dead.
const silenceMaxMs = 40_000;

// Cuts a text/event-stream into events as its pieces arrive.
export class EventParser {
    private rest = '';
    private event = '';
    private data: string[] = [];
    private id = '';

    constructor(private readonly onEvent: (event: StreamEvent) => void) {}

    push(piece: string): void {
        this.rest += piece;
        for (;;) {
            const end = this.rest.indexOf('\n');
            if (end < 0) return;
            const line = this.rest.slice(0, end).replace(/\r$/, '');
            this.rest = this.rest.slice(end + 1);
            this.line(line);
        }
    }

    private line(line: string): void {
        if (line === '') {
            if (this.data.length > 0) {
                this.onEvent({ event: this.event || 'message', id: this.id, data: this.data.join('\n') });
            }
            this.event = '';
            this.data = [];
            return;
        }
        const colon = line.indexOf(':');
        if (colon === 0) return; // A comment: the server's heartbeat.
        const name = colon < 0 ? line : line.slice(0, colon);
        const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
        if (name === 'event') this.event = value;
        if (name === 'data') this.data.push(value);
        if (name === 'id') this.id = value;
    }
}

const pause = (ms: number, signal: AbortSignal) =>
    new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        signal.addEventListener('abort', () => {
            clearTimeout(timer);
            resolve();
        });
    });

async function read(response: Response, onPiece: (text: string) => void, abort: () => void): Promise<void> {
    const reader = response.body?.getReader();
    if (!reader) return;
    const decoder = new TextDecoder();
    let silence = setTimeout(abort, silenceMaxMs);
    try {
        for (;;) {
            const { done, value } = await reader.read();
            clearTimeout(silence);
            if (done) return;
            silence = setTimeout(abort, silenceMaxMs);
            onPiece(decoder.decode(value, { stream: true }));
        }
    } finally {
        clearTimeout(silence);
    }
}

// Runs until `signal` is aborted or the server refuses for good. Comes back after a lost connection with
// the id of the last event, so that nothing is missed, and waits longer after each failure.
export async function followEvents(path: string, options: SseOptions): Promise<void> {
    const { signal } = options;
    let lastId = '';
    let failures = 0;
    while (!signal.aborted) {
        const connection = new AbortController();
        const abort = () => connection.abort();
        signal.addEventListener('abort', abort);
        const used = options.token();
        // So is one that takes the call and does not answer.
        const silence = setTimeout(abort, silenceMaxMs);
        try {
            const response = await fetch(path, {
                headers: {
                    Accept: 'text/event-stream',
                    ...(used ? { Authorization: `Bearer ${used}` } : {}),
                    ...(lastId ? { 'Last-Event-ID': lastId } : {}),
                },
                // The scheduler sends nobody elsewhere. A proxy that does wants a person, not a stream.
                redirect: 'manual',
                cache: 'no-store',
                signal: connection.signal,
            });
            clearTimeout(silence);
            if (!response.ok) {
                if ((await options.onRefusal(response, used)) === 'over') return;
            } else {
                failures = 0;
                options.onOpen?.();
                const parser = new EventParser((event) => {
                    if (event.id) lastId = event.id;
                    options.onEvent(event);
                });
                await read(response, (text) => parser.push(text), abort);
            }
        } catch {
            // Refused connections and broken ones look alike to a page.
        } finally {
            clearTimeout(silence);
            signal.removeEventListener('abort', abort);
        }
        if (signal.aborted) return;
        const retryMs = Math.min(retryMaxMs, retryFirstMs * 2 ** failures) * (0.75 + Math.random() / 2);
        failures += 1;
        options.onLost?.(retryMs);
        await pause(retryMs, signal);
    }
}

// Whether the answer would be the same a moment later.
export const isFinal = ({ type, status }: Response): boolean =>
    type === 'opaqueredirect' || (status < 500 && status !== 429);
