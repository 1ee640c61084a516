// What the API answers about alerts and statistics.

export type Severity = 'info' | 'warning' | 'critical';
export type AlertState = 'ok' | 'pending' | 'firing' | 'resolved';

export const operators = ['>', '>=', '<', '<=', '==', '!='] as const;
export type Operator = (typeof operators)[number];

export interface Alert {
    id: string;
    rule: string;
    severity: Severity;
    state: AlertState;
    metric: string;
    operator: Operator;
    threshold: number;
    value: number | null;
    subject: string;
    message: string;
    pending_at: string;
    firing_at: string | null;
    resolved_at: string | null;
    acknowledged: { by: string; at: string; note?: string } | null;
    silenced_until: string | null;
}

export interface AlertRule {
    name: string;
    description: string;
    metric: string;
    operator: Operator;
    threshold: number;
    duration: string;
    severity: Severity;
    enabled: boolean;
    builtin: boolean;
    channels: string[];
    silenced_until: string | null;
    state: AlertState;
    value: number | null;
}

export type AlertRuleFields = Pick<
    AlertRule,
    'description' | 'metric' | 'operator' | 'threshold' | 'duration' | 'severity' | 'enabled'
> & { channels?: string[] }; // Absent: every channel.

export interface AlertMetric {
    name: string;
    unit: string;
    help: string;
}

export interface AlertChannel {
    name: string;
    kind: 'log' | 'webhook' | 'email';
    target: string;
    last_delivery: { at: string; ok: boolean; error?: string } | null;
}

export interface Statistic {
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
    // Null where nothing has run.
    duration: Record<'avg_ms' | 'p50_ms' | 'p95_ms' | 'p99_ms' | 'max_ms', number | null>;
    wait: Record<'avg_ms' | 'p95_ms', number | null>;
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
