// One connection to a scheduler: frames in, frames out, and a look at the clock.
import { WebSocket } from "ws";

import { now } from "./clock.js";

const CONNECT_TIMEOUT = 5000;
const WELCOME_TIMEOUT = 10_000;
const CLOSE_TIMEOUT = 2000;
const MESSAGE_BYTES_MAX = 64 << 20;
const LOST = "the connection was lost";

export interface SessionEnd {
  why: string;
  /** Milliseconds that it was open; 0: nobody took it. */
  lasted: number;
  /** Somebody must act before another try can be better. */
  patient: boolean;
}

export interface SessionEvents {
  /** The Hello to be said. */
  hello: () => object;
  /** What it throws ends the session. */
  frame: (frame: Record<string, any>) => void;
  closed: (end: SessionEnd) => void;
}

export class Session {
  /** Milliseconds of silence after which the connection is dead, whatever TCP says. */
  lease = WELCOME_TIMEOUT;
  readonly #socket: WebSocket;
  #end: SessionEnd = { why: LOST, lasted: 0, patient: false };
  #openedAt = 0;
  #heardAt = 0;
  #watch?: NodeJS.Timeout;

  constructor(url: string, token: string | undefined, ca: Buffer | undefined, events: SessionEvents) {
    const socket = new WebSocket(url, {
      headers: token ? { Authorization: `Bearer ${token}` } : {},
      handshakeTimeout: CONNECT_TIMEOUT,
      maxPayload: MESSAGE_BYTES_MAX,
      perMessageDeflate: false,
      ...(ca ? { ca } : {}),
    });
    this.#socket = socket;
    socket.on("unexpected-response", (request, answer) => {
      this.#end.patient = [401, 403, 429].includes(answer.statusCode ?? 0);
      this.#end.why = `the scheduler answered ${answer.statusCode} ${answer.statusMessage}`;
      request.destroy();
      socket.terminate();
    });
    socket.on("error", (error) => {
      if (this.#end.why === LOST) this.#end.why = error.message || LOST;
    });
    socket.on("open", () => {
      this.#openedAt = now();
      this.say({ hello: events.hello() });
      this.#listen();
    });
    socket.on("message", (data, isBinary) => this.#onMessage(isBinary ? "" : data.toString(), events));
    socket.on("close", (code, reason) => {
      clearTimeout(this.#watch);
      if (this.#end.why === LOST && reason.length > 0) this.#end.why = `closed by the scheduler (${code} ${reason})`;
      if (this.#openedAt) this.#end.lasted = now() - this.#openedAt;
      events.closed(this.#end);
    });
  }

  say(frame: object): void {
    this.send(JSON.stringify(frame));
  }

  send(text: string): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(text);
  }

  /** Sends what is queued, then closes. */
  leave(why: string, patient = false): void {
    this.#end = { ...this.#end, why, patient };
    this.#socket.close(1000);
    setTimeout(() => this.#socket.terminate(), CLOSE_TIMEOUT).unref();
  }

  drop(why: string): void {
    this.#end.why = why;
    this.#socket.terminate();
  }

  #onMessage(text: string, events: SessionEvents): void {
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    // This process was asleep: what lies in the socket has been given to others since.
    if (now() - this.#heardAt >= this.lease) return this.drop("nothing was read for longer than the lease");
    try {
      events.frame(JSON.parse(text));
    } catch (error) {
      return this.leave(`the scheduler sent what is no frame: ${error}`);
    }
    this.#listen();
  }

  #listen(): void {
    this.#heardAt = now();
    clearTimeout(this.#watch);
    this.#watch = setTimeout(() => this.drop("the scheduler was silent for longer than the lease"), this.lease);
  }
}
