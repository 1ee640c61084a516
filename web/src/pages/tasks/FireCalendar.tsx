// A calendar of a task: how its past days went, and on which days it will fire.
//
// All of it in UTC, wherever the person is: that is what the days of the statistics are.
import { ClockCircleOutlined } from '@ant-design/icons';
import { Card, Tooltip } from 'antd';
import dayjs, { type Dayjs } from 'dayjs';
import utc from 'dayjs/plugin/utc';
import { useMemo } from 'react';
import { Link } from 'react-router-dom';
import { api } from '../../api/client';
import type { Execution, Task } from '../../api/types';
import { formatNumber } from '../../format';
import { useData } from '../../hooks/useData';
import { usePalette } from '../../hooks/usePalette';
import { useI18n } from '../../i18n';

dayjs.extend(utc);

const weeksBefore = 3;
const weeks = 6;
// What one answer may hold; a task that fires more often fills its calendar with fewer days.
const firesRead = 1_000;

interface Day {
    good: number;
    bad: number;
    other: number;
    coming: number;
}

// Of a time in UTC, or as the server spells it.
const keyOf = (time: Dayjs | string): string =>
    (typeof time === 'string' ? dayjs.utc(time) : time).format('YYYY-MM-DD');
const emptyDay = (): Day => ({ good: 0, bad: 0, other: 0, coming: 0 });

// Days as the server counted them; undefined from a server that does not count, or has not counted any yet.
function useDailyCounts(task: Task) {
    const from = dayjs
        .utc()
        .subtract(weeksBefore + 1, 'week')
        .startOf('day')
        .toISOString();
    const days = useData(
        (signal) => api.statistics({ by: 'day', task_id: task.id, from }, signal),
        [task.id],
        { everyMs: 60_000 },
    );
    return days.problem || !days.data?.items.length ? undefined : days.data.items;
}

function useDays(task: Task, runs: Execution[] | undefined): { days: Map<string, Day>; counted: boolean } {
    const counted = useDailyCounts(task);
    const fires = useData(
        (signal) => api.fires(task.id, firesRead, signal),
        [task.id, task.version, task.last_fire_at],
    );
    const days = useMemo(() => {
        const days = new Map<string, Day>();
        const at = (key: string) => {
            const day = days.get(key) ?? emptyDay();
            days.set(key, day);
            return day;
        };
        for (const each of counted ?? []) {
            const day = at(each.key.slice(0, 10));
            day.good += each.success;
            day.bad += each.failed + each.missed;
            day.other += each.cancelled + each.skipped;
        }
        for (const run of counted ? [] : (runs ?? [])) {
            const day = at(keyOf(run.scheduled_at));
            if (run.status === 'success') day.good += 1;
            else if (run.status === 'failed') day.bad += 1;
            else day.other += 1;
        }
        if (task.enabled) for (const fire of fires.data?.fires ?? []) at(keyOf(fire)).coming += 1;
        return days;
    }, [counted, runs, fires.data, task.enabled]);
    return { days, counted: counted !== undefined };
}

const dayText = (date: Dayjs, locale: string, format: Intl.DateTimeFormatOptions): string =>
    date.toDate().toLocaleDateString(locale, { ...format, timeZone: 'UTC' });

function DayCell({ date, day, task, capped }: { date: Dayjs; day: Day; task: Task; capped: boolean }) {
    const { t, locale } = useI18n();
    const palette = usePalette();
    const past = day.good + day.bad + day.other;
    const today = keyOf(date) === keyOf(dayjs.utc());
    const lines = [
        dayText(date, locale, { weekday: 'long', day: 'numeric', month: 'long' }),
        past > 0 ? t('calendar.past', { good: day.good, bad: day.bad, other: day.other }) : '',
        day.coming > 0 ? t('calendar.coming', { count: capped ? `${day.coming}+` : day.coming }) : '',
    ].filter(Boolean);
    const classes = [
        'day',
        today ? 'day-today' : '',
        past > 0 ? 'day-past' : day.coming > 0 ? 'day-coming' : '',
    ].join(' ');
    const to = `/executions?${new URLSearchParams({ task_id: task.id, from: date.toISOString(), to: date.add(1, 'day').toISOString() })}`;
    return (
        <Tooltip title={<span className="lines">{lines.join('\n')}</span>}>
            <Link to={to} className={classes}>
                <span>
                    {date.date() === 1
                        ? dayText(date, locale, { month: 'short', day: 'numeric' })
                        : date.date()}
                </span>
                {day.coming > 0 && (
                    <span className="day-count">
                        <ClockCircleOutlined /> {formatNumber(day.coming, locale)}
                        {capped && '+'}
                    </span>
                )}
                {past > 0 && (
                    <span className="day-bar">
                        <i style={{ flex: day.good, background: palette.status.success }} />
                        <i style={{ flex: day.bad, background: palette.status.failed }} />
                        <i style={{ flex: day.other, background: palette.status.skipped }} />
                    </span>
                )}
            </Link>
        </Tooltip>
    );
}

interface Props {
    task: Task;
    runs: Execution[] | undefined;
    complete: boolean; // Whether `runs` are all there were.
}

export function FireCalendar({ task, runs, complete }: Props) {
    const { t, locale } = useI18n();
    const { days, counted } = useDays(task, runs);
    const now = dayjs.utc();
    // Weeks begin on Monday.
    const first = now
        .subtract((now.day() + 6) % 7, 'day')
        .subtract(weeksBefore, 'week')
        .startOf('day');
    const coming = [...days.values()].reduce((sum, day) => sum + day.coming, 0);
    const lastComing = [...days.keys()]
        .sort()
        .filter((key) => (days.get(key)?.coming ?? 0) > 0)
        .pop();
    return (
        <Card
            size="small"
            title={t('calendar.title')}
            extra={
                <span className="muted small">
                    {!counted && !complete && `${t('calendar.newest')} · `}
                    {t('calendar.utc')}
                </span>
            }
        >
            <div className="calendar">
                {Array.from({ length: 7 }, (_, index) => (
                    <div key={index} className="calendar-name">
                        {dayText(first.add(index, 'day'), locale, { weekday: 'short' })}
                    </div>
                ))}
                {Array.from({ length: weeks * 7 }, (_, index) => {
                    const date = first.add(index, 'day');
                    const key = keyOf(date);
                    return (
                        <DayCell
                            key={key}
                            date={date}
                            day={days.get(key) ?? emptyDay()}
                            task={task}
                            capped={coming >= firesRead && key === lastComing}
                        />
                    );
                })}
            </div>
        </Card>
    );
}
