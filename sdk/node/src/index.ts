/** Client and worker for the Takt task scheduler. */
export { Client } from "./client.js";
export type { ClientOptions, ExecutionFilter } from "./client.js";
export {
  AccessDenied, Conflict, Exhausted, ExecutionFailed, Failure, Invalid, LockBusy, LockLost, NotFound, Rejected,
  Stopped, TaktError, Unavailable, UnknownOutcome, WaitTimeout, WorkerRefused,
} from "./errors.js";
export { Lock } from "./lock.js";
export type { LockOptions } from "./lock.js";
export { isDone, newId } from "./models.js";
export type {
  Duration, Execution, Json, Page, RetryPolicy, Shard, Status, TaskFields, TaskRecord, Time,
} from "./models.js";
export type { StopReason, TaskLock } from "./held.js";
export { Task } from "./task.js";
export { Worker } from "./worker.js";
export type { Handler, WorkerEvent, WorkerOptions } from "./worker_options.js";
