// What a worker can be told.
import { randomUUID } from "node:crypto";
import os from "node:os";

import { Invalid } from "./errors.js";
import { Task } from "./task.js";

export type Handler<Payload = any> = (task: Task<Payload>) => unknown;
export type WorkerEvent = "attached" | "disconnected" | "draining" | "stopped";

export interface WorkerOptions {
  id?: string;
  name?: string;
  /** Attempts at once; 10 unless given. */
  concurrency?: number;
  queues?: readonly string[];
  labels?: Record<string, string>;
  group?: string;
  weight?: number;
  /** Of your program, for `takt workers`; unless given that of this package. */
  version?: string;
  token?: string;
  namespace?: string;
  caFile?: string;
  /** Seconds that stop waits for what runs; 60 unless given. */
  drainTimeout?: number;
  /** Seconds that a handler that was asked to stop may take; then it is left alone. 3 unless given. */
  stopGrace?: number;
  onEvent?: (event: WorkerEvent, detail: string) => void;
}

export function checkedCapacity({ concurrency = 10 }: WorkerOptions, field = "concurrency"): number {
  if (Number.isInteger(concurrency) && concurrency >= 1 && concurrency <= 100_000) return concurrency;
  const message = `${field}: must be 1 to 100000, but is ${concurrency}`;
  throw new Invalid(message, { code: "invalid", field });
}

/** The id given, or one made from host name and a random part. */
export function checkedId({ id }: WorkerOptions): string {
  if (id === undefined) {
    const host = os.hostname().replace(/[^A-Za-z0-9._~-]/g, "-").slice(0, 48).replace(/^[._~-]+/, "") || "worker";
    return `${host}-${randomUUID().slice(0, 8)}`;
  }
  if (/^[A-Za-z0-9][A-Za-z0-9._~-]{0,63}$/.test(id)) return id;
  throw new Invalid(`id: '${id}' is not 1 to 64 of A-Z a-z 0-9 . _ ~ -`, { code: "invalid", field: "id" });
}
