// The shapes of the REST API. Made from the program: takt openapi | node web/types.mjs
import type { JsonText } from './json';

export interface Problem {
    type: string;
    title: string;
    status: number;
    code: string;
    detail: string;
    field?: string;
    request_id?: string;
}

export interface Task {
    id: string;
    name: string;
    type: string;
    queue: string;
    priority: number;
    parameters: JsonText | null;
    timeout_seconds?: number;
    max_retry?: number;
    retry_policy?: {
        max_retries: number;
        delay: string;
        backoff_rate: number;
        delay_max: string;
        jitter: number;
    };
    load_balance_strategy?:
        | 'least_tasks'
        | 'round_robin'
        | 'weighted_round_robin'
        | 'random'
        | 'consistent_hash'
        | 'least_connections'
        | 'capacity_based'
        | 'sticky'
        | 'resource_aware'
        | string;
    metadata?: Record<string, string>;
    labels?: Record<string, string>;
    executor?: string;
    expires_after?: string;
    concurrency_key?: string;
    concurrency_max?: number;
    rate_limit?: {
        count: number;
        per: string;
    };
    run_at?: string;
    delay?: string;
    unique_key?: string;
    unique_for?: string;
    traceparent?: string;
    tracestate?: string;
    cron_expression?: string;
    interval?: string;
    interval_after_end?: string;
    timezone?: string;
    dst?: 'once' | 'skip' | 'twice';
    start_at?: string;
    end_at?: string;
    fires_max?: number;
    jitter?: string;
    excluded_dates?: string[];
    execution_mode?: 'sequential' | 'parallel' | 'skip' | 'replace';
    misfire_policy?: 'fire_once' | 'fire_all' | 'skip';
    misfires_max?: number;
    backlog_max?: number;
    start_deadline?: string;
    catch_up_after_pause?: boolean;
    enabled?: boolean;
    version: number;
    created_at?: string;
    updated_at?: string;
    next_fire_at?: string | null;
    last_fire_at?: string | null;
    fires?: number;
    missed?: number;
    status?:
        'pending' | 'scheduled' | 'running' | 'retrying' | 'success' | 'failed' | 'cancelled' | 'skipped';
    origin?: 'once' | 'fire' | 'trigger';
    attempt?: number;
    failures?: number;
    losses?: number;
    worker_id?: string | null;
    scheduled_at?: string;
    ready_at?: string;
    started_at?: string | null;
    finished_at?: string | null;
    result?: JsonText | null;
    error?: {
        code: string;
        message: string;
        handler_code?: number;
    } | null;
}

export interface TaskRequest {
    id?: string;
    name: string;
    type?: string;
    queue?: string;
    priority?: number | 'low' | 'normal' | 'high' | 'urgent';
    parameters?: JsonText | null;
    payload?: JsonText | null;
    timeout_seconds?: string | number;
    timeout?: string | number;
    max_retry?: number;
    retry_policy?: {
        max_retries?: number | null;
        delay?: string | number | null;
        backoff_rate?: number | null;
        delay_max?: string | number | null;
        jitter?: number | null;
    };
    load_balance_strategy?:
        | 'least_tasks'
        | 'round_robin'
        | 'weighted_round_robin'
        | 'random'
        | 'consistent_hash'
        | 'least_connections'
        | 'capacity_based'
        | 'sticky'
        | 'resource_aware'
        | 'least_loaded'
        | 'least_load'
        | 'weighted'
        | string;
    metadata?: Record<string, string>;
    labels?: Record<string, string>;
    executor?: string;
    expires_after?: string | number;
    concurrency_key?: string;
    concurrency_max?: number;
    rate_limit?: {
        count?: number;
        per?: string | number;
    };
    run_at?: string;
    delay?: string | number;
    unique_key?: string;
    unique_for?: string | number;
    traceparent?: string;
    tracestate?: string;
    cron_expression?: string;
    cron?: string;
    interval?: string | number;
    every?: string | number;
    interval_after_end?: string | number;
    every_after_end?: string | number;
    timezone?: string;
    dst?: 'once' | 'skip' | 'twice';
    start_at?: string;
    end_at?: string;
    fires_max?: number;
    jitter?: string | number;
    excluded_dates?: string[];
    execution_mode?: 'sequential' | 'parallel' | 'skip' | 'replace';
    misfire_policy?: 'fire_once' | 'fire_all' | 'skip';
    misfires_max?: number;
    backlog_max?: number;
    start_deadline?: string | number;
    catch_up_after_pause?: boolean;
    enabled?: boolean;
    version?: number;
    created_at?: string;
    updated_at?: string;
    next_fire_at?: string | null;
    last_fire_at?: string | null;
    fires?: number;
    missed?: number;
}

