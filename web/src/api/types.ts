// What the REST API answers, as far as the console reads it. The reference is /openapi.json.
import type { JsonText } from './json';

export const statuses = [
    'pending',
    'scheduled',
    'running',
    'retrying',
    'success',
    'failed',
    'cancelled',
    'skipped',
] as const;
export type Status = (typeof statuses)[number];

export const finished: readonly Status[] = ['success', 'failed', 'cancelled', 'skipped'];

// A refusal. Without a code it is not the scheduler that answered, but something in between.
export interface ProblemFields {
    code?: string;
    detail?: string;
    title?: string;
    field?: string;
    request_id?: string;
}

export interface Page<T> {
    items: T[];
    next_cursor: string | null;
}

export interface RetryPolicy {
    max_retries?: number;
    delay?: string | number;
    backoff_rate?: number;
    delay_max?: string | number;
    jitter?: number;
}

export interface RateLimit {
    count: number;
    per?: string | number;
}

// The fields that a person can set; all but the name may be absent.
export interface TaskFields {
    id?: string;
    name: string;
    type?: string;
    queue?: string;
    priority?: number;
    parameters?: JsonText | null;
    timeout_seconds?: string | number;
    max_retry?: number;
    retry_policy?: RetryPolicy;
    load_balance_strategy?: string;
    labels?: Record<string, string>;
    executor?: string;
    unique_key?: string;
    expires_after?: string | number;
    concurrency_max?: number;
    run_at?: string;
    delay?: string | number;
    cron_expression?: string;
    interval?: string | number;
    interval_after_end?: string | number;
    timezone?: string;
    start_at?: string;
    end_at?: string;
    execution_mode?: string;
    misfire_policy?: string;
    enabled?: boolean;
}

// A one-off task is answered with its execution's fields too: both are one record.
export interface Task extends TaskFields {
    id: string;
    type: string;
    queue: string;
    priority: number;
    version: number;
    created_at: string;
    updated_at?: string;
    next_fire_at?: string | null;
    last_fire_at?: string | null;
    fires?: number;
    missed?: number;
    status?: Status;
}

export interface Fires {
    task_id?: string;
    description?: string;
    description_zh?: string;
    fires: string[];
}

// The next fire of a task, and the schedule that it comes from.
export interface ComingFire extends Pick<
    TaskFields,
    'cron_expression' | 'interval' | 'interval_after_end' | 'timezone'
> {
    at: string;
    task_id: string;
    task_name: string;
    type: string;
    queue: string;
}

// Why an attempt or an execution did not succeed.
export interface Failure {
    code: string;
    message: string;
    handler_code?: number;
}

export interface Attempt {
    attempt: number;
    worker_id: string | null;
    started_at: string | null;
    finished_at: string | null;
    status: string;
    error: Failure | null;
}

export interface Execution {
    id: string;
    task_id: string;
    task_name: string;
    type: string;
    queue: string;
    priority: number;
    status: Status;
    origin: 'once' | 'fire' | 'trigger';
    attempt: number;
    failures: number;
    losses: number;
    worker_id: string | null;
    created_at: string;
    scheduled_at: string;
    ready_at: string;
    started_at: string | null;
    finished_at: string | null;
    result: JsonText | null;
    error: Failure | null;
    parameters?: JsonText | null;
    progress?: { percent: number | null; message?: string; at?: string } | null;
    attempts?: Attempt[];
    trace_id?: string | null;
}

export interface LogChunk {
    attempt: number;
    at: string;
    lines: string;
}

export interface Explanation {
    code: string;
    explanation: string;
    values?: Record<string, string | number>;
}

export type WorkerStatus = 'online' | 'offline' | 'draining' | 'maintenance';

export interface Worker {
    id: string;
    name: string;
    status: WorkerStatus;
    status_reason: string;
    link: 'stream' | 'push';
    connected: boolean;
    group: string;
    types: string[];
    queues: string[];
    labels: Record<string, string>;
    capacity: number;
    weight: number;
    running: number;
    address: string;
    version: string;
    joined_at: string;
    seen_at: string;
    load: { cpu?: number; memory?: number; connections?: number };
}

export interface Executor {
    id: string;
    instance_id: string;
    name: string;
    base_url: string;
    status: WorkerStatus;
    status_reason: string;
    types: string[];
    capacity: number;
    weight: number;
    running: number;
    labels: Record<string, string>;
    circuit: 'closed' | 'open' | 'half_open';
    registered_at: string;
    seen_at: string;
}

export interface Queue {
    name: string;
    paused: boolean;
    waiting: number;
    working: number;
    finished: number;
    finished_per_second: number | null; // Null where there are too many queues to tell.
    oldest_wait_seconds: number | null;
    concurrency_max: number | null;
    rate_limit: RateLimit | null;
}

export interface SchedulerNode {
    node_id: string;
    address: string;
    version: string;
    started_at: string;
}

export interface SchedulerStatus {
    node_id: string;
    role: 'follower' | 'loading' | 'leader' | 'stopped';
    is_leader: boolean;
    leader: { node_id: string; address: string; epoch: number } | null;
    epoch: number;
    elections: number;
    version: string;
    started_at: string;
    uptime_seconds: number;
    store: {
        description: string;
        reachable: boolean;
        trouble: string;
        commits: number;
        changes: number;
    };
    nodes?: SchedulerNode[];
}

export interface Metrics {
    tasks_total: number;
    tasks_pending: number;
    tasks_scheduled: number;
    tasks_running: number;
    tasks_retrying: number;
    tasks_completed: number;
    tasks_failed: number;
    tasks_cancelled: number;
    workers_online: number;
    workers_draining: number;
    workers_offline: number;
    worker_utilization: number;
    task_throughput: number;
    scheduler_uptime: number;
    tasks_ready: number[]; // Could start now, by priority.
}

export interface Strategy {
    strategy: string;
    available: string[];
}

export interface Token {
    id: string;
    name: string;
    role: string;
    created_at: string;
    expires_at: string | null;
    last_used_at: string | null;
    token?: string;
}

export interface Sweep {
    matched: number;
    changed: number;
    items: { id: string; status: number; problem?: ProblemFields }[];
    next_cursor: string | null; // Null: the filter matches no more.
}
