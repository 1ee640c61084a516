// Whether a task is active, paused or over, and whether nobody could run it.
import { WarningOutlined } from '@ant-design/icons';
import type { Task, Worker } from '../../api/types';
import { Badge } from '../../components/StatusTag';
import { usePalette } from '../../hooks/usePalette';
import { useI18n } from '../../i18n';

// It never fires again: fires_max is used up, or its end has passed. One that runs again after its
// run ended has no next time while that run lasts.
function isOver(task: Task): boolean {
    if (task.fires_max && (task.fires ?? 0) >= task.fires_max) return true;
    return !task.next_fire_at && !task.interval_after_end;
}

export function stateOf(task: Task): 'active' | 'paused' | 'over' {
    if (!task.enabled) return 'paused';
    return isOver(task) ? 'over' : 'active';
}

export function EnabledTag({ task }: { task: Task }) {
    const { t } = useI18n();
    const palette = usePalette();
    switch (stateOf(task)) {
        case 'paused':
            return <Badge colour={palette.status.retrying} label={t('task.isPaused')} />;
        case 'over':
            return <Badge colour={palette.status.cancelled} label={t('task.isOver')} />;
        default:
            return <Badge colour={palette.status.success} label={t('task.active')} />;
    }
}

// A workflow is run by many; what its steps wait for is told on its page.
function nobodyRuns({ type, queue, steps }: Task, workers: readonly Worker[] | undefined): boolean {
    if (!workers || steps || !type) return false;
    const takes = (worker: Worker) =>
        worker.status !== 'offline' &&
        (worker.types.includes(type) || worker.types.includes('*')) &&
        (worker.queues.length === 0 || worker.queues.includes(queue ?? 'default'));
    return !workers.some(takes);
}

export function TaskState({ task, workers }: { task: Task; workers: readonly Worker[] | undefined }) {
    const { t } = useI18n();
    const warned = stateOf(task) === 'active' && nobodyRuns(task, workers);
    return (
        <div className="two-lines">
            <EnabledTag task={task} />
            {warned && (
                <span className="warned small" data-testid="nobody">
                    <WarningOutlined /> {t('list.nobodyRuns')}
                </span>
            )}
        </div>
    );
}
