// The one place that talks to the REST API. Every call answers what the server answered, or throws a
// Problem that says what went wrong.
import type {
    Alert,
    AlertChannel,
    AlertChannelPut,
    AlertMetric,
    AlertRule,
    AlertRuleFields,
    QueueHistory,
    Series,
    Statistic,
} from './observe';
import { type JsonText, readJson, writeJson } from './json';
import { addressOf } from './space';
import { token } from './token';
import type {
    AuditEntry,
    Backfill,
    BackfillRequest,
    ComingFire,
    Defaults,
    Execution,
    ExecutionCounts,
    Executor,
    Explanation,
    Fires,
    LogChunk,
    Me,
    Metrics,
    Page,
    Namespace,
    NamespaceFields,
    ProblemFields,
    Lock,
    Queue,
    RunSteps,
    SchedulerStatus,
    Status,
    Strategy,
    Sweep,
    Task,
    TaskFields,
    TaskValidation,
    Token,
    Worker,
} from './types';

// Without a word of an answer. Longer than the server lets a change wait for its store.
const timeoutMs = 20_000;

export class Problem extends Error {
    constructor(
        readonly status: number, // 0: no answer came.
        readonly code: string,
        detail: string,
        readonly field = '',
        readonly requestId = '',
    ) {
        super(detail);
    }

    // The server does not have this address: it is older than this console, or built without.
    get notOffered(): boolean {
        return this.status === 404 && this.code === 'no_route';
    }
}

export const unreachable = (): Problem => new Problem(0, 'unreachable', '');

export const asProblem = (error: unknown): Problem =>
    error instanceof Problem ? error : new Problem(0, 'unreadable', String(error));

export const problemFrom = (status: number, body: ProblemFields, otherwise = ''): Problem =>
    new Problem(status, body.code ?? '', body.detail ?? body.title ?? otherwise, body.field, body.request_id);

export async function readProblem(response: Response): Promise<Problem> {
    const body = (await response.json().catch(() => ({}))) as ProblemFields;
    return problemFrom(response.status, body, `${response.status} ${response.statusText}`);
}

export type Query = Record<string, string | number | boolean | undefined | null>;

export function withQuery(path: string, query: Query = {}): string {
    const pairs = Object.entries(query).filter(
        ([, value]) => value !== undefined && value !== null && value !== '',
    );
    if (pairs.length === 0) return path;
    return `${path}?${new URLSearchParams(pairs.map(([key, value]) => [key, String(value)]))}`;
}

export function authorization(text: string): Record<string, string> {
    return text ? { Authorization: `Bearer ${text}` } : {};
}

// Turns the refusal of a call that was sent with the token `used` into a Problem, and asks for a token where
// one is missing.
export async function problemOf(response: Response, used: string): Promise<Problem> {
    const problem = await readProblem(response);
    if (response.status === 401) token.refuse(used);
    return problem;
}

interface Options {
    query?: Query;
    body?: object;
    text?: string; // JSON that is sent as it is, instead of a body.
    headers?: Record<string, string>;
    signal?: AbortSignal;
    within?: string; // Another namespace than that of the page.
}

async function send(method: string, path: string, options: Options = {}): Promise<Response> {
    const used = token.get();
    const gaveUp = new AbortController();
    const giveUp = () => gaveUp.abort(unreachable());
    let timer = setTimeout(giveUp, timeoutMs);
    options.signal?.addEventListener('abort', () => gaveUp.abort());
    try {
        const response = await fetch(withQuery(path, options.query), {
            method,
            headers: {
                Accept: 'application/json',
                ...(options.body === undefined && options.text === undefined
                    ? {}
                    : { 'Content-Type': 'application/json' }),
                ...authorization(used),
                ...options.headers,
            },
            body: options.text ?? (options.body && writeJson(options.body)),
            signal: gaveUp.signal,
        });
        if (!response.ok) throw await problemOf(response, used);
        // A Response with that status takes no body, not even the empty one that Chromium gives.
        if (response.status === 204 || !response.body) {
            clearTimeout(timer);
            return response;
        }
        // A server that freezes in the middle of its answer would be waited for as long as the page is open.
        const body = response.body.pipeThrough(
            new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
                transform: (piece, to) => {
                    clearTimeout(timer);
                    timer = setTimeout(giveUp, timeoutMs);
                    to.enqueue(piece);
                },
                flush: () => clearTimeout(timer),
            }),
        );
        return new Response(body, response);
    } catch (error) {
        clearTimeout(timer);
        if (error instanceof Problem || options.signal?.aborted) throw error;
        throw unreachable();
    }
}

