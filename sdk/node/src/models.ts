// What schedulers answer, and what a task can be told: by the names of the REST API (docs/api.md).
import { randomUUID } from "node:crypto";

import { Invalid } from "./errors.js";

/** Seconds, or a text such as "90s" or "1h30m". */
export type Duration = number | string;
/** RFC 3339, or a Date. */
export type Time = string | Date;
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
export type Status =
  | "pending"
  | "scheduled"
  | "running"
  | "retrying"
  | "success"
  | "failed"
  | "cancelled"
  | "skipped";

export interface RetryPolicy {
  max_retries?: number;
  delay?: Duration;
  backoff_rate?: number;
  delay_max?: Duration;
  jitter?: number;
}

/** Everything of a task but its id, type and parameters. */
export interface TaskFields {
  name?: string;
  queue?: string;
  priority?: number | "low" | "normal" | "high" | "urgent";
  timeout?: Duration;
  max_retry?: number;
  retry_policy?: RetryPolicy;
  load_balance_strategy?: string;
  metadata?: Record<string, string>;
  labels?: Record<string, string>;
  executor?: string;
  expires_after?: Duration;
  concurrency_key?: string;
  concurrency_max?: number;
  rate_limit?: { count: number; per: Duration };
  locks?: readonly (string | { name: string; permits: number })[];
  steps?: readonly Record<string, unknown>[];
  on_failure?: "stop" | "continue";
  shards?: number;
  each_worker?: boolean;
  parallel_max?: number;
  min_success?: number;
  run_at?: Time;
  delay?: Duration;
  unique_key?: string;
  unique_for?: Duration;
  traceparent?: string;
  tracestate?: string;
  cron?: string;
  every?: Duration;
  every_after_end?: Duration;
  timezone?: string;
  dst?: "once" | "skip" | "twice";
  start_at?: Time;
  end_at?: Time;
  fires_max?: number;
  jitter?: Duration;
  excluded_dates?: readonly string[];
  execution_mode?: "sequential" | "parallel" | "skip" | "replace";
  misfire_policy?: "fire_once" | "fire_all" | "skip";
  misfires_max?: number;
  backlog_max?: number;
  start_deadline?: Duration;
  catch_up_after_pause?: boolean;
  enabled?: boolean;
}

export interface TaskRecord extends TaskFields {
  id: string;
  name: string;
  /** Not there: a workflow. */
  type?: string;
  version?: number;
  next_fire_at?: string | null;
  [field: string]: unknown;
}

export interface Shard {
  /** From 0. */
  index: number;
  total: number;
}

/** One run of a task. Lists have neither parameters nor result unless asked. */
export interface Execution {
  id: string;
  task_id: string;
  type: string;
  status: Status;
  queue: string;
  attempt: number;
  failures: number;
  losses: number;
  worker_id: string | null;
  parameters?: any;
  result?: any;
  /** What was said of a success. */
  message?: string | null;
  error: { code: string; message: string; handler_code?: number } | null;
  progress?: { percent: number | null; message: string; at: string | null } | null;
  parent_id: string | null;
  step: string | null;
  shard: Shard | null;
  [field: string]: unknown;
}

export interface Page<Item> {
  items: Item[];
  /** Asks for what follows; null: nothing does. */
  next_cursor: string | null;
}

const FINAL: readonly Status[] = ["success", "failed", "cancelled", "skipped"];
export const isDone = (execution: Execution): boolean => FINAL.includes(execution.status);

/** An id that makes a submit safe to repeat. */
export const newId = (): string => randomUUID().replaceAll("-", "");

/** A duration that this process counts itself, in seconds. Invalid names the field. */
export function seconds(value: number, field: string): number {
  if (typeof value !== "number" || !(value >= 0)) {
    throw new Invalid(`${field}: must be seconds, but is ${value}`, { code: "invalid", field });
  }
  return value;
}

/** The request for a task. Its type is its name unless a name is given. */
export function taskBody(type: string, parameters: unknown, id: string | undefined, fields: object) {
  if (!type) throw new Invalid("type: must not be empty", { code: "invalid", field: "type" });
  const body: Record<string, unknown> = { name: type, ...encode(fields) };
  if (!("steps" in body)) body.type = type;
  if (parameters !== undefined) body.parameters = parameters;
  if (id !== undefined) body.id = id;
  return body;
}

/** Leaves out what is undefined; a Date that is none is Invalid. */
export function encode(fields: object): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    if (value instanceof Date && Number.isNaN(value.getTime())) {
      throw new Invalid(`${field}: is no time`, { code: "invalid", field });
    }
    out[field] = value;
  }
  return out;
}
