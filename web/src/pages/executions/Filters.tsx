// What executions are listed: kept in the page's address, so that it can be sent to somebody.
import { Button, DatePicker, Grid, Input, Select } from 'antd';
import dayjs from 'dayjs';
import { useEffect, useState } from 'react';
import type { ExecutionFilter } from '../../api/client';
import { statuses } from '../../api/types';
import { StatusTag } from '../../components/StatusTag';
import { useI18n } from '../../i18n';

export const filterKeys = [
    'status',
    'task_id',
    'parent_id',
    'type',
    'queue',
    'worker_id',
    'from',
    'to',
] as const;

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

interface RangeProps {
    filter: ExecutionFilter;
    put: (change: ExecutionFilter) => void;
}

const timeOf = (text: string | undefined) => (text ? dayjs(text) : null);

function Range({ filter, put }: RangeProps) {
    const { t } = useI18n();
    return (
        <DatePicker.RangePicker
            showTime={{ format: 'HH:mm' }}
            allowEmpty={[true, true]}
            style={{ width: 330 }}
            value={[timeOf(filter.from), timeOf(filter.to)]}
            presets={[
                { label: t('range.hour'), value: () => [dayjs().subtract(1, 'hour'), dayjs()] as never },
                { label: t('range.today'), value: () => [dayjs().startOf('day'), dayjs()] as never },
                { label: t('range.week'), value: () => [dayjs().subtract(7, 'day'), dayjs()] as never },
            ]}
            onChange={(range) => put({ from: range?.[0]?.toISOString(), to: range?.[1]?.toISOString() })}
        />
    );
}

// Whole days, each chosen by itself: two months and a clock side by side are wider than a phone.
function Days({ filter, put }: RangeProps) {
    const { t } = useI18n();
    const picker = { format: 'YYYY-MM-DD HH:mm', inputReadOnly: true };
    return (
        <div className="days">
            <DatePicker
                {...picker}
                placeholder={t('range.from')}
                aria-label={t('range.from')}
                value={timeOf(filter.from)}
                onChange={(day) => put({ from: day?.startOf('day').toISOString() })}
            />
            <DatePicker
                {...picker}
                placeholder={t('range.to')}
                aria-label={t('range.to')}
                value={timeOf(filter.to)}
                onChange={(day) => put({ to: day?.endOf('day').toISOString() })}
            />
        </div>
    );
}

export function Filters({ filter, onChange }: Props) {
    const { t } = useI18n();
    const room = Grid.useBreakpoint().sm ?? window.innerWidth >= 576;
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
            {room ? <Range filter={filter} put={put} /> : <Days filter={filter} put={put} />}
            {Object.values(filter).some(Boolean) && (
                <Button type="link" onClick={() => onChange({})}>
                    {t('action.clear')}
                </Button>
            )}
        </div>
    );
}
