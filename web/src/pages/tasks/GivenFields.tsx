// What was said of a task beside its schedule: every field that has a value, and what counts where none has.
import { Tag } from 'antd';
import type { ReactNode } from 'react';
import { api } from '../../api/client';
import type { Task } from '../../api/types';
import { Field } from '../../components/Field';
import { Moment } from '../../components/Time';
import { useData } from '../../hooks/useData';
import { type TextKey, useI18n } from '../../i18n';
import { locksText } from './fieldTexts';

const Pairs = ({ pairs }: { pairs: Record<string, string> }) => (
    <>
        {Object.entries(pairs).map(([name, value]) => (
            <Tag key={name}>{`${name}=${value}`}</Tag>
        ))}
    </>
);

const some = (pairs: Record<string, string> | undefined): boolean => Object.keys(pairs ?? {}).length > 0;

export function GivenFields({ task }: { task: Task }) {
    const { t } = useI18n();
    const unless = (value: string) => <span className="muted">{t('form.unless', { value })}</span>;
    const strategy = useData((signal) => api.strategy(signal), []);
    const standard = strategy.data?.strategy;
    const retry = task.retry_policy;
    const rows: [TextKey, ReactNode][] = [
        ['task.maxRetry', task.max_retry ?? unless('3')],
        ['task.retryDelay', retry?.delay],
        ['task.backoff', retry && `× ${retry.backoff_rate}`],
        ['task.delayMax', retry?.delay_max],
        ['task.timeout', task.timeout_seconds === undefined ? unless('5m') : `${task.timeout_seconds} s`],
        ['task.expires', task.expires_after],
        ['task.backlog', task.backlog_max],
        ['task.misfiresMax', task.misfires_max],
        ['task.deadline', task.start_deadline],
        ['settings.strategy', task.load_balance_strategy ?? (standard && unless(standard))],
        ['task.executor', task.executor],
        ['task.labels', some(task.labels) && <Pairs pairs={task.labels ?? {}} />],
        ['task.metadata', some(task.metadata) && <Pairs pairs={task.metadata ?? {}} />],
        ['task.concurrency', task.concurrency_max],
        ['task.concurrencyKey', task.concurrency_key],
        ['task.rate', task.rate_limit && `${task.rate_limit.count} / ${task.rate_limit.per}`],
        ['nav.locks', locksText(task.locks)],
        ['schedule.startAt', task.start_at && <Moment at={task.start_at} />],
        ['schedule.endAt', task.end_at && <Moment at={task.end_at} />],
        ['schedule.firesMax', task.fires_max],
        ['schedule.jitter', task.jitter],
        ['schedule.excluded', task.excluded_dates?.join(', ')],
    ];
    return (
        <>
            {rows
                .filter(([, value]) => value !== undefined && value !== '' && value !== false)
                .map(([key, value]) => (
                    <Field key={key} label={t(key)}>
                        {value}
                    </Field>
                ))}
        </>
    );
}
