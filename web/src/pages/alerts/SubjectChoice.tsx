// The one task, queue or worker that a rule is for.
import { ChoiceFilter } from '../../components/ChoiceFilter';
import { useFleetChoices, useTaskChoices } from '../../hooks/useChoices';
import { useI18n } from '../../i18n';

interface Props {
    kind: 'task' | 'queue' | 'worker';
    value?: string; // Both from the form's field.
    onChange?: (value: string) => void;
}

export function SubjectChoice({ kind, value, onChange }: Props) {
    const { t } = useI18n();
    const { tasks, searchTasks } = useTaskChoices();
    const { queues, workers } = useFleetChoices();
    return (
        <ChoiceFilter
            label={t('alert.eachOfThem')}
            value={value || undefined}
            choices={{ task: tasks, queue: queues, worker: workers }[kind]}
            onSearch={kind === 'task' ? searchTasks : undefined}
            onChange={(chosen) => onChange?.(chosen ?? '')}
            width="100%"
        />
    );
}
