// Packs what attempts have to say into frames of a bounded size.
import { now } from "./clock.js";
import { Held } from "./held.js";

const FRAME_BYTES_MAX = 1 << 20; // Of what can be divided; the scheduler takes 4 MiB.
const NAME_BYTES = 160; // Of an attempt's name and the fields around it, about.

/** One session's. Results come behind everything else that is said of their attempts. Results that may be why a
 * session was refused (`refusals`) go one by one, each alone until it is acknowledged. */
export class Outbox {
  suspect?: Held;
  #frame: Record<string, unknown[]> = {};
  #bytes = 0;

  constructor(private readonly send: (text: string) => void) {}

  say(frame: object): void {
    this.send(JSON.stringify(frame));
  }

  flush(held: Iterable<Held>, started: readonly Held[]): void {
    const every = [...held];
    for (const one of started) {
      if (!one.running) continue;
      const ran_ms = Math.floor(now() - one.beganAt);
      this.#add("started", { attempt: one.attempt, ran_ms }, NAME_BYTES);
    }
    for (const one of every) if (!one.sent) this.#news(one);
    for (const one of every) {
      if (!one.result || one.sent || (one.refusals > 0 && this.suspect)) continue;
      if (one.refusals > 0) {
        this.#leave();
        this.suspect = one;
      }
      this.#result(one);
      if (one.refusals > 0) this.#leave();
    }
    this.#leave();
  }

  #news(held: Held): void {
    const { attempt } = held;
    for (;;) {
      const lines = held.takeLines(Math.max(1, FRAME_BYTES_MAX - this.#bytes));
      if (lines.length === 0) break;
      this.#add("logs", { attempt, lines }, NAME_BYTES + lines.reduce((sum, line) => sum + line.length + 3, 0));
    }
    if (held.progress) {
      this.#add("progress", { attempt, ...held.progress }, NAME_BYTES + held.progress.message.length);
      held.progress = undefined;
    }
    const { asks, drops } = held.takeLocks();
    if (!held.running) return;
    for (const ask of asks) this.#add("lock_asks", { attempt, ...ask }, 2 * NAME_BYTES);
    for (const ask of drops) this.#add("lock_drops", { attempt, ask }, NAME_BYTES);
  }

  #result(held: Held): void {
    held.sent = true;
    const result = {
      attempt: held.attempt,
      ...held.result,
      ran_ms: Math.floor(held.endedAt - held.beganAt),
      ended_ms_ago: Math.floor(now() - held.endedAt),
    };
    const { data = "", message = "" } = held.result!;
    this.#add("results", result, 2 * NAME_BYTES + Buffer.byteLength(data) + message.length);
  }

  #add(part: string, item: object, size: number): void {
    if (this.#bytes + size > FRAME_BYTES_MAX) this.#leave();
    (this.#frame[part] ??= []).push(item);
    this.#bytes += size;
  }

  #leave(): void {
    if (this.#bytes > 0) this.say(this.#frame);
    [this.#frame, this.#bytes] = [{}, 0];
  }
}
