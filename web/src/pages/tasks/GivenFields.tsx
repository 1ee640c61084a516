// What was said of a task beside its schedule: every field that has a value, and what counts where none has.
import { Tag } from 'antd';
import type { ReactNode } from 'react';
import type { Task } from '../../api/types';
import { Field } from '../../components/Field';
import { Moment } from '../../components/Time';
import { useDefaults } from '../../hooks/useDefaults';
import { type TextKey, useI18n } from '../../i18n';
import { limitText, locksText } from './fieldTexts';

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
    const defaults = useDefaults();
    const unless = (value: string | number | undefined) =>
        value !== undefined && <span className="muted">{t('form.unless', { value })}</span>;
    const retry = task.retry_policy;
    const rows: [TextKey, ReactNode][] = [
        ['task.maxRetry', task.max_retry ?? unless(defaults?.retry_policy.max_retries)],
        ['task.retryDelay', retry?.delay ?? unless(defaults?.retry_policy.delay)],
        ['task.backoff', retry && `× ${retry.backoff_rate}`],
        ['task.delayMax', retry?.delay_max],
        ['task.timeout', limitText(task) ?? unless(defaults?.timeout)],
        ['task.expires', task.expires_after],
        ['task.backlog', task.backlog_max],
        ['task.misfiresMax', task.misfires_max],
        ['task.deadline', task.start_deadline],
        ['settings.strategy', task.load_balance_strategy ?? unless(defaults?.strategy)],
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
