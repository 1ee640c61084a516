// What can go wrong, by what a caller does about it.

export interface Problem {
  code?: string;
  field?: string;
  status?: number;
  requestId?: string;
}

/** The root of all. `code` is the scheduler's word for it, `field` the caller's field at fault. */
export class TaktError extends Error {
  readonly code: string;
  readonly field: string;
  readonly status: number;
  readonly requestId: string;
  constructor(message: string, problem: Problem = {}) {
    super(message);
    this.name = new.target.name;
    this.code = problem.code ?? "";
    this.field = problem.field ?? "";
    this.status = problem.status ?? 0;
    this.requestId = problem.requestId ?? "";
  }
}

/** It can never succeed as asked: `field` says what to change. */
export class Invalid extends TaktError {}
/** The access token is missing, wrong, or not good for this. */
export class AccessDenied extends TaktError {}
/** There is no such thing. */
export class NotFound extends TaktError {}
/** It contradicts what is there: look again, decide again. */
export class Conflict extends TaktError {}
/** Others hold the lock, and the wait is over. */
export class LockBusy extends Conflict {
  readonly holders: Record<string, unknown>[];
  constructor(message: string, holders: Record<string, unknown>[], problem: Problem = {}) {
    super(message, problem);
    this.holders = holders;
  }
}
/** The lock may be somebody else's by now. */
export class LockLost extends TaktError {}
/** Too much at once: nothing was done; `retryAfter` seconds may help. */
export class Exhausted extends TaktError {
  readonly retryAfter: number;
  constructor(message: string, retryAfter: number, problem: Problem = {}) {
    super(message, problem);
    this.retryAfter = retryAfter;
  }
}
/** Nobody could do it within the client's patience. Nothing was done. */
export class Unavailable extends TaktError {}
/** It may have been done: a scheduler was asked and its answer did not arrive. */
export class UnknownOutcome extends TaktError {}
/** A wait ran out; what was waited for goes on. */
export class WaitTimeout extends TaktError {}
/** This client or worker was closed, or the attempt is to stop. */
export class Stopped extends TaktError {}
/** The scheduler does not take this worker, and never will as it is. */
export class WorkerRefused extends TaktError {}
/** What `Client.run` waited for did not succeed; `execution` has how it ended. */
export class ExecutionFailed<E = unknown> extends TaktError {
  readonly execution: E;
  constructor(message: string, execution: E) {
    super(message, { code: "execution_failed" });
    this.execution = execution;
  }
}

/** Thrown by a handler: the attempt failed. Retried by the task's policy unless `final`. */
export class Failure extends Error {
  readonly code: number;
  readonly final: boolean;
  constructor(message: string, { code = 0, final = false }: { code?: number; final?: boolean } = {}) {
    super(message);
    this.name = new.target.name;
    this.code = code;
    this.final = final;
  }
}

/** Thrown by a handler: it cannot run such a task, and no retry can mend that. */
export class Rejected extends Failure {
  constructor(message: string, { code = 0 }: { code?: number } = {}) {
    super(message, { code, final: true });
  }
}

/** The error that an answer other than 2xx is. 5xx that no scheduler wrote is an unknown outcome. */
export function errorOf(status: number, answer: unknown, retryAfter?: string): TaktError {
  const said = (typeof answer === "object" && answer !== null ? answer : {}) as Record<string, unknown>;
  const problem = {
    code: String(said.code ?? ""),
    field: String(said.field ?? ""),
    status,
    requestId: String(said.request_id ?? ""),
  };
  let text = String(said.detail ?? said.title ?? `the scheduler answered ${status}`);
  if (problem.field && !text.includes(problem.field)) text = `${problem.field}: ${text}`;
  if (status === 401 || status === 403) return new AccessDenied(text, problem);
  if (status === 404) return new NotFound(text, problem);
  if (status === 409 && Array.isArray(said.holders)) return new LockBusy(text, said.holders, problem);
  if (status === 409 || status === 412) return new Conflict(text, problem);
  if (status === 429) return new Exhausted(text, Number(retryAfter) || 1, problem);
  if (status < 500) return new Invalid(text, problem);
  if (status === 503 && ["no_leader", "unavailable"].includes(problem.code)) return new Unavailable(text, problem);
  return new UnknownOutcome(text, problem);
}

/** What anything that was thrown says of itself: it need not be an Error, nor have a text. */
export function textOf(thrown: unknown): string {
  try {
    return thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
  } catch {
    return `a thrown ${typeof thrown} that has no text`;
  }
}
