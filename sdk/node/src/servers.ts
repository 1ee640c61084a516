// Where to connect next, and how long to wait before.
import { quote } from "./http.js";

const BACKOFF_MIN = 100; // Milliseconds.
const BACKOFF_MAX = 1000;
// Between tries that fail until somebody acts, as with a token that is refused.
const PATIENT_MIN = 2000;
const PATIENT_MAX = 60_000;

/** The servers in turn, beginning anywhere: a fleet with one list should not all begin with the same one. */
export class Servers {
  movedTo = "";
  readonly #inside: string;
  #next: number;
  #scheme = "http";
  #last = "";

  constructor(
    private readonly servers: readonly string[],
    namespace?: string,
  ) {
    this.#inside = namespace ? `/namespaces/${quote(namespace)}` : "";
    this.#next = Math.floor(Math.random() * servers.length);
  }

  /** Where Moved pointed, else the next in turn; not the one that was lost if there is another. */
  take(): string {
    const target = this.movedTo ? this.#url(this.movedTo) : this.#inTurn();
    this.movedTo = "";
    this.#last = target === this.#last ? this.#inTurn() : target;
    return this.#last;
  }

  #inTurn(): string {
    return this.#url(this.servers[this.#next++ % this.servers.length]!);
  }

  #url(server: string): string {
    const whole = server.includes("://") ? server : `${this.#scheme}://${server}`;
    this.#scheme = whole.slice(0, whole.indexOf("://"));
    return `ws${whole.replace(/\/+$/, "").slice(4)}/api/v1${this.#inside}/workers/attach`;
  }
}

/** Random, so that a thousand workers do not come back in step after a scheduler died. */
export function pauseBefore(failures: number, patient: boolean): number {
  const [least, most] = patient ? [PATIENT_MIN, PATIENT_MAX] : [BACKOFF_MIN, BACKOFF_MAX];
  return Math.random() * Math.min(most, least * 2 ** Math.min(failures, 20));
}
