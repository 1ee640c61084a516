// What the REST API answers, by the console's names. The shapes themselves are in schema.ts, which is made from
// the program.
import type {
    AuditEntry as RawAuditEntry,
    Execution,
    ExecutionList,
    Executor,
    NamespaceChange,
    NewToken,
    Problem,
    Queue,
    SchedulerStatus,
    SweepAnswer,
    Task as AnyTask,
    TaskRequest,
    Token as ListedToken,
    Worker,
} from './schema';

export type {
    Backfill,
    BackfillRequest,
    ComingFire,
    Defaults,
    Execution,
    ExecutionCounts,
    Executor,
    Explanation,
    Fires,
    Lock,
    LockHolder,
    LockWaiter,
    LogChunk,
    Me,
    Metrics,
    Namespace,
    Queue,
    RunStep,
    RunSteps,
    SchedulerStatus,
    Step,
    Strategy,
    TaskValidation,
    Worker,
} from './schema';

export type Status = Execution['status'];
export const statuses = [
    'pending',
    'scheduled',
    'running',
    'retrying',
    'success',
    'failed',
    'cancelled',
    'skipped',
] as const satisfies readonly Status[];

export const finished: readonly Status[] = ['success', 'failed', 'cancelled', 'skipped'];

// A refusal. Without a code it is not the scheduler that answered, but something in between.
export type ProblemFields = Partial<Omit<Problem, 'status' | 'type'>>;

export type Page<T> = Omit<ExecutionList, 'items'> & { items: T[] };

// The fields that a person can set; all but the name may be absent.
export type TaskFields = TaskRequest;
export type RetryPolicy = NonNullable<TaskFields['retry_policy']>;
export type RateLimit = NonNullable<TaskFields['rate_limit']>;

// A one-off task is answered with its execution's fields too: both are one record.
export type Task = AnyTask;

// Why an attempt or an execution did not succeed.
export type Failure = NonNullable<Execution['error']>;
export type Attempt = NonNullable<Execution['attempts']>[number];

export type WorkerStatus = (Worker | Executor)['status'];
export type SchedulerNode = NonNullable<SchedulerStatus['nodes']>[number];

// A new one is shown with its secret, this once.
export type Token = ListedToken & Partial<Pick<NewToken, 'token'>>;

export type Sweep = SweepAnswer;

// Documents as the resource's own address shows them, to compare field by field.
export type AuditEntry = Omit<RawAuditEntry, 'before' | 'after'> & {
    before: Record<string, unknown> | null;
    after: Record<string, unknown> | null;
};

// What can be changed of a namespace.
export type NamespaceFields = NamespaceChange;

// A run of a workflow, rather than the execution of one step or of a plain task.
export const isRun = ({ round, parent_id, type, ending }: Execution): boolean =>
    round !== undefined && (!parent_id || type === '' || ending !== undefined);

// What of a queue could start now. A leader that is older than this page tells no difference.
export const readyOf = ({ ready, waiting }: Queue): number => (ready as number | undefined) ?? waiting;
