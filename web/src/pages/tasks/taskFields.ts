// Between what a person fills in and what the API takes.
import type { Dayjs } from 'dayjs';
import dayjs from 'dayjs';
import { prettyJson } from '../../api/json';
import type { Task, TaskFields } from '../../api/types';
import { asDuration, asText, jsonOf, locksOf, locksText, pairsOf, pairsText } from './fieldTexts';
import { type Kind, kindOf, recurringKinds } from './schedule';

export interface TaskAnswers {
    id?: string;
    name: string;
    type?: string;
    kind: Kind;
    cron_expression?: string;
    interval?: string;
    interval_after_end?: string;
    run_at?: Dayjs;
    delay?: string;
    timezone?: string;
    dst?: TaskFields['dst'];
    start_at?: Dayjs;
    end_at?: Dayjs;
    fires_max?: number;
    jitter?: string;
    excluded_dates?: string[];
    parameters?: string;
    priority?: number;
    queue?: string;
    max_retry?: number;
    retry_delay?: string;
    retry_backoff?: number;
    retry_delay_max?: string;
    retry_jitter?: number;
    timeout_seconds?: string;
    execution_mode?: TaskFields['execution_mode'];
    backlog_max?: number;
    misfire_policy?: TaskFields['misfire_policy'];
    misfires_max?: number;
    start_deadline?: string;
    catch_up_after_pause?: boolean;
    load_balance_strategy?: string;
    executor?: string;
    labels?: string;
    metadata?: string;
    concurrency_max?: number;
    concurrency_key?: string;
    rate_count?: number;
    rate_per?: string;
    locks?: string;
    unique_key?: string;
    unique_for?: string;
    expires_after?: string;
}

// As a person edits them.
export const parametersText = ({ parameters }: Pick<Task, 'parameters'>): string =>
    parameters ? prettyJson(parameters) : '';

const ownZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC';
const timeOf = (text: string | undefined) => (text ? dayjs(text) : undefined);

export const newAnswers = (): Partial<TaskAnswers> => ({
    kind: 'cron',
    timezone: ownZone(),
    priority: 5,
    queue: 'default',
});

export function answersOf(task: Task): Partial<TaskAnswers> {
    return {
        name: task.name,
        type: task.type === task.name ? undefined : task.type,
        kind: kindOf(task),
        cron_expression: task.cron_expression,
        interval: asText(task.interval),
        interval_after_end: asText(task.interval_after_end),
        run_at: timeOf(task.run_at),
        timezone: task.timezone,
        dst: task.dst,
        start_at: timeOf(task.start_at),
        end_at: timeOf(task.end_at),
        fires_max: task.fires_max,
        jitter: asText(task.jitter),
        excluded_dates: task.excluded_dates,
        parameters: parametersText(task),
        priority: task.priority,
        queue: task.queue,
        max_retry: task.max_retry,
        retry_delay: asText(task.retry_policy?.delay),
        retry_backoff: task.retry_policy?.backoff_rate,
        retry_delay_max: asText(task.retry_policy?.delay_max),
        retry_jitter: task.retry_policy?.jitter,
        timeout_seconds: asText(task.timeout_seconds),
        execution_mode: task.execution_mode,
        backlog_max: task.backlog_max,
        misfire_policy: task.misfire_policy,
        misfires_max: task.misfires_max,
        start_deadline: asText(task.start_deadline),
        catch_up_after_pause: task.catch_up_after_pause,
        load_balance_strategy: task.load_balance_strategy,
        executor: task.executor,
        labels: pairsText(task.labels),
        metadata: pairsText(task.metadata),
        concurrency_max: task.concurrency_max,
        concurrency_key: task.concurrency_key,
        rate_count: task.rate_limit?.count,
        rate_per: asText(task.rate_limit?.per),
        locks: locksText(task.locks),
        unique_key: task.unique_key,
        unique_for: asText(task.unique_for),
        expires_after: asText(task.expires_after),
    };
}

