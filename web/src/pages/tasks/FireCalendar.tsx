// A calendar of a task: how its past days went, and on which days it will fire.
//
// Its days are those of the task's zone, wherever the person is: a task that fires on workdays in Shanghai does not
// fire on a Sunday.
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
import { dayIn, midnightIn, zoneOf } from './zones';

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

// A day of the calendar, which stands at midnight of UTC whatever zone it is of.
const keyOf = (day: Dayjs): string => day.format('YYYY-MM-DD');
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
    const zone = zoneOf(task);
    const daily = useDailyCounts(task);
    // The server counts by days of UTC; those of another zone are other days.
    const counted = zone === 'UTC' ? daily : undefined;
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
            const day = at(dayIn(zone, run.scheduled_at));
            if (run.status === 'success') day.good += 1;
            else if (run.status === 'failed') day.bad += 1;
            else day.other += 1;
        }
        if (task.enabled) for (const fire of fires.data?.fires ?? []) at(dayIn(zone, fire)).coming += 1;
        return days;
    }, [counted, runs, fires.data, task.enabled, zone]);
    return { days, counted: counted !== undefined };
}

const dayText = (date: Dayjs, locale: string, format: Intl.DateTimeFormatOptions): string =>
    date.toDate().toLocaleDateString(locale, { ...format, timeZone: 'UTC' });

interface CellProps {
    date: Dayjs;
    day: Day;
    task: Task;
    capped: boolean; // There are more than were read.
    uncounted: boolean; // After those that were read: it goes on, nobody counted how often.
}

function DayCell({ date, day, task, capped, uncounted }: CellProps) {
    const { t, locale } = useI18n();
    const palette = usePalette();
    const past = day.good + day.bad + day.other;
    const zone = zoneOf(task);
    const today = keyOf(date) === dayIn(zone, new Date());
    const lines = [
        dayText(date, locale, { weekday: 'long', day: 'numeric', month: 'long' }),
        past > 0 ? t('calendar.past', { good: day.good, bad: day.bad, other: day.other }) : '',
        day.coming > 0 ? t('calendar.coming', { count: capped ? `${day.coming}+` : day.coming }) : '',
        uncounted ? t('calendar.goesOn') : '',
    ].filter(Boolean);
    const classes = [
        'day',
        today ? 'day-today' : '',
        past > 0 ? 'day-past' : day.coming > 0 || uncounted ? 'day-coming' : '',
    ].join(' ');
    const range = {
        task_id: task.id,
        from: midnightIn(zone, keyOf(date)),
        to: midnightIn(zone, keyOf(date.add(1, 'day'))),
    };
    const to = `/executions?${new URLSearchParams(range)}`;
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
                {uncounted && (
                    <span className="day-count">
                        <ClockCircleOutlined /> …
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
    const zone = zoneOf(task);
    const now = dayjs.utc(dayIn(zone, new Date()));
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
    const lastDay = task.end_at ? dayIn(zone, task.end_at) : '9999';
    return (
        <Card
            size="small"
            title={t('calendar.title')}
            extra={
                <span className="muted small">
                    {!counted && !complete && `${t('calendar.newest')} · `}
                    {t('calendar.zone', { zone })}
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
                            uncounted={coming >= firesRead && key > (lastComing ?? '') && key <= lastDay}
                        />
                    );
                })}
            </div>
        </Card>
    );
}