export interface TaskChange {
    id?: string | null;
    name?: string | null;
    type?: string | null;
    queue?: string | null;
    priority?: number | 'low' | 'normal' | 'high' | 'urgent' | null;
    parameters?: JsonText | null | null;
    payload?: JsonText | null | null;
    timeout_seconds?: string | number | null;
    timeout?: string | number | null;
    max_retry?: number | null;
    retry_policy?: {
        max_retries?: number | null;
        delay?: string | number | null;
        backoff_rate?: number | null;
        delay_max?: string | number | null;
        jitter?: number | null;
    } | null;
    load_balance_strategy?:
        | 'least_tasks'
        | 'round_robin'
        | 'weighted_round_robin'
        | 'random'
        | 'consistent_hash'
        | 'least_connections'
        | 'capacity_based'
        | 'sticky'
        | 'resource_aware'
        | 'least_loaded'
        | 'least_load'
        | 'weighted'
        | string
        | null;
    metadata?: Record<string, string> | null;
    labels?: Record<string, string> | null;
    executor?: string | null;
    expires_after?: string | number | null;
    concurrency_key?: string | null;
    concurrency_max?: number | null;
    rate_limit?: {
        count?: number;
        per?: string | number;
    } | null;
    run_at?: string | null;
    delay?: string | number | null;
    unique_key?: string | null;
    unique_for?: string | number | null;
    traceparent?: string | null;
    tracestate?: string | null;
    cron_expression?: string | null;
    cron?: string | null;
    interval?: string | number | null;
    every?: string | number | null;
    interval_after_end?: string | number | null;
    every_after_end?: string | number | null;
    timezone?: string | null;
    dst?: 'once' | 'skip' | 'twice' | null;
    start_at?: string | null;
    end_at?: string | null;
    fires_max?: number | null;
    jitter?: string | number | null;
    excluded_dates?: string[] | null;
    execution_mode?: 'sequential' | 'parallel' | 'skip' | 'replace' | null;
    misfire_policy?: 'fire_once' | 'fire_all' | 'skip' | null;
    misfires_max?: number | null;
    backlog_max?: number | null;
    start_deadline?: string | number | null;
    catch_up_after_pause?: boolean | null;
    enabled?: boolean | null;
    version?: number;
    created_at?: string;
    updated_at?: string;
    next_fire_at?: string | null;
    last_fire_at?: string | null;
    fires?: number;
    missed?: number;
}

export interface TaskList {
    items: Task[];
    next_cursor: string | null;
}

export interface Preview {
    cron_expression?: string | null;
    cron?: string | null;
    interval?: string | number | null;
    every?: string | number | null;
    interval_after_end?: string | number | null;
    every_after_end?: string | number | null;
    timezone?: string | null;
    dst?: 'once' | 'skip' | 'twice' | null;
    start_at?: string | null;
    end_at?: string | null;
    fires_max?: number | null;
    jitter?: string | number | null;
    excluded_dates?: string[] | null;
    execution_mode?: 'sequential' | 'parallel' | 'skip' | 'replace' | null;
    misfire_policy?: 'fire_once' | 'fire_all' | 'skip' | null;
    misfires_max?: number | null;
    backlog_max?: number | null;
    start_deadline?: string | number | null;
    catch_up_after_pause?: boolean | null;
    enabled?: boolean | null;
    count?: number;
    after?: string;
}

export interface Fires {
    task_id?: string;
    description?: string;
    description_zh?: string;
    fires: string[];
}

export interface BulkAnswer {
    created: number;
    existing: number;
    failed: number;
    items: {
        id?: string;
        status: number;
        problem?: Problem;
    }[];
}

export interface Trigger {
    parameters?: JsonText | null;
    payload?: JsonText | null;
    force?: boolean;
}

