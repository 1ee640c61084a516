// What a task does next, or why it does not run.
import { Alert } from 'antd';
import { Link } from 'react-router-dom';
import { api } from '../../api/client';
import type { Explanation, Task } from '../../api/types';
import { type Data, useData } from '../../hooks/useData';
import { useI18n } from '../../i18n';
import { explanationText } from '../../i18n/said';

// All is well, and the page says the same elsewhere.
const quiet = new Set(['task_next', 'task_after_run']);
const calm = new Set([
    'task_first',
    'running',
    'sent',
    'run_goes_on',
    'workers_full',
    'previous_run',
    'handler_stops',
    'not_due',
    'retry',
]);

export interface TaskReason {
    own: Explanation;
    run: string | undefined; // Of its that waits.
    its: Explanation | undefined;
}

export function useTaskWhy(task: Task): Data<TaskReason> {
    return useData(
        async (signal) => {
            const own = await api.explainTask(task.id, signal);
            const run = own.code === 'task_run_waits' ? String(own.values.run) : undefined;
            // Why its run waits is what a person wants to know.
            const its = run ? await api.explain(run, signal).catch(() => undefined) : undefined;
            return { own, run, its };
        },
        [task.id, task.version, task.last_fire_at],
        { topics: ['worker', 'queue'], everyMs: 3_000 },
    );
}

export function TaskWhy({ why }: { why: Data<TaskReason> }) {
    const { t, locale } = useI18n();
    if (!why.data || quiet.has(why.data.own.code)) return null;
    const { own, run, its } = why.data;
    const said = its ?? own;
    return (
        <Alert
            className="why"
            data-testid="task-why"
            type={calm.has(said.code) ? 'info' : 'warning'}
            showIcon
            message={explanationText(said, t, locale)}
            action={run && <Link to={`/executions/${encodeURIComponent(run)}`}>{t('task.openRun')}</Link>}
        />
    );
}
