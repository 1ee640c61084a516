// Whether anybody could run a task of this type, said before it is created.
import { Alert, Button } from 'antd';
import { api } from '../../api/client';
import type { Worker } from '../../api/types';
import { useData } from '../../hooks/useData';
import { useI18n } from '../../i18n';

export function useWorkers(): readonly Worker[] | undefined {
    const workers = useData((signal) => api.workers(signal), [], { topics: ['worker'], everyMs: 10_000 });
    return workers.data?.items;
}

// The types that some worker runs, to choose from.
export function typesOf(workers: readonly Worker[] | undefined): string[] {
    return [...new Set(workers?.flatMap(({ types }) => types) ?? [])].sort();
}

interface Props {
    workers: readonly Worker[] | undefined;
    type: string | undefined;
    queue: string | undefined;
    onChoose: (type: string) => void;
}

const typesOffered = 8;

export function RunnableNote({ workers, type, queue, onChoose }: Props) {
    const { t } = useI18n();
    if (!workers || !type) return null;
    const there = workers.filter(({ status }) => status !== 'offline');
    const able = there.filter(({ types }) => types.includes(type));
    const serving = able.filter(({ queues }) => queues.length === 0 || queues.includes(queue || 'default'));
    if (serving.length > 0) return null;
    const message =
        there.length === 0
            ? t('task.nobodyAtAll')
            : able.length === 0
              ? t('task.nobodyRuns', { type })
              : t('task.nobodyServes', { type, queue: queue || 'default' });
    const types = able.length === 0 ? typesOf(there).slice(0, typesOffered) : [];
    return (
        <Alert
            type="warning"
            showIcon
            className="form-problem"
            data-testid="nobody-runs"
            message={message}
            description={
                types.length > 0 && (
                    <span className="row-gap">
                        {t('task.typesThere')}
                        {types.map((each) => (
                            <Button key={each} size="small" onClick={() => onChoose(each)}>
                                {each}
                            </Button>
                        ))}
                    </span>
                )
            }
        />
    );
}
