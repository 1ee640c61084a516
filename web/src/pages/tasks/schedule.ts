// How a task's schedule is written in a form, and in words.
import type { TaskFields } from '../../api/types';
import { formatSpan } from '../../format';
import type { Translate } from '../../i18n';

export const kinds = ['cron', 'interval', 'interval_after_end', 'now', 'run_at', 'delay'] as const;
export type Kind = (typeof kinds)[number];

export const recurringKinds: readonly Kind[] = ['cron', 'interval', 'interval_after_end'];

export function kindOf(task: Partial<TaskFields>): Kind {
    if (task.cron_expression) return 'cron';
    if (task.interval) return 'interval';
    if (task.interval_after_end) return 'interval_after_end';
    if (task.run_at) return 'run_at';
    return task.delay ? 'delay' : 'now';
}

export const isRecurring = (task: Partial<TaskFields>): boolean => recurringKinds.includes(kindOf(task));

// In one line: "0 2 * * *", "every 90 s".
export function scheduleText(task: Partial<TaskFields>, t: Translate): string {
    switch (kindOf(task)) {
        case 'cron':
            return task.timezone && task.timezone !== 'UTC'
                ? `${task.cron_expression} (${task.timezone})`
                : (task.cron_expression ?? '');
        case 'interval':
            return t('schedule.every', { time: formatSpan(String(task.interval)) });
        case 'interval_after_end':
            return t('schedule.afterEnd', { time: formatSpan(String(task.interval_after_end)) });
        default:
            return t('schedule.once');
    }
}

export const presets: {
    text: 'fiveSeconds' | 'minute' | 'hour' | 'night' | 'workday' | 'month';
    cron: string;
}[] = [
    { text: 'fiveSeconds', cron: '*/5 * * * * *' },
    { text: 'minute', cron: '* * * * *' },
    { text: 'hour', cron: '0 * * * *' },
    { text: 'night', cron: '0 2 * * *' },
    { text: 'workday', cron: '0 9 * * MON-FRI' },
    { text: 'month', cron: '0 6 1 * *' },
];
