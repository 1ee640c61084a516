// Between what a person fills in and what the API takes.
import type { FormRule } from 'antd';
import type { Dayjs } from 'dayjs';
import dayjs from 'dayjs';
import { type JsonText, prettyJson } from '../../api/json';
import type { Task, TaskFields } from '../../api/types';
import type { Translate } from '../../i18n';
import { type Kind, kindOf, recurringKinds } from './schedule';

export interface TaskAnswers {
    name: string;
    type?: string;
    kind: Kind;
    cron_expression?: string;
    interval?: string;
    interval_after_end?: string;
    run_at?: Dayjs;
    delay?: string;
    timezone?: string;
    parameters?: string;
    priority?: number;
    queue?: string;
    max_retry?: number;
    retry_delay?: string;
    timeout_seconds?: string;
    execution_mode?: TaskFields['execution_mode'];
    misfire_policy?: TaskFields['misfire_policy'];
    load_balance_strategy?: string;
    executor?: string;
    labels?: string;
    concurrency_max?: number;
    unique_key?: string;
    expires_after?: string;
}

// Empty text is no value; the rest must be JSON, which the form has checked.
export const jsonOf = (text: string | undefined): JsonText | undefined => text?.trim() || undefined;

export const jsonRule = (t: Translate): FormRule => ({
    validator: async (_, text: string | undefined) => {
        try {
            JSON.parse(jsonOf(text) ?? 'null');
        } catch (error) {
            throw new Error(t('form.badJson', { why: error instanceof Error ? error.message : '' }));
        }
    },
});

// "region=eu, disk=ssd" ↔ {region: "eu", disk: "ssd"}
export const labelsRule = (t: Translate): FormRule => ({
    pattern: /^\s*([^=,]+=[^=,]*)(,\s*[^=,]+=[^=,]*)*\s*$/,
    message: t('form.badLabels'),
});

function parseLabels(text: string | undefined): Record<string, string> | undefined {
    if (!text?.trim()) return undefined;
    return Object.fromEntries(
        text.split(',').map((pair) => {
            const [name = '', value = ''] = pair.split('=');
            return [name.trim(), value.trim()];
        }),
    );
}

const asText = (value: string | number | undefined | null): string | undefined =>
    value === undefined || value === null ? undefined : String(value);

// A number of seconds, or a text such as "1h30m".
const asDuration = (text: string | undefined): string | number | undefined => {
    const trimmed = text?.trim();
    if (!trimmed) return undefined;
    return /^\d+(\.\d+)?$/.test(trimmed) ? Number(trimmed) : trimmed;
};

// As a person edits them.
export const parametersText = ({ parameters }: Task): string => (parameters ? prettyJson(parameters) : '');

export function answersOf(task: Task | undefined): Partial<TaskAnswers> {
    if (!task) return { kind: 'cron', timezone: 'UTC', priority: 5, queue: 'default' };
    return {
        name: task.name,
        type: task.type === task.name ? undefined : task.type,
        kind: kindOf(task),
        cron_expression: task.cron_expression,
        interval: asText(task.interval),
        interval_after_end: asText(task.interval_after_end),
        run_at: task.run_at ? dayjs(task.run_at) : undefined,
        timezone: task.timezone,
        parameters: parametersText(task),
        priority: task.priority,
        queue: task.queue,
        max_retry: task.max_retry,
        retry_delay: asText(task.retry_policy?.delay),
        timeout_seconds: asText(task.timeout_seconds),
        execution_mode: task.execution_mode,
        misfire_policy: task.misfire_policy,
        load_balance_strategy: task.load_balance_strategy,
        executor: task.executor,
        labels: Object.entries(task.labels ?? {})
            .map(([name, value]) => `${name}=${value}`)
            .join(', '),
        concurrency_max: task.concurrency_max,
        unique_key: task.unique_key,
        expires_after: asText(task.expires_after),
    };
}

// The fields of the schedule alone: what a preview needs.
export function scheduleOf(answers: Partial<TaskAnswers>): Partial<TaskFields> {
    switch (answers.kind) {
        case 'cron':
            return {
                cron_expression: answers.cron_expression?.trim(),
                timezone: answers.timezone || undefined,
            };
        case 'interval':
            return { interval: asDuration(answers.interval) };
        case 'interval_after_end':
            return { interval_after_end: asDuration(answers.interval_after_end) };
        case 'run_at':
            return { run_at: answers.run_at?.toISOString() };
        case 'delay':
            return { delay: asDuration(answers.delay) };
        default:
            return {};
    }
}

export function fieldsOf(answers: TaskAnswers): TaskFields {
    const recurring = recurringKinds.includes(answers.kind);
    const delay = asDuration(answers.retry_delay);
    const retry =
        delay === undefined
            ? { max_retry: answers.max_retry ?? undefined }
            : { retry_policy: { max_retries: answers.max_retry ?? undefined, delay } };
    return {
        name: answers.name.trim(),
        type: answers.type?.trim() || undefined,
        ...scheduleOf(answers),
        parameters: jsonOf(answers.parameters),
        priority: answers.priority ?? undefined,
        queue: answers.queue?.trim() || undefined,
        ...retry,
        timeout_seconds: asDuration(answers.timeout_seconds),
        load_balance_strategy: answers.load_balance_strategy || undefined,
        executor: answers.executor?.trim() || undefined,
        labels: parseLabels(answers.labels),
        concurrency_max: answers.concurrency_max ?? undefined,
        expires_after: asDuration(answers.expires_after),
        ...(recurring
            ? {
                  execution_mode: answers.execution_mode || undefined,
                  misfire_policy: answers.misfire_policy || undefined,
              }
            : { unique_key: answers.unique_key?.trim() || undefined }),
    };
}

// What to send so that a task becomes as filled in: changed fields, and null for those that were emptied.
export function changesOf(before: Task, answers: TaskAnswers): Record<string, unknown> {
    const was = fieldsOf(answersOf(before) as TaskAnswers) as unknown as Record<string, unknown>;
    const is = fieldsOf(answers) as unknown as Record<string, unknown>;
    const changes: Record<string, unknown> = {};
    for (const key of new Set([...Object.keys(was), ...Object.keys(is)])) {
        if (JSON.stringify(was[key]) !== JSON.stringify(is[key])) changes[key] = is[key] ?? null;
    }
    // What the form does not show of a retry policy is not sent, and stays as it is.
    if ('max_retry' in changes || 'retry_policy' in changes) {
        const delay = asDuration(answers.retry_delay);
        delete changes.max_retry;
        changes.retry_policy = { max_retries: answers.max_retry ?? null, delay: delay ?? null };
    }
    return changes;
}
