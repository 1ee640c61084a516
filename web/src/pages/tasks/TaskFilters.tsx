// Which tasks are listed: kept in the page's address.
import { Button } from 'antd';
import type { TaskFilter } from '../../api/client';
import { ChoiceFilter } from '../../components/ChoiceFilter';
import { TextFilter } from '../../components/TextFilter';
import { useFleetChoices } from '../../hooks/useChoices';
import { useI18n } from '../../i18n';

export const taskFilterKeys = ['search', 'state', 'queue', 'type'] as const;
const states = ['active', 'paused', 'over'] as const;

export function TaskFilters({
    filter,
    put,
}: {
    filter: TaskFilter;
    put: (change: Record<string, string | undefined>) => void;
}) {
    const { t } = useI18n();
    const { types, queues } = useFleetChoices();
    const names = { active: t('task.active'), paused: t('task.isPaused'), over: t('task.isOver') };
    return (
        <div className="filters">
            <TextFilter
                label={t('list.searchTasks')}
                value={filter.search}
                onDone={(search) => put({ search })}
            />
            <ChoiceFilter
                label={t('task.state')}
                value={filter.state}
                choices={states.map((state) => ({ value: state, label: names[state] }))}
                onChange={(state) => put({ state })}
                width={130}
            />
            <ChoiceFilter
                label={t('task.type')}
                value={filter.type}
                choices={types}
                onChange={(type) => put({ type })}
            />
            <ChoiceFilter
                label={t('queue.queue')}
                value={filter.queue}
                choices={queues}
                onChange={(queue) => put({ queue })}
            />
            {Object.keys(filter).length > 0 && (
                <Button
                    type="link"
                    onClick={() => put(Object.fromEntries(taskFilterKeys.map((key) => [key, undefined])))}
                >
                    {t('action.clear')}
                </Button>
            )}
        </div>
    );
}
