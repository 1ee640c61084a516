// Worker: runs what a scheduler gives it. The worker's side of docs/worker_protocol.md.
import { randomUUID } from "node:crypto";
import os from "node:os";

import { now } from "./clock.js";
import { Conflict, Invalid, Stopped, TaktError, WaitTimeout, WorkerRefused, textOf } from "./errors.js";
import { Assign, Held, Result, StopReason, failure, failureOf, keyOf, success } from "./held.js";
import { readServers } from "./http.js";
import { seconds } from "./models.js";
import { Outbox } from "./outbox.js";
import { Servers, pauseBefore } from "./servers.js";
import { Session, SessionEnd } from "./session.js";
import { Task } from "./task.js";
import { Trust } from "./trust.js";
import { VERSION } from "./version.js";
import { Handler, WorkerEvent, WorkerOptions, checkedCapacity, checkedId } from "./worker_options.js";
import { acceptsZstd } from "./zstd.js";

const CLOSE_TIMEOUT = 2000;
const GOOD_SESSION = 5000; // One that lasted this long: the next try need not wait for long.
const MOVES_MAX = 3; // In a row: schedulers that point at each other.
const TIMER_MAX = 2 ** 31 - 1;
const FINAL_REFUSALS = ["protocol", "invalid_hello", "not_yours", "wrong_namespace", "replaced"];

/** A handler returns its result as JSON can say it, or throws Failure, Rejected or anything else. A lost connection
 * or leader disturbs no handler: results are kept until a scheduler has acknowledged them. Handlers must not block
 * the event loop for as long as the lease lasts (30 s unless the schedulers say otherwise): give such work to
 * `node:worker_threads`. */
export class Worker {
  readonly id: string;
  readonly #options: WorkerOptions;
  readonly #servers: Servers;
  #capacity: number;
  #capacitySaid = 0; // In this session.
  #capacitySet = 0; // What an operator has set; 0: the worker's own word counts.
  readonly #drainTimeout: number;
  readonly #stopGrace: number;
  readonly #instance = randomUUID();
  readonly #trust: Trust;
  readonly #handlers = new Map<string, Handler>();
  #fallback?: Handler;
  #held = new Map<string, Held>();
  #started: Held[] = []; // To be told.
  #session?: Session;
  #beats?: NodeJS.Timeout;
  #outbox?: Outbox;
  #flushWaits = false;
  #lease = 0;
  #helloAt = 0;
  #leaseUntil = 0; // Before this no scheduler has taken the worker for dead.
  #epoch = 0;
  #namespaceId = 0;
  #termId = "0";
  #failures = 0;
  #warned = ""; // Why the last try failed.
  #moves = 0;
  #retry?: NodeJS.Timeout;
  #draining = false;
  #hurry = false;
  #leaving = false; // Bye was said.
  #wake: () => void = () => {};
  #ended?: Promise<void>;
  #end: () => void = () => {};
  #over = false;
  #failure?: TaktError;

  constructor(servers?: string | readonly string[], options: WorkerOptions = {}) {
    this.#capacity = checkedCapacity(options);
    this.id = checkedId(options);
    this.#options = { ...options, namespace: options.namespace ?? process.env.TAKT_NAMESPACE };
    this.#drainTimeout = seconds(options.drainTimeout ?? 60, "drainTimeout") * 1000;
    this.#stopGrace = seconds(options.stopGrace ?? 3, "stopGrace") * 1000;
    this.#servers = new Servers(readServers(servers), this.#options.namespace);
    this.#trust = new Trust(options.caFile);
  }