// When it first runs, or again and again, without what bounds that.
function timesOf(answers: Partial<TaskAnswers>): Partial<TaskFields> {
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

// All fields that say when it fires: what a preview needs.
export function scheduleOf(answers: Partial<TaskAnswers>): Partial<TaskFields> {
    const times = timesOf(answers);
    if (!answers.kind || !recurringKinds.includes(answers.kind)) return times;
    const excluded = answers.excluded_dates?.length ? answers.excluded_dates : undefined;
    return {
        ...times,
        // Days without fires are those of a zone, also where the fires themselves need none.
        timezone: answers.kind === 'cron' || excluded ? answers.timezone || undefined : undefined,
        dst: answers.kind === 'cron' ? answers.dst || undefined : undefined,
        start_at: answers.start_at?.toISOString(),
        end_at: answers.end_at?.toISOString(),
        fires_max: answers.fires_max ?? undefined,
        jitter: asDuration(answers.jitter),
        excluded_dates: excluded,
    };
}

// Null where nothing was said of it: then the scheduler's own counts.
function retryOf(answers: TaskAnswers): Pick<TaskFields, 'max_retry' | 'retry_policy'> {
    const policy = {
        max_retries: answers.max_retry ?? undefined,
        delay: asDuration(answers.retry_delay),
        backoff_rate: answers.retry_backoff ?? undefined,
        delay_max: asDuration(answers.retry_delay_max),
        jitter: answers.retry_jitter ?? undefined,
    };
    const { max_retries, ...rest } = policy;
    if (Object.values(rest).every((value) => value === undefined)) return { max_retry: max_retries };
    return { retry_policy: policy };
}

const rateOf = ({ rate_count, rate_per }: TaskAnswers): TaskFields['rate_limit'] =>
    rate_count ? { count: rate_count, per: asDuration(rate_per) ?? '1s' } : undefined;

export function fieldsOf(answers: TaskAnswers): TaskFields {
    const recurring = recurringKinds.includes(answers.kind);
    const text = (value: string | undefined) => value?.trim() || undefined;
    return {
        id: text(answers.id),
        name: answers.name.trim(),
        type: text(answers.type),
        ...scheduleOf(answers),
        parameters: jsonOf(answers.parameters),
        priority: answers.priority ?? undefined,
        queue: text(answers.queue),
        ...retryOf(answers),
        timeout_seconds: asDuration(answers.timeout_seconds),
        load_balance_strategy: answers.load_balance_strategy || undefined,
        executor: text(answers.executor),
        labels: pairsOf(answers.labels),
        metadata: pairsOf(answers.metadata),
        concurrency_max: answers.concurrency_max ?? undefined,
        concurrency_key: text(answers.concurrency_key),
        rate_limit: rateOf(answers),
        locks: locksOf(answers.locks),
        expires_after: asDuration(answers.expires_after),
        ...(recurring
            ? {
                  execution_mode: answers.execution_mode || undefined,
                  backlog_max: answers.backlog_max ?? undefined,
                  misfire_policy: answers.misfire_policy || undefined,
                  misfires_max: answers.misfires_max ?? undefined,
                  start_deadline: asDuration(answers.start_deadline),
                  catch_up_after_pause: answers.catch_up_after_pause || undefined,
              }
            : { unique_key: text(answers.unique_key), unique_for: asDuration(answers.unique_for) }),
    };
}

// What to send so that a task becomes as filled in: changed fields, and null for those that were emptied.
export function changesOf(before: Task, answers: TaskAnswers): Record<string, unknown> {
    const first = answersOf(before) as TaskAnswers;
    const was = fieldsOf(first) as unknown as Record<string, unknown>;
    const is = fieldsOf({ ...answers, id: undefined }) as unknown as Record<string, unknown>;
    const changes: Record<string, unknown> = {};
    for (const key of new Set([...Object.keys(was), ...Object.keys(is)])) {
        if (JSON.stringify(was[key]) !== JSON.stringify(is[key])) changes[key] = is[key] ?? null;
    }
    // Whatever was emptied of a retry policy goes back to the scheduler's own; the rest stays as it is filled in.
    if ('max_retry' in changes || 'retry_policy' in changes) {
        delete changes.max_retry;
        changes.retry_policy = {
            max_retries: answers.max_retry ?? null,
            delay: asDuration(answers.retry_delay) ?? null,
            backoff_rate: answers.retry_backoff ?? null,
            delay_max: asDuration(answers.retry_delay_max) ?? null,
            jitter: answers.retry_jitter ?? null,
        };
    }
    return changes;
}
