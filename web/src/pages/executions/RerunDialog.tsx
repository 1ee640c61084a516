// Runs what an execution ran once more, with other parameters: also one that succeeded, or whose task runs once.
import { useState } from 'react';
import { api } from '../../api/client';
import type { JsonText } from '../../api/json';
import type { Execution, TaskFields } from '../../api/types';
import { useI18n } from '../../i18n';
import { jsonOf } from '../tasks/fieldTexts';
import { parametersText } from '../tasks/taskFields';
import { ParametersDialog } from './ParametersDialog';

// What was said when it was submitted, but for what would make it the same one again, or what is over.
const once = ['id', 'run_at', 'delay', 'unique_key', 'unique_for', 'traceparent', 'tracestate'];

async function runAnew(execution: Execution, parameters: JsonText | undefined): Promise<string> {
    if (execution.origin !== 'once') {
        const { id } = await api.triggerTask(execution.task_id, { parameters, force: true });
        return id;
    }
    const task = (await api.task(execution.id)) as unknown as Record<string, unknown>;
    const fields = Object.fromEntries(
        Object.entries(task).filter(
            ([name, value]) => given.has(name) && !once.includes(name) && value !== null,
        ),
    );
    const made = await api.createTask({ ...fields, parameters } as unknown as TaskFields);
    return made.id;
}

// The fields of a task that a request may have; its answer has more.
const given = new Set<string>([
    'name',
    'type',
    'queue',
    'priority',
    'timeout_seconds',
    'max_retry',
    'retry_policy',
    'load_balance_strategy',
    'metadata',
    'labels',
    'executor',
    'expires_after',
    'concurrency_key',
    'concurrency_max',
    'rate_limit',
    'locks',
    'steps',
    'on_failure',
    'shards',
    'each_worker',
    'parallel_max',
    'min_success',
] satisfies (keyof TaskFields)[]);

export function RerunDialog({ execution, onClose }: { execution: Execution; onClose: () => void }) {
    const { t } = useI18n();
    const [before] = useState(parametersText({ parameters: execution.parameters ?? null }));
    return (
        <ParametersDialog
            title={t('rerun.title', { name: execution.task_name })}
            what={t(execution.origin === 'once' ? 'rerun.what' : 'rerun.whatTask')}
            done={t('rerun.done')}
            initial={{ parameters: before }}
            run={({ parameters }) => runAnew(execution, jsonOf(parameters))}
            onClose={onClose}
        />
    );
}
