// Client: asks schedulers in other processes.
import { Conflict, ExecutionFailed, NotFound, UnknownOutcome, WaitTimeout } from "./errors.js";
import { CallOptions, Transport, quote, readServers } from "./http.js";
import { Lock, LockOptions } from "./lock.js";
import { Execution, Page, Status, TaskFields, TaskRecord, encode, isDone, newId, seconds, taskBody } from "./models.js";

const WAIT_MAX = 10; // Seconds of one question that waits at the scheduler: one that hangs is left for the next.
const WAITS_MAX = 200; // At once over one client; more are looked at now and then.
const LOOK_MIN = 0.02; // Seconds between two that are answered at once, as while the leader changes.
const LOOK_MAX = 0.5;

export interface ClientOptions {
  token?: string;
  namespace?: string;
  caFile?: string;
  /** Seconds that one call to one server may take; 30 unless given. */
  timeout?: number;
  /** Seconds that a call waits for a scheduler or a new leader; 10 unless given. */
  patience?: number;
}

export interface ExecutionFilter {
  task_id?: string;
  status?: Status | readonly Status[];
  type?: string;
  queue?: string;
  parent_id?: string;
  details?: boolean;
  limit?: number;
  cursor?: string | null;
}

/** Any scheduler will do; several are tried in turn. Without arguments: TAKT_SERVER, TAKT_TOKEN, TAKT_NAMESPACE.
 * Calls that change something are made safe to repeat with ids of the client's own where the API has them, so
 * that a lost answer is asked for again; what cannot be repeated throws UnknownOutcome. */
export class Client {
  readonly #transport: Transport;
  #waits = 0; // Under way.

