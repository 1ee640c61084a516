// A lock that this process holds: renews itself, knows when it may be lost, is let go at its end.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import { now } from "./clock.js";
import { Conflict, Invalid, LockBusy, LockLost, Unavailable, UnknownOutcome } from "./errors.js";
import { Transport, quote } from "./http.js";

const ASKED_AT_ONCE = 20; // Seconds of standing in line in one request; then it is asked again.
const ANSWER_SLACK = 10;
const RENEWAL_LEAST = 0.01; // What a server is given to answer a renewal, however many there are.

export interface LockOptions {
  /** Seconds; 30 unless given. */
  ttl?: number;
  /** Seconds to stand in line; 0 unless given. */
  wait?: number;
  permits?: number;
  owner?: string;
}

/** `signal` is aborted, with LockLost, no later than when somebody else may have the lock. Hand `token` to
 * whatever you write to: it is higher than any that was given before. */
export class Lock {
  readonly #over = new AbortController();
  readonly #released = new AbortController();
  #validUntil: number;
  #renewing: Promise<void>;

  private constructor(
    private readonly transport: Transport,
    readonly name: string,
    private readonly ttl: number,
    readonly lockId: string,
    readonly token: number,
    askedAt: number,
  ) {
    // The lease may have begun when the question was sent; after a long wait it is renewed at once.
    this.#validUntil = askedAt + ttl * 1000;
    this.#renewing = this.#keep();
  }

  /** LockBusy: others hold it, and the wait is over. */
  static async acquire(transport: Transport, name: string, options: LockOptions): Promise<Lock> {
    if (!name) throw new Invalid("name: must not be empty", { code: "invalid", field: "name" });
    const { ttl = 30, wait = 0, permits = 1, owner } = options;
    const body = { ttl, permits, request_id: randomUUID(), ...(owner ? { owner } : {}) };
    const end = now() + wait * 1000;
    for (;;) {
      const askedAt = now();
      const left = Math.max(0, Math.min((end - askedAt) / 1000, ASKED_AT_ONCE));
      try {
        const given = await transport.call<{ lock_id: string; token: number }>(
          "POST",
          `locks/${quote(name)}/acquire`,
          { ...body, wait: left },
          { repeat: true, timeout: left + ANSWER_SLACK, patience: 0 },
        );
        return new Lock(transport, name, ttl, given.lock_id, Number(given.token), askedAt);
      } catch (error) {
        const away = error instanceof Unavailable || error instanceof UnknownOutcome;
        // The same request_id finds what it was given, also at the next leader.
        if (!(away || error instanceof LockBusy) || now() >= end) throw error;
        if (away) await transport.pause(0.2);
      }
    }
  }

  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** LockLost if it may be another's by now. */
  check(): void {
    this.#over.signal.throwIfAborted();
    if (now() >= this.#validUntil) throw this.#lost();
  }

  /** Lets it go; lost before is no error. Only the first call does something. */
  async release(): Promise<void> {
    if (this.#released.signal.aborted) return;
    this.#released.abort();
    await this.#renewing;
    await this.#post("release", 10, this.transport.patience).catch((error) => {
      if (!(error instanceof Conflict)) throw error;
    });
  }

  #lost(): LockLost {
    return new LockLost(`lock '${this.name}' was lost`, { code: "lock_lost" });
  }

  #post(action: string, timeout: number, patience = 0): Promise<unknown> {
    const path = `locks/${quote(this.name)}/${action}`;
    return this.transport.call("POST", path, { lock_id: this.lockId }, { repeat: true, timeout, patience });
  }

  async #keep(): Promise<void> {
    const third = this.ttl / 3;
    let pause = now() > this.#validUntil - 2 * third * 1000 ? 0 : third;
    for (;;) {
      try {
        const most = Math.max(0, this.#validUntil - now());
        await sleep(Math.min(pause * 1000, most), undefined, { signal: this.#released.signal, ref: false });
      } catch {
        return;
      }
      if (now() >= this.#validUntil) break;
      const sentAt = now();
      // Servers are asked in turn: all of them within what is left of the lease.
      const each = Math.max(RENEWAL_LEAST, (this.#validUntil - sentAt) / 1000 / this.transport.servers);
      try {
        await this.#post("renew", Math.min(third, each));
        this.#validUntil = sentAt + this.ttl * 1000;
        pause = third;
      } catch (error) {
        if (error instanceof Conflict) break;
        pause = this.ttl / 10;
      }
      if (this.#released.signal.aborted) return;
    }
    this.#over.abort(this.#lost());
  }
}
