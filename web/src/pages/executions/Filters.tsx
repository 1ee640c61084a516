// What executions are listed: kept in the page's address, so that it can be sent to somebody.
import { Button, DatePicker, Input, Select } from 'antd';
import dayjs from 'dayjs';
import { useEffect, useState } from 'react';
import type { ExecutionFilter } from '../../api/client';
import { statuses } from '../../api/types';
import { StatusTag } from '../../components/StatusTag';
import { useI18n } from '../../i18n';

export const filterKeys = ['status', 'task_id', 'type', 'queue', 'worker_id', 'from', 'to'] as const;

export function filterOf(query: URLSearchParams): ExecutionFilter {
    const filter: ExecutionFilter = {};
    for (const key of filterKeys) {
        const value = query.get(key);
        if (value) filter[key] = value;
    }
    return filter;
}

interface Props {
    filter: ExecutionFilter;
    onChange: (filter: ExecutionFilter) => void;
}

// Takes effect when the person is done with it, not at each letter.
function TextFilter({
    label,
    value,
    onDone,
}: {
    label: string;
    value: string | undefined;
    onDone: (text: string) => void;
}) {
    const [typed, setTyped] = useState(value ?? '');
    useEffect(() => setTyped(value ?? ''), [value]);
    const done = () => {
        if (typed.trim() !== (value ?? '')) onDone(typed.trim());
    };
    return (
        <Input
            allowClear
            style={{ width: 150 }}
            placeholder={label}
            aria-label={label}
            value={typed}
            onChange={(event) => {
                setTyped(event.target.value);
                if (!event.target.value && value) onDone('');
            }}
            onPressEnter={done}
            onBlur={done}
        />
    );
}

export function Filters({ filter, onChange }: Props) {
    const { t } = useI18n();
    const put = (change: ExecutionFilter) => onChange({ ...filter, ...change });
    const text = (key: 'task_id' | 'type' | 'queue' | 'worker_id', label: string) => (
        <TextFilter
            label={label}
            value={filter[key]}
            onDone={(value) => put({ [key]: value || undefined })}
        />
    );
    return (
        <div className="filters">
            <Select
                mode="multiple"
                allowClear
                maxTagCount="responsive"
                style={{ width: 220 }}
                placeholder={t('execution.anyStatus')}
                aria-label={t('execution.status')}
                value={filter.status ? filter.status.split(',') : []}
                onChange={(chosen: string[]) => put({ status: chosen.join(',') || undefined })}
                options={statuses.map((value) => ({ value, label: <StatusTag status={value} /> }))}
            />
            {text('task_id', t('execution.taskId'))}
            {text('type', t('task.type'))}
            {text('queue', t('queue.queue'))}
            {text('worker_id', t('worker.worker'))}
            <DatePicker.RangePicker
                showTime={{ format: 'HH:mm' }}
                allowEmpty={[true, true]}
                style={{ width: 330 }}
                value={[filter.from ? dayjs(filter.from) : null, filter.to ? dayjs(filter.to) : null]}
                presets={[
                    { label: t('range.hour'), value: () => [dayjs().subtract(1, 'hour'), dayjs()] as never },
                    { label: t('range.today'), value: () => [dayjs().startOf('day'), dayjs()] as never },
                    { label: t('range.week'), value: () => [dayjs().subtract(7, 'day'), dayjs()] as never },
                ]}
                onChange={(range) => put({ from: range?.[0]?.toISOString(), to: range?.[1]?.toISOString() })}
            />
            {Object.values(filter).some(Boolean) && (
                <Button type="link" onClick={() => onChange({})}>
                    {t('action.clear')}
                </Button>
            )}
        </div>
    );
}
