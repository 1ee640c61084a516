// What a worker says of itself.
import { Tag, Tooltip } from 'antd';
import type { Worker } from '../../api/types';
import { Field, Fields } from '../../components/Field';
import { LoadBar } from '../../components/LoadBar';
import { Ago } from '../../components/Time';
import { formatPercent } from '../../format';
import { useI18n } from '../../i18n';
import { CapacityField } from './CapacityField';

export function Share({ of, title }: { of: number | undefined; title: string }) {
    return <LoadBar share={of} label={formatPercent(of, 0)} title={title} />;
}

// A leader that has just begun has heard of nobody, and nobody stores every sign of life.
export function Seen({ worker }: { worker: Pick<Worker, 'status' | 'seen_at'> }) {
    const { t } = useI18n();
    if (worker.seen_at) return <Ago at={worker.seen_at} />;
    const offline = worker.status === 'offline';
    return (
        <Tooltip title={t(offline ? 'worker.unheardText' : 'worker.notHeardText')}>
            <span className={offline ? 'muted nowrap' : 'warned nowrap'}>
                {t(offline ? 'worker.unheard' : 'worker.notHeard')}
            </span>
        </Tooltip>
    );
}

export function WorkerFields({ worker, changed }: { worker: Worker; changed: () => void }) {
    const { t } = useI18n();
    return (
        <Fields>
            <Field label={t('worker.cpu')}>
                <Share of={worker.load.cpu} title={t('worker.cpu')} />
            </Field>
            <Field label={t('worker.memory')}>
                <Share of={worker.load.memory} title={t('worker.memory')} />
            </Field>
            <Field label={t('worker.capacity')}>
                <CapacityField worker={worker} changed={changed} />
            </Field>
            <Field label={t('worker.seen')}>
                <Seen worker={worker} />
            </Field>
            <Field label={t('worker.types')}>
                {worker.types.map((type) => (
                    <Tag key={type}>{type}</Tag>
                ))}
            </Field>
            <Field label={t('worker.queues')}>
                {worker.queues.length > 0
                    ? worker.queues.map((queue) => <Tag key={queue}>{queue}</Tag>)
                    : t('worker.allQueues')}
            </Field>
            <Field label={t('task.labels')}>
                {Object.keys(worker.labels).length > 0
                    ? Object.entries(worker.labels).map(([name, value]) => (
                          <Tag key={name}>{`${name}=${value}`}</Tag>
                      ))
                    : '–'}
            </Field>
            <Field label={t('worker.weight')}>{worker.weight}</Field>
            <Field label={t('worker.version')}>{worker.version}</Field>
            <Field label={t('worker.joined')}>
                <Ago at={worker.joined_at} />
            </Field>
            <Field label="id">
                <code>{worker.id}</code>
            </Field>
        </Fields>
    );
}
