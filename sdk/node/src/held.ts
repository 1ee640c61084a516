// Held: an attempt in the worker's hand, from its assignment to the acknowledgement of its result.
import { now } from "./clock.js";
import { Failure, Invalid, LockBusy, LockLost, Rejected, Stopped, Unavailable, textOf } from "./errors.js";

const RESULT_BYTES_MAX = 1 << 20;
const DEPTH_MAX = 64;
const MESSAGE_BYTES_MAX = 4 << 10;
const LINE_BYTES_MAX = 16 << 10;
const LOG_BYTES_MAX = 4 << 20; // Lines of one attempt that wait for a connection; then they are dropped.
const DROPS_KEPT = 1000;
const ANSWER_SLACK = 5000; // Over the network and back, if the scheduler answers at the end of the wait.

export interface AttemptName {
  execution_id: string;
  attempt: number;
  token: string;
}

export interface Assign {
  attempt: AttemptName;
  epoch: string;
  task_id: string;
  task_name: string;
  type: string;
  queue: string;
  priority: number;
  payload: string;
  payload_zstd?: string;
  metadata: Record<string, string>;
  timeout_ms: string;
  scheduled_at_ms: string;
  traceparent: string;
  tracestate: string;
  failures: number;
  parent_id?: string;
  step?: string;
  shard?: { index: number; total: number };
  locks?: { name: string; token: string; permits: number }[];
}

export interface Result {
  success: boolean;
  final?: boolean;
  reason?: string;
  code?: number;
  message?: string;
  data?: string;
}

export type StopReason = "cancelled" | "timeout" | "shutdown";

/** Text that can be sent: valid Unicode of at most so many bytes. */
export function clean(text: string, bytesMax: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= bytesMax) return bytes.toString();
  let end = bytesMax;
  while (end > 0 && (bytes[end]! & 0xc0) === 0x80) end--;
  return bytes.subarray(0, end).toString();
}

function depthOf(data: string): number {
  let [depth, deepest, inText] = [0, 0, false];
  for (let i = 0; i < data.length; i++) {
    const char = data[i];
    if (char === '"') inText = !inText;
    else if (inText) i += char === "\\" ? 1 : 0;
    else if (char === "[" || char === "{") deepest = Math.max(deepest, ++depth);
    else if (char === "]" || char === "}") depth--;
  }
  return deepest;
}

/** Why a scheduler would not take this JSON, good as it is; empty if it does. */
function notKept(data: string): string {
  let why = "";
  if (depthOf(data) > DEPTH_MAX) return `it is nested deeper than ${DEPTH_MAX}`;
  // Rare: only then is it read again.
  if (!/\d{19}|\\ud[89a-f]/.test(data)) return why;
  const halfPair = /\p{Surrogate}/u;
  JSON.parse(data, (key, value) => {
    if (Number.isInteger(value) && Math.abs(value) < 1e21 && (value >= 2 ** 64 || value <= -(2 ** 63))) {
      why = "an integer is beyond 64 bits; write it as a string";
    } else if (halfPair.test(key) || (typeof value === "string" && halfPair.test(value))) {
      why = "a text in it has half of a surrogate pair";
    }
    return value;
  });
  return why;
}

/** The result of a handler that returned; a failure if that cannot be sent. */
export function success(value: unknown): Result {
  if (value === undefined) return { success: true };
  let data: string | undefined;
  try {
    data = JSON.stringify(value);
  } catch (error) {
    return failure(`the handler returned what is no JSON: ${textOf(error)}`, { final: true });
  }
  if (data === undefined) return failure(`the handler returned what is no JSON: ${typeof value}`, { final: true });
  const size = Buffer.byteLength(data);
  if (size > RESULT_BYTES_MAX) {
    return failure(`the result has ${size} bytes, which is more than the limit of ${RESULT_BYTES_MAX}`, { final: true });
  }
  const odd = notKept(data);
  if (odd) return failure(`the result cannot be kept: ${odd}`, { final: true });
  return { success: true, data };
}

export function failure(message: string, more: Partial<Result> = {}): Result {
  // A code of 32 bits is kept as such; any other is a word, which stands before the message.
  const { code = 0, ...rest } = more;
  const fits = Number.isInteger(code) && code === (code | 0);
  const text = fits || code === null ? message : `${textOf(code)}: ${message}`;
  return { success: false, reason: "handler_failed", ...rest, code: fits ? code : 0, message: clean(text, MESSAGE_BYTES_MAX) };
}

/** The result of a handler that threw. */
export function failureOf(error: unknown): Result {
  if (error instanceof Rejected) return failure(textOf(error.message), { final: true, reason: "rejected", code: error.code });
  if (error instanceof Failure) return failure(textOf(error.message), { final: error.final, code: error.code });
  return failure(textOf(error));
}

/** All three parts: after a store lost its last writes, a number is given out again. */
export const keyOf = (attempt: AttemptName): string => `${attempt.execution_id}/${attempt.attempt}/${attempt.token}`;

/** A lock that an attempt holds; `token` is its fencing token. `signal` is aborted, with LockLost, when it was taken away. */
export class TaskLock {
  readonly #over = new AbortController();

  constructor(
    readonly name: string,
    readonly token: number,
  ) {}

  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** LockLost if it may be another's by now. */
  check(): void {
    this.#over.signal.throwIfAborted();
  }

  /** The worker's word. */
  lose(): void {
    this.#over.abort(new LockLost(`lock '${this.name}' was lost`, { code: "lock_lost" }));
  }
}

export interface LockVerdict {
  attempt: AttemptName;
  ask?: string;
  name?: string;
  token?: string;
  why?: string;
}

