// One stream of events for all tabs of a browser, in a worker that they share. Tabs that nobody sees are sent
// nothing; when nobody sees any, the stream is closed.
import { followEvents, isFinal } from './sse';
import type { FromTab, ToTab } from './sharedStream';

// A tab that is looked away from for a moment is not worth a new connection.
const hiddenMs = 10_000;

class SharedStream {
    private tabs = new Map<MessagePort, { visible: boolean }>();
    private running: AbortController | undefined;
    private open = false;
    private timer: ReturnType<typeof setTimeout> | undefined;

    constructor(
        private readonly address: string,
        private readonly token: string,
    ) {}

    see(tab: MessagePort, visible: boolean): void {
        this.tabs.set(tab, { visible });
        // What happened while it was not seen is known to nobody but the server.
        if (visible && this.open) tab.postMessage({ kind: 'open' } satisfies ToTab);
        this.look();
    }

    leave(tab: MessagePort): void {
        this.tabs.delete(tab);
        this.look();
    }

    private look(): void {
        clearTimeout(this.timer);
        const seen = [...this.tabs.values()].some(({ visible }) => visible);
        if (seen && !this.running) this.start();
        if (!seen && this.running) this.timer = setTimeout(() => this.stop(), hiddenMs);
    }

    private stop(): void {
        this.running?.abort();
        this.running = undefined;
        this.open = false;
    }

    private start(): void {
        const running = new AbortController();
        this.running = running;
        void followEvents(this.address, {
            signal: running.signal,
            token: () => this.token,
            onOpen: () => {
                this.open = true;
                this.tell({ kind: 'open' });
            },
            onEvent: (event) => this.tell({ kind: 'event', event }),
            onLost: () => {
                this.open = false;
                this.tell({ kind: 'lost' });
            },
            onRefusal: async (response) => {
                if (!isFinal(response)) return 'again';
                this.stop();
                this.tell({ kind: 'refused', status: response.status, body: await bodyOf(response) });
                return 'over';
            },
        });
    }

    private tell(message: ToTab): void {
        for (const [tab, { visible }] of this.tabs) if (visible) tab.postMessage(message);
    }
}

const bodyOf = (response: Response): Promise<string> => response.text().catch(() => '');

// Tabs may be of several namespaces, and signed in as several people.
const streams = new Map<string, SharedStream>();

function receive(tab: MessagePort): void {
    let stream: SharedStream | undefined;
    tab.onmessage = ({ data }: MessageEvent<FromTab>) => {
        if (data.kind === 'watch') {
            const key = `${data.address}\n${data.token}`;
            stream = streams.get(key) ?? new SharedStream(data.address, data.token);
            streams.set(key, stream);
            stream.see(tab, data.visible);
        } else if (data.kind === 'seen') {
            stream?.see(tab, data.visible);
        } else {
            stream?.leave(tab);
            tab.close();
        }
    };
}

interface SharedScope {
    onconnect: ((event: MessageEvent) => void) | null;
}
(self as unknown as SharedScope).onconnect = ({ ports }) => {
    for (const port of ports) receive(port);
};