  /** The handler of a type. */
  handle<Payload = any>(type: string, handler: Handler<Payload>): this {
    if (this.#ended) throw new Conflict("handlers are added before the worker starts", { code: "conflict" });
    if (this.#handlers.has(type)) {
      throw new Invalid(`type: '${type}' has a handler already`, { code: "invalid", field: "type" });
    }
    this.#handlers.set(type, handler);
    return this;
  }

  /** The handler of every type that has none of its own. */
  handleRest(handler: Handler): this {
    this.#fallback = handler;
    return this;
  }

  /** Whether a scheduler has it in its rotation. */
  get attached(): boolean {
    return this.#outbox !== undefined;
  }

  /** How many attempts it is given at once: what an operator has set, else its own word. */
  get capacity(): number {
    return this.#capacitySet || this.#capacity;
  }

  /** How many attempts it takes at once from now on. What runs goes on; nothing new comes until fewer run. An
   * operator's word, if there is one, goes before. */
  setCapacity(count: number): void {
    this.#capacity = checkedCapacity({ concurrency: count }, "capacity");
    this.#beat();
  }

  /** Attempts that run, or whose results no scheduler has acknowledged yet. */
  get inHand(): number {
    return this.#held.size;
  }

  /** Returns at once; connects by itself, and again whenever it has to. */
  start(): this {
    if (this.#ended) throw new Conflict("the worker was started before", { code: "conflict" });
    if (this.#handlers.size === 0 && !this.#fallback) {
      throw new Invalid("handlers: the worker has none", { code: "invalid", field: "handlers" });
    }
    this.#ended = new Promise((resolve) => (this.#end = resolve));
    this.#connect();
    return this;
  }

  /** Takes nothing new, finishes what it has and stops. Returns at once; a second call hurries. */
  drain(): void {
    if (!this.#ended || this.#over) return;
    if (this.#draining) {
      this.#hurry = true;
      return this.#wake();
    }
    this.#draining = true;
    this.#tell("draining", "");
    this.#beat();
    void this.#stopInOrder();
  }

  /** Drains, waits for what runs and for the acknowledgement of its results, says goodbye. */
  async stop(): Promise<void> {
    this.drain();
    await this.wait();
  }

  /** Until it has stopped. WaitTimeout after so many seconds; WorkerRefused if that is how it ended. */
  async wait(timeout?: number): Promise<void> {
    if (!this.#ended) return;
    if (timeout !== undefined) {
      const late = Symbol();
      let timer: NodeJS.Timeout | undefined;
      const waited = new Promise((resolve) => (timer = setTimeout(resolve, timeout * 1000, late)));
      const first = await Promise.race([this.#ended, waited]);
      clearTimeout(timer);
      if (first === late) throw new WaitTimeout("the worker has not stopped yet", { code: "timeout" });
    }
    await this.#ended;
    if (this.#failure) throw this.#failure;
  }

  /** Starts, serves until SIGTERM or SIGINT, stops in order. */
  async run(): Promise<void> {
    const onSignal = () => this.drain();
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, onSignal);
    try {
      this.start();
      await this.wait();
    } finally {
      for (const signal of ["SIGTERM", "SIGINT"] as const) process.off(signal, onSignal);
    }
  }

  // --- The connection ----------------------------------------------------------------------------

  #connect(): void {
    const token = this.#options.token ?? process.env.TAKT_TOKEN;
    const session = new Session(this.#servers.take(), token, this.#trust.ca, {
      hello: () => this.#hello(),
      frame: (frame) => this.#onFrame(session, frame),
      closed: (end) => this.#onClosed(end),
    });
    this.#session = session;
  }

  #onFrame(session: Session, frame: Record<string, any>): void {
    if (frame.refused) {
      const why = this.#onRefused(frame.refused);
      this.#outbox = undefined;
      return session.leave(why, ["taken", "full"].includes(frame.refused.code));
    }
    if (frame.moved) {
      this.#servers.movedTo = frame.moved.address ?? "";
      this.#outbox = undefined;
      return session.leave("another scheduler leads");
    }
    if (frame.welcome && !this.#onWelcome(frame.welcome, session)) {
      return session.leave("the scheduler leads an older term than the latest known");
    }
    if (this.#outbox) this.#take(frame);
  }

  #onClosed({ why, lasted, patient }: SessionEnd): void {
    clearInterval(this.#beats);
    this.#outbox = this.#session = undefined;
    this.#tell("disconnected", why);
    this.#warn(lasted > 0 ? "" : why);
    this.#wake();
    if (this.#over || this.#leaving) return;
    if (this.#failure) return this.#finish();
    const good = lasted >= GOOD_SESSION;
    this.#failures = good ? 0 : this.#failures + 1;
    if (good) this.#moves = 0;
    const moved = this.#servers.movedTo && this.#moves++ < MOVES_MAX;
    this.#retry = setTimeout(() => this.#connect(), moved ? 0 : pauseBefore(this.#failures, patient));
  }

  #hello(): object {
    const options = this.#options;
    this.#capacitySaid = this.#capacity;
    this.#helloAt = now();
    return {
      protocol: 1,
      worker_id: this.id,
      instance: this.#instance,
      name: options.name ?? this.id,
      types: this.#fallback ? [] : [...this.#handlers.keys()].sort(),
      queues: options.queues ?? [],
      labels: options.labels ?? {},
      capacity: this.#capacity,
      weight: options.weight ?? 1,
      group: options.group ?? "",
      version: options.version || VERSION,
      namespace: options.namespace ?? "",
      namespace_id: this.#namespaceId,
      epoch_seen: String(this.#epoch),
      term_id: this.#termId,
      accepts_zstd: acceptsZstd,
      holding: [...this.#held.values()].map((one) => one.attempt),
    };
  }

  #onWelcome(welcome: Record<string, any>, session: Session): boolean {
    const space = Number(welcome.namespace_id ?? 0);
    if (space !== this.#namespaceId) [this.#epoch, this.#namespaceId] = [0, space];
    if (Number(welcome.epoch) < this.#epoch) return false;
    this.#epoch = Number(welcome.epoch);
    this.#termId = String(welcome.term_id ?? 0);
    session.lease = this.#lease = Math.max(1, Number(welcome.lease_ms));
    this.#leaseUntil = this.#helloAt + this.#lease;
    this.#capacitySet = 0;
    this.#outbox = new Outbox((text) => session.send(text));
    this.#started = [...this.#held.values()].filter((one) => one.running);
    for (const one of this.#held.values()) {
      one.sent = false;
      one.repeatLocks();
    }
    this.#beats = setInterval(() => this.#beat(), Math.max(1, Number(welcome.heartbeat_ms)));
    this.#beat();
    this.#tell("attached", String(welcome.node_id ?? ""));
    return true;
  }

  #onRefused(refused: { code: string; message: string }): string {
    const why = `${refused.code}: ${refused.message}`;
    if (this.#outbox && ["malformed", "too_large"].includes(refused.code)) this.#blameResults(why);
    if (FINAL_REFUSALS.includes(refused.code)) {
      this.#failure = new WorkerRefused(`the scheduler refused the worker: ${why}`, { code: refused.code });
      for (const one of this.#held.values()) this.#requestStop(one, "shutdown");
    }
    return why;
  }

  /** One of the results under way may be what the scheduler does not take, and would end every session. */
  #blameResults(why: string): void {
    for (const one of [...this.#held.values()].filter((held) => held.sent)) {
      one.refusals++;
      if (one.refusals === 2) {
        one.result = failure(`the scheduler did not take the result: ${why.slice(0, 2000)}`, { final: true });
      } else if (one.refusals > 2) {
        this.#forget(one);
      }
    }
  }

  #beat(): void {
    const cpu = Math.min(1, os.loadavg()[0]! / Math.max(1, os.cpus().length));
    const memory = 1 - os.freemem() / os.totalmem();
    const sent_at_ms = Math.floor(now());
    const beat = { cpu, memory, draining: this.#draining, sent_at_ms };
    if (!this.#outbox) return;
    // Only what is new: a scheduler of an earlier version does not know the field.
    const more = this.#capacity === this.#capacitySaid ? {} : { capacity: this.#capacity };
    this.#capacitySaid = this.#capacity;
    this.#outbox.say({ heartbeat: { ...beat, ...more } });
  }

  #tell(event: WorkerEvent, detail: string): void {
    try {
      this.#options.onEvent?.(event, detail);
    } catch (error) {
      process.emitWarning(`onEvent threw: ${textOf(error)}`);
    }
  }

  /** Why it gets no work, for a program that does not listen itself: once, however often it is tried. */
  #warn(why: string): void {
    if (why && why !== this.#warned && !this.#options.onEvent && !this.#over) {
      process.emitWarning(`worker ${this.id} cannot connect: ${why}`, "TaktWarning");
    }
    this.#warned = why;
  }

  // --- Attempts ----------------------------------------------------------------------------------

  #take(frame: Record<string, any>): void {
    // The lease counts from what the scheduler has heard: this beat's question, no other frame, tells when that was.
    const sentAt = Number(frame.beat?.sent_at_ms ?? 0);
    if (sentAt > 0) this.#leaseUntil = sentAt + this.#lease;
    for (const assign of frame.assigns ?? []) this.#onAssign(assign);
    for (const { attempt, reason } of frame.cancels ?? []) {
      const held = this.#held.get(keyOf(attempt));
      if (held) this.#requestStop(held, reason === "timeout" ? "timeout" : "cancelled");
    }
    for (const { attempt } of frame.acks ?? []) {
      const held = this.#held.get(keyOf(attempt));
      if (held?.result) this.#forget(held);
    }
    if (frame.capacity) this.#capacitySet = Number(frame.capacity.capacity ?? 0);
    for (const verdict of frame.lock_verdicts ?? []) this.#held.get(keyOf(verdict.attempt))?.answerLock(verdict);
    this.#flushSoon();
  }

  #onAssign(assign: Assign): void {
    // From a leader that a later one has followed: whoever leads now decides anew.
    if (Number(assign.epoch ?? 0) < this.#epoch) return;
    this.#epoch = Number(assign.epoch ?? 0);
    if (this.#held.has(keyOf(assign.attempt))) return;
    const held = new Held(assign, () => this.#flushSoon());
    this.#held.set(held.key, held);
    const timeout = Number(assign.timeout_ms ?? 0);
    if (timeout > 0) held.timer = setTimeout(() => this.#requestStop(held, "timeout"), Math.min(timeout, TIMER_MAX));
    this.#started.push(held);
    void this.#execute(held);
  }

  async #execute(held: Held): Promise<void> {
    // A frame may cancel what it assigns: everything in it is taken before any handler begins.
    await Promise.resolve();
    const handler = this.#handlers.get(held.assign.type) ?? this.#fallback;
    if (held.stopReason) return this.#onFinished(held, failure("stopped before it began"));
    if (!handler) {
      const message = `this worker has no handler for '${held.assign.type}'`;
      return this.#onFinished(held, failure(message, { final: true, reason: "rejected" }));
    }
    // A handler before it blocked the loop, or the process was asleep: others have been given it.
    if (now() >= this.#leaseUntil) return this.#putBack(held);
    let task: Task;
    try {
      task = new Task(held);
    } catch (error) {
      return this.#onFinished(held, failure(`the payload is no JSON: ${error}`, { final: true, reason: "rejected" }));
    }
    try {
      this.#onFinished(held, success(await handler(task)));
    } catch (error) {
      this.#onFinished(held, failureOf(error));
    }
  }

  /** Never begun. The next Hello does not name it, so that the scheduler gives it out again if it has not yet. */
  #putBack(held: Held): void {
    this.#forget(held);
    this.#outbox = undefined;
    this.#session?.drop("the lease was over before an attempt began");
  }

  #requestStop(held: Held, reason: StopReason): void {
    if (!held.running || held.stopReason) return;
    held.stopReason = reason;
    clearTimeout(held.timer);
    held.endLocks();
    held.abort.abort(new Stopped(`the attempt is to stop: ${reason}`, { code: reason }));
    held.timer = setTimeout(() => this.#onFinished(held, failure("was asked to stop, and did not")), this.#stopGrace);
  }

  #onFinished(held: Held, result: Result): void {
    // Left alone before: how it ended has been told.
    if (!held.running) return;
    clearTimeout(held.timer);
    const reason = held.stopReason;
    if (reason && !result.success) {
      // Stopped because the worker goes: nobody's failure. Bye gives it to others.
      if (reason === "shutdown") return this.#forget(held);
      // However a handler says that it was stopped, this is what happened.
      result = { ...result, reason, final: false };
      if (reason === "timeout") result.message = `took longer than its timeout of ${held.assign.timeout_ms} ms`;
    }
    held.result = result;
    held.endedAt = now();
    held.endLocks();
    this.#flushSoon();
  }

  #forget(held: Held): void {
    clearTimeout(held.timer);
    held.result ??= { success: false };
    this.#held.delete(held.key);
    if (this.#outbox?.suspect === held) this.#outbox.suspect = undefined;
    this.#wake();
  }

  /** What is said within one turn of the loop leaves in one frame. */
  #flushSoon(): void {
    if (this.#flushWaits) return;
    this.#flushWaits = true;
    setImmediate(() => {
      this.#flushWaits = false;
      if (!this.#outbox) return;
      const started = this.#started;
      this.#started = [];
      this.#outbox.flush(this.#held.values(), started);
    });
  }

  // --- Stopping ----------------------------------------------------------------------------------

  async #stopInOrder(): Promise<void> {
    await this.#until(() => this.#held.size === 0 || this.#hurry, this.#drainTimeout);
    for (const one of [...this.#held.values()]) this.#requestStop(one, "shutdown");
    await this.#until(() => this.#held.size === 0, this.#stopGrace + 1000);
    this.#leaving = true;
    if (this.#outbox) {
      this.#outbox.say({ bye: { reason: "the worker stops" } });
      // The scheduler closes; what it does not hear is found out by its lease.
      await this.#until(() => this.#session === undefined, CLOSE_TIMEOUT);
    }
    this.#finish();
  }

  /** Until it is so, looked at whenever something changes; at most so many milliseconds. */
  #until(isSo: () => boolean, patience: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.#wake = () => {};
        resolve();
      };
      const timer = setTimeout(done, Math.min(patience, TIMER_MAX));
      this.#wake = () => isSo() && done();
      this.#wake();
    });
  }

  #finish(): void {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#retry);
    this.#session?.drop("the worker stops");
    this.#tell("stopped", this.#failure?.message ?? "");
    this.#end();
  }
}