async function call<T>(method: string, path: string, options?: Options): Promise<T> {
    const response = await send(method, addressOf(path, options?.within), options);
    return response.status === 204 ? (undefined as T) : readJson<T>(await response.text());
}

const id = encodeURIComponent;

// A change is made to what was seen, or to nothing at all: never over somebody else's.
const onlyIf = (version: number | undefined): Record<string, string> =>
    version === undefined ? { 'If-None-Match': '*' } : { 'If-Match': `"${version}"` };

export interface ExecutionFilter {
    task_id?: string;
    parent_id?: string; // The run that they are a part of.
    status?: string;
    worker_id?: string;
    type?: string;
    queue?: string;
    search?: string; // In names, ids, metadata, errors and values of parameters.
    metadata?: string; // name=value
    parameters?: string; // path=value
    from?: string;
    to?: string;
}

export interface TaskFilter {
    search?: string;
    type?: string;
    queue?: string;
    state?: string;
}

export interface AuditFilter {
    who?: string;
    action?: string;
    target?: string;
    outcome?: string;
    since?: string;
    until?: string;
    cursor?: string;
}

export type SweepQuery = ExecutionFilter & { limit?: number; cursor?: string };

export interface StatisticsQuery {
    by: string;
    from?: string;
    to?: string;
    task_id?: string;
    type?: string;
}

type Signal = AbortSignal | undefined;

