// Task: what a handler is given.
import { Held, StopReason, TaskLock } from "./held.js";
import { Shard } from "./models.js";
import { payloadOf } from "./zstd.js";

/** One attempt of an execution. `payload` is the input, `payloadText` the same letter by letter. */
export class Task<Payload = any> {
  readonly executionId: string;
  readonly attempt: number;
  readonly taskId: string;
  readonly name: string;
  readonly type: string;
  readonly queue: string;
  readonly priority: number;
  readonly failures: number;
  readonly metadata: Record<string, string>;
  readonly payloadText: string;
  readonly payload: Payload;
  readonly scheduledAt: Date;
  /** Epoch and attempt: rises with each attempt, over changes of leaders. */
  readonly fencingToken: readonly [number, number];
  readonly traceparent: string;
  readonly tracestate: string;
  /** The run that it is a step of. */
  readonly parentId?: string;
  readonly step?: string;
  readonly shard?: Shard;
  /** Those that its task declares or its run holds: it has them until it ends. */
  readonly locks: Readonly<Record<string, TaskLock>>;
  /** Their tokens. */
  readonly lockTokens: Record<string, number> = {};
  /** Aborted when it was cancelled, timed out, or its worker is being stopped: return soon. */
  readonly signal: AbortSignal;
  readonly #held: Held;

  constructor(held: Held) {
    const { assign } = held;
    this.#held = held;
    this.executionId = assign.attempt.execution_id;
    this.attempt = Number(assign.attempt.attempt);
    this.taskId = assign.task_id;
    this.name = assign.task_name;
    this.type = assign.type;
    this.queue = assign.queue;
    this.priority = assign.priority;
    this.failures = assign.failures;
    this.metadata = assign.metadata ?? {};
    this.payloadText = payloadOf(assign);
    this.payload = this.payloadText ? JSON.parse(this.payloadText) : undefined;
    this.scheduledAt = new Date(Number(assign.scheduled_at_ms ?? 0));
    this.fencingToken = [Number(assign.epoch ?? 0), this.attempt];
    this.traceparent = assign.traceparent ?? "";
    this.tracestate = assign.tracestate ?? "";
    this.parentId = assign.parent_id || undefined;
    this.step = assign.step || undefined;
    if (assign.shard) this.shard = { index: assign.shard.index ?? 0, total: assign.shard.total ?? 0 };
    this.locks = held.locks;
    for (const lock of Object.values(this.locks)) this.lockTokens[lock.name] = lock.token;
    this.signal = held.abort.signal;
  }

  get stopReason(): StopReason | undefined {
    return this.#held.stopReason;
  }

  /** From 0 to 1; only the latest counts. */
  progress(fraction: number, message = ""): void {
    this.#held.tellProgress(fraction, message);
  }

  /** Adds lines to the execution's log. */
  log(text: string): void {
    this.#held.tellLines(String(text));
  }

  /** Another lock while `work` runs. LockBusy if it could not be had within `wait` seconds, 30 unless given. */
  async withLock<T>(
    name: string,
    options: { wait?: number; permits?: number },
    work: (lock: TaskLock) => Promise<T> | T,
  ): Promise<T> {
    const { ask, given } = this.#held.askLock(name, options.permits ?? 1, options.wait ?? 30);
    const lock = await given;
    try {
      return await work(lock);
    } finally {
      this.#held.dropLock(ask);
    }
  }
}