export interface Execution {
    id: string;
    task_id: string;
    task_name: string;
    type: string;
    queue: string;
    priority: number;
    status: 'pending' | 'scheduled' | 'running' | 'retrying' | 'success' | 'failed' | 'cancelled' | 'skipped';
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
    result?: JsonText | null;
    error: {
        code: string;
        message: string;
        handler_code?: number;
    } | null;
    parameters?: JsonText | null;
    progress?: {
        percent: number | null;
        message: string;
        at: string | null;
    } | null;
    attempts?: {
        attempt: number;
        worker_id: string | null;
        started_at: string | null;
        finished_at: string | null;
        status: string;
        error: {
            code: string;
            message: string;
            handler_code?: number;
        } | null;
    }[];
    trace_id?: string | null;
}

export interface ExecutionList {
    items: Execution[];
    next_cursor: string | null;
}

export interface LogChunk {
    attempt: number;
    at: string;
    lines: string;
}

export interface Log {
    items: LogChunk[];
    next_cursor: string | null;
}

export interface Explanation {
    execution_id?: string;
    task_id?: string;
    queue?: string;
    worker_id?: string;
    code: string;
    explanation: string;
    values: Record<string, string | number>;
}

export interface ExecutionFilter {
    task_id?: string;
    status?: string;
    worker_id?: string;
    type?: string;
    queue?: string;
    from?: string;
    to?: string;
    limit?: number;
    cursor?: string;
}

export interface Reason {
    reason?: string;
}

export interface Conclusion {
    status: 'success' | 'failed' | 'cancelled';
    message?: string;
    result?: JsonText | null;
}

export interface SweepAnswer {
    matched: number;
    changed: number;
    more: boolean;
    items: {
        id?: string;
        status: number;
        problem?: Problem;
    }[];
    next_cursor: string | null;
}

export interface Worker {
    id: string;
    name: string;
    status: 'online' | 'offline' | 'draining' | 'maintenance';
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
    joined_at: string | null;
    seen_at: string | null;
    load: {
        cpu: number;
        memory: number;
        network_in: number;
        network_out: number;
        connections: number;
    };
}

export interface WorkerList {
    items: Worker[];
    next_cursor: string | null;
}

export interface CallbackAnswer {
    execution_id: string;
    accepted: boolean;
    status?: 'success' | 'failed';
}

export interface Executor {
    id: string;
    instance_id: string;
    name: string;
    base_url: string;
    health_check_url: string;
    tasks?: {
        task_id: string;
        task_name: string;
    }[];
    types: string[];
    capacity: number;
    weight: number;
    labels: Record<string, string>;
    status: 'online' | 'offline' | 'draining' | 'maintenance';
    status_reason: string;
    running: number;
    circuit?: 'closed' | 'open' | 'half_open';
    health?: {
        checked: boolean;
        failures: number;
        last_failure: string;
    };
    registered_at: string | null;
    seen_at: string | null;
}

export interface ExecutorList {
    items: Executor[];
    next_cursor: string | null;
}

export interface ExecutorStatus {
    status: 'online' | 'maintenance' | 'offline';
    reason?: string | null;
}

export interface Queue {
    name: string;
    paused: boolean;
    waiting: number;
    working: number;
    finished: number;
    finished_per_second: number | null;
    oldest_wait_seconds: number | null;
    concurrency_max: number | null;
    rate_limit: {
        count: number;
        per: string;
    } | null;
}

export interface QueueList {
    items: Queue[];
    next_cursor: string | null;
}

export interface QueueLimits {
    paused?: boolean;
    concurrency_max?: number | null;
    rate_limit?: {
        count?: number;
        per?: string | number;
    } | null;
}

export interface SchedulerStatus {
    node_id: string;
    role: 'follower' | 'loading' | 'leader' | 'stopped';
    is_leader: boolean;
    leader: {
        node_id: string;
        address: string;
        epoch: number;
    } | null;
    epoch: number;
    elections: number;
    version: string;
    started_at: string | null;
    uptime_seconds: number;
    store: {
        description: string;
        reachable: boolean;
        trouble: string;
        commits: number;
        changes: number;
    };
    nodes?: {
        node_id: string;
        address: string;
        version: string;
        started_at: string | null;
    }[];
}

export interface Strategy {
    strategy: string;
    available: string[];
}