interface LockCall {
  said: { ask: number; name: string; permits: number; wait_ms: number };
  resolve: (lock: TaskLock) => void;
  reject: (error: Error) => void;
  timer: NodeJS.Timeout;
}

export class Held {
  readonly key: string;
  readonly beganAt = now();
  readonly abort = new AbortController();
  result?: Result;
  endedAt = 0;
  refusals = 0; // Sessions that were refused while its result was under way.
  sent = false; // On this session.
  stopReason?: StopReason;
  timer?: NodeJS.Timeout;
  progress?: { fraction: number; message: string };
  #lines: string[] = [];
  #lineBytes = 0;
  #linesDropped = 0;
  #asks = 0;
  /** That came with the attempt. */
  readonly locks: Record<string, TaskLock> = {};
  #calls = new Map<number, LockCall>();
  #given = new Map<number, TaskLock>();
  #drops: number[] = [];
  #asksDue: number[] = [];
  #dropsDue: number[] = [];

  constructor(
    readonly assign: Assign,
    private readonly news: () => void,
  ) {
    this.key = keyOf(assign.attempt);
    for (const { name, token } of assign.locks ?? []) this.locks[name] = new TaskLock(name, Number(token));
  }

  get attempt(): AttemptName {
    return this.assign.attempt;
  }

  get running(): boolean {
    return this.result === undefined;
  }

  tellProgress(fraction: number, message: string): void {
    if (!(fraction >= 0 && fraction <= 1)) {
      throw new Invalid(`fraction: must be 0 to 1, but is ${fraction}`, { code: "invalid", field: "fraction" });
    }
    this.progress = { fraction, message: clean(message, MESSAGE_BYTES_MAX) };
    this.news();
  }

  tellLines(text: string): void {
    for (const one of text.replace(/\n$/, "").split("\n")) {
      const line = clean(one, LINE_BYTES_MAX);
      if (this.#lineBytes + line.length > LOG_BYTES_MAX) {
        this.#linesDropped++;
        continue;
      }
      this.#lineBytes += line.length;
      this.#lines.push(line);
    }
    this.news();
  }

  /** The next lines of up to so many bytes, at least one if there is one. */
  takeLines(bytesMax: number): string[] {
    let count = 0;
    for (let bytes = 0; count < this.#lines.length && bytes < bytesMax; count++) bytes += this.#lines[count]!.length + 3;
    const taken = this.#lines.splice(0, count);
    for (const line of taken) this.#lineBytes -= line.length;
    if (this.#lines.length === 0 && this.#linesDropped > 0) {
      taken.push(`(${this.#linesDropped} lines were dropped: no scheduler took them)`);
      this.#linesDropped = 0;
    }
    return taken;
  }

  // --- Locks -------------------------------------------------------------------------------------

  askLock(name: string, permits: number, wait: number): { ask: number; given: Promise<TaskLock> } {
    if (!name) throw new Invalid("name: must not be empty", { code: "invalid", field: "name" });
    const ask = ++this.#asks;
    const given = new Promise<TaskLock>((resolve, reject) => {
      if (this.stopReason || !this.running) return reject(this.#stopped());
      const timer = setTimeout(
        () => {
          this.dropLock(ask);
          reject(new Unavailable(`no scheduler has answered for lock '${name}'`, { code: "unavailable" }));
        },
        wait * 1000 + ANSWER_SLACK,
      );
      const said = { ask, name, permits, wait_ms: Math.round(wait * 1000) };
      this.#calls.set(ask, { said, resolve, reject, timer });
      this.#asksDue.push(ask);
      this.news();
    });
    return { ask, given };
  }

  dropLock(ask: number): void {
    clearTimeout(this.#calls.get(ask)?.timer);
    this.#calls.delete(ask);
    this.#given.delete(ask);
    this.#drops.push(ask);
    if (this.#drops.length > DROPS_KEPT) this.#drops.shift();
    this.#dropsDue.push(ask);
    this.news();
  }

  takeLocks(): { asks: LockCall["said"][]; drops: number[] } {
    const asks = this.#asksDue.flatMap((ask) => this.#calls.get(ask)?.said ?? []);
    const drops = this.#dropsDue;
    [this.#asksDue, this.#dropsDue] = [[], []];
    return { asks, drops };
  }

  /** Frames of the session before may not have arrived, nor what they would have been answered. */
  repeatLocks(): void {
    this.#asksDue = [...this.#calls.keys()];
    this.#dropsDue = [...this.#drops];
  }

  /** Of one that it asked for, or, without a token, of one that it has and that was taken away. */
  answerLock(verdict: LockVerdict): void {
    const [ask, token] = [Number(verdict.ask ?? 0), Number(verdict.token ?? 0)];
    const call = this.#calls.get(ask);
    if (!call) {
      if (!token) (ask ? this.#given.get(ask) : this.locks[verdict.name ?? ""])?.lose();
      return;
    }
    clearTimeout(call.timer);
    this.#calls.delete(ask);
    const { name } = call.said;
    if (!token) return call.reject(new LockBusy(`lock '${name}' was not given: ${verdict.why}`, [], { code: "conflict" }));
    const lock = new TaskLock(name, token);
    this.#given.set(ask, lock);
    call.resolve(lock);
  }

  endLocks(): void {
    for (const call of this.#calls.values()) {
      clearTimeout(call.timer);
      call.reject(this.#stopped());
    }
    this.#calls.clear();
  }

  #stopped(): Stopped {
    return new Stopped("the attempt is to stop", { code: this.stopReason ?? "stopped" });
  }
}
