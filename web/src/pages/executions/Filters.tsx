// What executions are listed: kept in the page's address, so that it can be sent to somebody.
import { Button, DatePicker, Grid, Input } from 'antd';
import dayjs from 'dayjs';
import { useEffect, useState } from 'react';
import type { ExecutionFilter } from '../../api/client';
import { ChoiceFilter } from '../../components/ChoiceFilter';
import { TextFilter } from '../../components/TextFilter';
import { useFleetChoices, useTaskChoices } from '../../hooks/useChoices';
import { useI18n } from '../../i18n';

export const filterKeys = [
    'status',
    'task_id',
    'parent_id',
    'type',
    'queue',
    'worker_id',
    'search',
    'metadata',
    'parameters',
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

const flags: Record<(typeof filterKeys)[number], string> = {
    status: '--status',
    task_id: '--task',
    parent_id: '--parent',
    type: '--type',
    queue: '--queue',
    worker_id: '--worker',
    search: '--search',
    metadata: '--metadata',
    parameters: '--parameters',
    from: '--since',
    to: '--until',
};

// The filter as `takt list` takes it.
export const flagsOf = (filter: ExecutionFilter): string[] =>
    filterKeys.flatMap((key) => (filter[key] ? [flags[key], filter[key]] : []));

interface Props {
    filter: ExecutionFilter;
    onChange: (filter: ExecutionFilter) => void;
}

// name=value. Refused here if it cannot be right, so that what is typed stays to be mended.
function PairFilter({
    label,
    example,
    value,
    onDone,
}: {
    label: string;
    example: string;
    value: string | undefined;
    onDone: (text: string | undefined) => void;
}) {
    const [typed, setTyped] = useState(value ?? '');
    useEffect(() => setTyped(value ?? ''), [value]);
    const right = typed === '' || /^[^=]+=/.test(typed);
    const done = () => {
        if (right && typed !== (value ?? '')) onDone(typed || undefined);
    };
    return (
        <Input
            allowClear
            style={{ width: 200 }}
            status={right ? undefined : 'warning'}
            placeholder={example}
            aria-label={label}
            value={typed}
            onChange={(event) => {
                setTyped(event.target.value);
                if (!event.target.value && value) onDone(undefined);
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
            // Open at its end, so that what comes is in it.
            presets={[
                { label: t('range.hour'), value: () => [dayjs().subtract(1, 'hour'), null] as never },
                { label: t('range.today'), value: () => [dayjs().startOf('day'), null] as never },
                { label: t('range.week'), value: () => [dayjs().subtract(7, 'day'), null] as never },
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
    const { types, queues, workers } = useFleetChoices();
    const { tasks, searchTasks } = useTaskChoices();
    const room = Grid.useBreakpoint().sm ?? window.innerWidth >= 576;
    const put = (change: ExecutionFilter) => onChange({ ...filter, ...change });
    return (
        <div className="filters">
            <TextFilter label={t('list.search')} value={filter.search} onDone={(search) => put({ search })} />
            <ChoiceFilter
                label={t('task.task')}
                value={filter.task_id}
                choices={tasks}
                onSearch={searchTasks}
                onChange={(task_id) => put({ task_id })}
                width={180}
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
            <ChoiceFilter
                label={t('worker.worker')}
                value={filter.worker_id}
                choices={workers}
                onChange={(worker_id) => put({ worker_id })}
            />
            <PairFilter
                label={t('list.metadataLabel')}
                example={t('list.metadata')}
                value={filter.metadata}
                onDone={(metadata) => put({ metadata })}
            />
            <PairFilter
                label={t('task.parameters')}
                example={t('list.parameters')}
                value={filter.parameters}
                onDone={(parameters) => put({ parameters })}
            />
            {room ? <Range filter={filter} put={put} /> : <Days filter={filter} put={put} />}
            {Object.values(filter).some(Boolean) && (
                <Button type="link" onClick={() => onChange({})}>
                    {t('action.clear')}
                </Button>
            )}
        </div>
    );
}