  constructor(servers?: string | readonly string[], options: ClientOptions = {}) {
    this.#transport = new Transport(
      readServers(servers),
      options.token ?? process.env.TAKT_TOKEN,
      options.namespace ?? process.env.TAKT_NAMESPACE,
      options.caFile,
      seconds(options.timeout ?? 30, "timeout"),
      seconds(options.patience ?? 10, "patience"),
    );
  }

  /** Calls and waits that are under way throw Stopped. */
  close(): void {
    this.#transport.close();
  }

  /** Any address of the REST API under /api/v1/, in this client's namespace. */
  call<T = any>(method: string, path: string, body?: unknown, options?: CallOptions): Promise<T> {
    return this.#transport.call<T>(method, path.replace(/^\/api\/v1\//, ""), body, options);
  }

  // --- Submitting --------------------------------------------------------------------------------

  /** Makes a task: once now, once later (`delay`, `run_at`), or again and again (`cron`, `every`). With an id of
   * the caller's own the same submit gives the same task, however often; else the client makes one. */
  submit(type: string, parameters?: unknown, fields: TaskFields & { id?: string } = {}): Promise<TaskRecord> {
    const { id, ...rest } = fields;
    return this.#transport.call("POST", "tasks", taskBody(type, parameters, id ?? newId(), rest), { repeat: true });
  }

  /** Up to 10,000 tasks in one call. One answer each, in order: a refused one does not stop the others. */
  async submitMany(
    tasks: readonly (TaskFields & { type: string; parameters?: unknown; id?: string })[],
  ): Promise<{ id?: string; status: number; problem?: Record<string, unknown> }[]> {
    const bodies = tasks.map(({ type, parameters, id, ...rest }) => taskBody(type, parameters, id ?? newId(), rest));
    return (await this.#transport.call("POST", "tasks/bulk", { tasks: bodies }, { repeat: true })).items;
  }

  /** Submits and waits, `wait` seconds at most. ExecutionFailed unless it succeeded. */
  async run(
    type: string,
    parameters?: unknown,
    fields: TaskFields & { id?: string; wait?: number } = {},
  ): Promise<Execution> {
    const { wait = 60, ...rest } = fields;
    const execution = await this.wait((await this.submit(type, parameters, rest)).id, wait);
    if (execution.status !== "success") {
      const why = execution.error?.message ?? execution.status;
      throw new ExecutionFailed(`${type} ${execution.id} ${execution.status}: ${why}`, execution);
    }
    return execution;
  }

  // --- Tasks -------------------------------------------------------------------------------------

  getTask(id: string): Promise<TaskRecord> {
    return this.#transport.call("GET", `tasks/${quote(id)}`);
  }

  /** Recurring tasks. */
  listTasks(filter: { name?: string; limit?: number; cursor?: string | null } = {}): Promise<Page<TaskRecord>> {
    return this.#transport.call("GET", "tasks", undefined, { query: { ...filter } });
  }

  /** Makes or replaces a recurring task. */
  putTask(id: string, type: string, parameters?: unknown, fields: TaskFields = {}): Promise<TaskRecord> {
    return this.#transport.call("PUT", `tasks/${quote(id)}`, taskBody(type, parameters, undefined, fields), {
      repeat: true,
    });
  }

  /** Changes the fields named; null takes one back to its default. With a version, only if it still is that one:
   * Conflict if not. */
  updateTask(id: string, fields: Record<string, unknown>, version?: number): Promise<TaskRecord> {
    const headers: Record<string, string> = version === undefined ? {} : { "If-Match": `"${version}"` };
    const repeat = version === undefined;
    return this.#transport.call("PATCH", `tasks/${quote(id)}`, encode(fields), { headers, repeat });
  }

  /** A one-off task is cancelled. One that is gone already is NotFound. */
  async deleteTask(id: string): Promise<void> {
    await this.#transport.call("DELETE", `tasks/${quote(id)}`);
  }

  pauseTask(id: string): Promise<TaskRecord> {
    return this.#transport.call("POST", `tasks/${quote(id)}/pause`, undefined, { repeat: true });
  }

  resumeTask(id: string): Promise<TaskRecord> {
    return this.#transport.call("POST", `tasks/${quote(id)}/resume`, undefined, { repeat: true });
  }

  /** Runs a recurring task or workflow now, once however often the answer is lost. */
  trigger(id: string, parameters?: unknown, executionId: string = newId()): Promise<Execution> {
    const body = { id: executionId, ...(parameters === undefined ? {} : { parameters }) };
    return this.#transport.call("POST", `tasks/${quote(id)}/trigger`, body, { repeat: true });
  }

  /** When a recurring task fires next. */
  async fires(id: string, count = 5): Promise<string[]> {
    return (await this.#transport.call("GET", `tasks/${quote(id)}/fires`, undefined, { query: { count } })).fires;
  }

  // --- Executions --------------------------------------------------------------------------------

  get(id: string): Promise<Execution> {
    return this.#transport.call("GET", `executions/${quote(id)}`);
  }

  /** Newest first. `details` adds parameters and results. */
  listExecutions(filter: ExecutionFilter = {}): Promise<Page<Execution>> {
    return this.#transport.call("GET", "executions", undefined, { query: { ...filter } });
  }

  /** Until it has ended, however: the scheduler tells when that happens. WaitTimeout if it has not after so many
   * seconds; a scheduler that is away for a while is waited for, too. */
  async wait(id: string, timeout = 60): Promise<Execution> {
    const end = performance.now() + seconds(timeout, "timeout") * 1000;
    const waitMax = Math.min(WAIT_MAX, this.#transport.timeout / 2) * 1000;
    for (let pause = LOOK_MIN; ; ) {
      const asked = performance.now();
      const free = this.#waits < WAITS_MAX;
      const wait = free ? Math.max(0, Math.min(waitMax, Math.ceil(end - asked))) : 0;
      this.#waits++;
      const execution = await this.#transport
        .call<Execution>("GET", `executions/${quote(id)}`, undefined, { query: { wait: `${Math.round(wait)}ms` } })
        .finally(() => this.#waits--);
      if (isDone(execution)) return execution;
      const now = performance.now();
      if (now >= end) throw new WaitTimeout(`${id} is still ${execution.status}`, { code: "timeout" });
      if (wait > 0 && now - asked >= wait - 5) {
        pause = LOOK_MIN;
        continue;
      }
      await this.#transport.pause(Math.min(pause, (end - now) / 1000));
      pause = Math.min(LOOK_MAX, pause * 1.5);
    }
  }

  /** Conflict if it has ended. */
  async cancel(id: string): Promise<Execution> {
    const path = `executions/${quote(id)}/cancel`;
    try {
      return await this.#transport.call<Execution>("POST", path);
    } catch (error) {
      if (!(error instanceof UnknownOutcome)) throw error;
    }
    // If that was done, it has ended by now, as it should.
    try {
      return await this.#transport.call<Execution>("POST", path, undefined, { repeat: true });
    } catch (error) {
      if (!(error instanceof Conflict)) throw error;
      const execution = await this.get(id);
      if (execution.status !== "cancelled") throw error;
      return execution;
    }
  }

  /** Runs again what failed or was cancelled. Of a run: what has no success, or these steps and all after. */
  retry(id: string, steps?: readonly string[]): Promise<Execution> {
    return this.#transport.call("POST", `executions/${quote(id)}/retry`, steps ? { steps } : undefined);
  }

  /** The lines that its handler wrote, those that are kept. */
  async log(id: string): Promise<string[]> {
    const lines: string[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await this.#transport.call("GET", `executions/${quote(id)}/log`, undefined, { query: { cursor } });
      for (const chunk of page.items) lines.push(...chunk.lines.replace(/\n$/, "").split("\n"));
      cursor = page.next_cursor ?? null;
    }
    return lines;
  }

  /** Why it has not started, in one sentence. */
  async explain(id: string): Promise<string> {
    return (await this.#transport.call("GET", `executions/${quote(id)}/explain`)).explanation;
  }

  // --- Workflows ---------------------------------------------------------------------------------

  /** Where each step of a run stands. */
  async steps(run: string): Promise<Record<string, unknown>[]> {
    return (await this.#transport.call("GET", `executions/${quote(run)}/steps`)).items;
  }

  /** The executions of a run's steps, page by page. */
  async *children(run: string, details = false): AsyncGenerator<Execution> {
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const filter: ExecutionFilter = { parent_id: run, limit: 1000, cursor };
      const page: Page<Execution> = await this.listExecutions(details ? { ...filter, details } : filter);
      yield* page.items;
      cursor = page.next_cursor ?? null;
    }
  }

  /** The results of a step with many executions, in the order of their shards; null for no success. */
  async stepResults(run: string, step: string): Promise<unknown[]> {
    const latest = new Map<number, Execution>();
    for await (const child of this.children(run, true)) {
      const index = child.shard?.index ?? 0;
      if (child.step === step && !latest.has(index)) latest.set(index, child);
    }
    const inOrder = [...latest].sort(([a], [b]) => a - b);
    return inOrder.map(([, child]) => (child.status === "success" ? (child.result ?? null) : null));
  }

  // --- Locks and namespaces ----------------------------------------------------------------------

  /** Has the lock while `work` runs, renews it, lets it go. LockBusy if others have it after `wait`. */
  async withLock<T>(name: string, options: LockOptions, work: (lock: Lock) => Promise<T> | T): Promise<T> {
    const lock = await this.lock(name, options);
    try {
      return await work(lock);
    } finally {
      await lock.release();
    }
  }

  /** For those who let it go themselves. */
  lock(name: string, options: LockOptions = {}): Promise<Lock> {
    return Lock.acquire(this.#transport, name, options);
  }

  async listNamespaces(): Promise<Record<string, unknown>[]> {
    return (await this.#transport.call("GET", "namespaces")).items;
  }

  /** Returns when it can be used: schedulers hear of it within two seconds. */
  async createNamespace(name: string, fields: Record<string, unknown> = {}): Promise<Record<string, unknown>> {
    const made = await this.#transport.call("POST", "namespaces", { name, ...fields });
    const end = performance.now() + this.#transport.patience * 1000;
    for (;;) {
      try {
        await this.#transport.call("GET", `namespaces/${quote(name)}/executions`, undefined, { query: { limit: 1 } });
        return made;
      } catch (error) {
        if (!(error instanceof NotFound) || performance.now() >= end) throw error;
      }
      await this.#transport.pause(0.05);
    }
  }

  /** With everything in it. Returns when it has begun. */
  async deleteNamespace(name: string): Promise<void> {
    await this.#transport.call("DELETE", `namespaces/${quote(name)}`, undefined, { query: { confirm: name } });
  }
}