export const api = {
    version: () => send('GET', '/version').then((r) => r.json() as Promise<{ version: string }>),
    me: (signal?: Signal) => call<Me>('GET', 'me', { signal }),
    audit: (query: AuditFilter & { limit: number }, signal?: Signal) =>
        call<Page<AuditEntry>>('GET', 'audit', { query: { ...query }, signal }),
    auditLines: (query: AuditFilter) =>
        send('GET', addressOf('audit'), { query: { ...query, format: 'jsonl' } }).then((response) =>
            response.blob(),
        ),
    status: (signal?: Signal) => call<SchedulerStatus>('GET', 'scheduler/status', { signal }),
    metrics: (signal?: Signal) => call<Metrics>('GET', 'metrics', { signal }),

    tasks: (query: TaskFilter & { limit?: number; cursor?: string }, signal?: Signal) =>
        call<Page<Task>>('GET', 'tasks', { query: { ...query }, signal }),
    task: (task: string, signal?: Signal) => call<Task>('GET', `tasks/${id(task)}`, { signal }),
    createTask: (fields: TaskFields) => call<Task>('POST', 'tasks', { body: fields }),
    createTaskText: (text: string) => call<Task>('POST', 'tasks', { text }),
    putTaskText: (task: string, version: number, text: string) =>
        call<Task>('PUT', `tasks/${id(task)}`, { text, headers: { 'If-Match': `"${version}"` } }),
    // Each mistake with its place, "steps[2].after[0]".
    validateTask: (text: string, signal?: Signal) =>
        call<TaskValidation>('POST', 'tasks/validate', { text, signal }),
    changeTask: (task: string, version: number, fields: Record<string, unknown>) =>
        call<Task>('PATCH', `tasks/${id(task)}`, {
            body: fields,
            headers: { 'If-Match': `"${version}"` },
        }),
    deleteTask: (task: string) => call<Task>('DELETE', `tasks/${id(task)}`),
    pauseTask: (task: string) => call<Task>('POST', `tasks/${id(task)}/pause`),
    resumeTask: (task: string) => call<Task>('POST', `tasks/${id(task)}/resume`),
    triggerTask: (task: string, body: { parameters?: JsonText; force?: boolean }) =>
        call<Execution>('POST', `tasks/${id(task)}/trigger`, { body }),
    backfill: (task: string, body: BackfillRequest) =>
        call<Backfill>('POST', `tasks/${id(task)}/backfill`, { body }),
    comingFires: (limit: number, signal?: Signal) =>
        call<Page<ComingFire>>('GET', 'scheduler/fires', { query: { limit }, signal }),
    fires: (task: string, count: number, signal?: Signal) =>
        call<Fires>('GET', `tasks/${id(task)}/fires`, { query: { count }, signal }),
    preview: (fields: Record<string, unknown>, signal?: Signal) =>
        call<Fires>('POST', 'tasks/preview', { body: fields, signal }),

    executions: (query: ExecutionFilter & { limit?: number; cursor?: string }, signal?: Signal) =>
        call<Page<Execution>>('GET', 'executions', { query: { ...query }, signal }),
    executionCounts: (query: ExecutionFilter, signal?: Signal) =>
        call<ExecutionCounts>('GET', 'execution-counts', { query: { ...query }, signal }),
    execution: (execution: string, signal?: Signal) =>
        call<Execution>('GET', `executions/${id(execution)}`, { signal }),
    explain: (execution: string, signal?: Signal) =>
        call<Explanation>('GET', `executions/${id(execution)}/explain`, { signal }),
    explainQueue: (name: string, signal?: Signal) =>
        call<Explanation>('GET', `queues/${id(name)}/explain`, { signal }),
    explainWorker: (worker: string, signal?: Signal) =>
        call<Explanation>('GET', `workers/${id(worker)}/explain`, { signal }),
    explainTask: (task: string, signal?: Signal) =>
        call<Explanation>('GET', `tasks/${id(task)}/explain`, { signal }),
    log: (execution: string, cursor: string | undefined, signal?: Signal) =>
        call<Page<LogChunk>>('GET', `executions/${id(execution)}/log`, {
            query: { cursor, limit: 1000 },
            signal,
        }),
    cancelExecution: (execution: string) => call<Execution>('POST', `executions/${id(execution)}/cancel`),
    // Of a run: what has no success, or these steps and all after them.
    retryExecution: (execution: string, steps?: string[]) =>
        call<Execution>('POST', `executions/${id(execution)}/retry`, { body: steps ? { steps } : {} }),
    steps: (run: string, signal?: Signal) => call<RunSteps>('GET', `executions/${id(run)}/steps`, { signal }),
    cancelMatching: (query: SweepQuery) => call<Sweep>('POST', 'executions/cancel', { body: query }),
    retryMatching: (query: SweepQuery) => call<Sweep>('POST', 'executions/retry', { body: query }),

    workers: (signal?: Signal) => call<Page<Worker>>('GET', 'workers', { signal }),
    worker: (worker: string, signal?: Signal) => call<Worker>('GET', `workers/${id(worker)}`, { signal }),
    // An empty reason is none.
    drainWorker: (worker: string, reason: string) =>
        call<Worker>('POST', `workers/${id(worker)}/drain`, { body: { reason: reason || undefined } }),
    resumeWorker: (worker: string) => call<Worker>('POST', `workers/${id(worker)}/resume`),
    // null: what it says itself.
    setCapacity: (worker: string, capacity: number | null) =>
        call<Worker>('PUT', `workers/${id(worker)}/capacity`, { body: { capacity } }),
    removeWorker: (worker: string) => call<void>('DELETE', `workers/${id(worker)}`),

    executors: (signal?: Signal) => call<Page<Executor>>('GET', 'executors', { signal }),
    setExecutorStatus: (executor: string, status: string, reason: string) =>
        call<Executor>('PUT', `executors/${id(executor)}/status`, {
            body: { status, reason: reason || undefined },
        }),
    removeExecutor: (executor: string) => call<void>('DELETE', `executors/${id(executor)}`),

    locks: (signal?: Signal) => call<Page<Lock>>('GET', 'locks?limit=1000', { signal }),
    releaseLock: (name: string, lockId: string) =>
        call<Lock>('DELETE', `locks/${id(name)}?lock_id=${id(lockId)}`),
    queues: (signal?: Signal) => call<Page<Queue>>('GET', 'queues', { signal }),
    queue: (name: string, signal?: Signal) => call<Queue>('GET', `queues/${id(name)}`, { signal }),
    pauseQueue: (name: string) => call<Queue>('POST', `queues/${id(name)}/pause`),
    resumeQueue: (name: string) => call<Queue>('POST', `queues/${id(name)}/resume`),
    limitQueue: (name: string, limits: Pick<Queue, 'concurrency_max' | 'rate_limit'>) =>
        call<Queue>('PUT', `queues/${id(name)}`, { body: limits }),

    defaults: (signal?: Signal) => call<Defaults>('GET', 'scheduler/defaults', { signal }),
    strategy: (signal?: Signal) => call<Strategy>('GET', 'scheduler/strategy', { signal }),
    setStrategy: (strategy: string) => call<Strategy>('PUT', 'scheduler/strategy', { body: { strategy } }),
    resetStrategy: () => call<Strategy>('POST', 'scheduler/strategy/reset'),

    tokens: (signal?: Signal) => call<Page<Token>>('GET', 'tokens', { signal }),
    createToken: (body: { name: string; role: string; expires_in?: string }) =>
        call<Token>('POST', 'tokens', { body }),
    revokeToken: (token: string) => call<void>('DELETE', `tokens/${id(token)}`),

    namespaces: (signal?: Signal) => call<Page<Namespace>>('GET', 'namespaces', { signal }),
    namespace: (name: string, signal?: Signal) =>
        call<Namespace>('GET', `namespaces/${id(name)}`, { signal }),
    metricsOf: (name: string, signal?: Signal) => call<Metrics>('GET', 'metrics', { within: name, signal }),
    createNamespace: (name: string, fields: NamespaceFields) =>
        call<Namespace>('POST', 'namespaces', { body: { name, ...fields } }),
    changeNamespace: (name: string, fields: NamespaceFields) =>
        call<Namespace>('PATCH', `namespaces/${id(name)}`, { body: fields }),
    // The name once more: nobody deletes another one than was meant.
    deleteNamespace: (name: string, confirm: string) =>
        call<Namespace>('DELETE', `namespaces/${id(name)}`, { query: { confirm } }),

    alerts: (state: string | undefined, signal?: Signal) =>
        call<Page<Alert>>('GET', 'alerts', { query: { state }, signal }),
    acknowledge: (alert: string, note: string) =>
        call<Alert>('POST', `alerts/${id(alert)}/acknowledge`, { body: note ? { note } : {} }),
    alertRules: (signal?: Signal) => call<Page<AlertRule>>('GET', 'alert-rules', { signal }),
    saveAlertRule: (name: string, version: number | undefined, fields: AlertRuleFields) =>
        call<AlertRule>('PUT', `alert-rules/${id(name)}`, { body: fields, headers: onlyIf(version) }),
    deleteAlertRule: (name: string, version: number) =>
        call<void>('DELETE', `alert-rules/${id(name)}`, { headers: onlyIf(version) }),
    silenceRule: (name: string, duration: string) =>
        call<AlertRule>('POST', `alert-rules/${id(name)}/silence`, { body: { duration } }),
    unsilenceRule: (name: string) => call<AlertRule>('DELETE', `alert-rules/${id(name)}/silence`),
    alertMetrics: (signal?: Signal) => call<Page<AlertMetric>>('GET', 'alert-metrics', { signal }),
    alertChannels: (signal?: Signal) => call<Page<AlertChannel>>('GET', 'alert-channels', { signal }),
    saveChannel: (name: string, version: number | undefined, fields: AlertChannelPut) =>
        call<AlertChannel>('PUT', `alert-channels/${id(name)}`, {
            body: fields,
            headers: onlyIf(version),
        }),
    deleteChannel: (name: string, version: number) =>
        call<void>('DELETE', `alert-channels/${id(name)}`, { headers: onlyIf(version) }),
    testChannel: (name: string) =>
        call<{ ok: boolean; error: string }>('POST', `alert-channels/${id(name)}/test`),

    statistics: (query: StatisticsQuery, signal?: Signal) =>
        call<Page<Statistic>>('GET', 'statistics', { query: { ...query }, signal }),
    statisticsCsv: (query: StatisticsQuery) =>
        send('GET', addressOf('statistics'), {
            query: { ...query, format: 'csv' },
            headers: { Accept: 'text/csv' },
        }).then((response) => response.blob()),
    queueHistory: (name: string, minutes: number, signal?: Signal) =>
        call<QueueHistory>('GET', `queues/${id(name)}/history`, { query: { minutes }, signal }),
    series: (minutes: number, signal?: Signal) =>
        call<Series>('GET', 'statistics/series', { query: { minutes }, signal }),
};

export const isFinished = (status: Status): boolean =>
    status === 'success' || status === 'failed' || status === 'cancelled' || status === 'skipped';