export interface ComingFire {
    at: string;
    task_id: string;
    task_name: string;
    type: string;
    queue: string;
    cron_expression?: string;
    interval?: string;
    interval_after_end?: string;
    timezone: string;
}

export interface ComingFireList {
    items: ComingFire[];
    next_cursor: string | null;
}

export interface Health {
    status: string;
}

export interface Version {
    name: string;
    version: string;
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
    tasks_ready: number[];
}

export interface StrategyChoice {
    strategy: string | null;
}

export interface Alert {
    id: string;
    rule: string;
    severity: 'info' | 'warning' | 'critical';
    state: 'pending' | 'firing' | 'resolved';
    metric: string;
    operator: '>' | '>=' | '<' | '<=' | '==' | '!=';
    threshold: number;
    value: number | null;
    subject: string;
    message: string;
    pending_at: string | null;
    firing_at: string | null;
    resolved_at: string | null;
    acknowledged: {
        by: string;
        at: string;
        note: string;
    } | null;
    silenced_until: string | null;
}

export interface AlertList {
    items: Alert[];
    next_cursor: string | null;
}

export interface AlertMetric {
    name: string;
    unit: string;
    help: string;
    subject: '' | 'task' | 'worker' | 'queue';
}

export interface AlertMetricList {
    items: AlertMetric[];
    next_cursor: string | null;
}

export interface AlertChannel {
    name: string;
    kind: 'log' | 'webhook' | 'email';
    target: string;
    waiting: number;
    last_delivery: {
        at: string;
        ok: boolean;
        error: string;
    } | null;
}

export interface AlertChannelList {
    items: AlertChannel[];
    next_cursor: string | null;
}

export interface AlertChannelTest {
    ok: boolean;
    error: string;
}

export interface AlertNote {
    note?: string | null;
}

export interface AlertRulePut {
    name?: string;
    description?: string;
    metric: string;
    operator: '>' | '>=' | '<' | '<=' | '==' | '!=';
    threshold: number;
    duration?: string | number;
    severity?: 'info' | 'warning' | 'critical';
    enabled?: boolean;
    channels?: string[];
}

export interface AlertRule {
    name: string;
    description: string;
    metric: string;
    operator: '>' | '>=' | '<' | '<=' | '==' | '!=';
    threshold: number;
    duration: string;
    severity: 'info' | 'warning' | 'critical';
    enabled: boolean;
    channels: string[];
    builtin: boolean;
    silenced_until: string | null;
    state: 'ok' | 'pending' | 'firing';
    value: number | null;
}

export interface AlertRuleList {
    items: AlertRule[];
    next_cursor: string | null;
}

export interface AlertSilence {
    duration: string | number;
}

export interface StatisticsLine {
    key: string;
    name: string;
    total: number;
    success: number;
    failed: number;
    cancelled: number;
    skipped: number;
    missed: number;
    retries: number;
    success_rate: number | null;
    duration: {
        avg_ms: number | null;
        p50_ms: number | null;
        p95_ms: number | null;
        p99_ms: number | null;
        max_ms: number | null;
    };
    wait: {
        avg_ms: number | null;
        p95_ms: number | null;
    };
}

export interface Statistics {
    items: StatisticsLine[];
    next_cursor: string | null;
}

export interface SeriesPoint {
    at: string;
    submitted: number;
    completed: number;
    failed: number;
    retries: number;
    running: number;
    pending: number;
    wait_p50_ms: number | null;
    wait_p99_ms: number | null;
    run_p50_ms: number | null;
    run_p99_ms: number | null;
}

export interface Series {
    step: string;
    items: SeriesPoint[];
}

export interface TokenRequest {
    name: string;
    role: 'viewer' | 'operator' | 'admin' | 'worker' | 'executor';
    expires_in?: string | number;
}

export interface Token {
    id: string;
    name: string;
    role: 'viewer' | 'operator' | 'admin' | 'worker' | 'executor';
    created_at: string | null;
    expires_at: string | null;
    last_used_at: string | null;
}

export interface NewToken {
    id: string;
    name: string;
    role: 'viewer' | 'operator' | 'admin' | 'worker' | 'executor';
    created_at: string | null;
    expires_at: string | null;
    last_used_at: string | null;
    token: string;
}

export interface TokenList {
    items: Token[];
    next_cursor: string | null;
}
