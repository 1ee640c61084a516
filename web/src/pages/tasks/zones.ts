// Days of a task's own time zone.
import type { Task } from '../../api/types';

// One that this browser does not know is shown in UTC, rather than not at all.
export function zoneOf({ timezone }: Pick<Task, 'timezone'>): string {
    const zone = timezone || 'UTC';
    try {
        new Intl.DateTimeFormat('en', { timeZone: zone });
        return zone;
    } catch {
        return 'UTC';
    }
}

function partsIn(zone: string, at: Date): Record<string, string> {
    const format = new Intl.DateTimeFormat('en-GB', {
        timeZone: zone,
        year: 'numeric',
        month: '2-digit',
        day: '2-digit',
        hour: '2-digit',
        minute: '2-digit',
        second: '2-digit',
        hourCycle: 'h23',
    });
    return Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]));
}

// "2026-11-16", the day that it is there.
export function dayIn(zone: string, at: Date | string): string {
    const { year, month, day } = partsIn(zone, new Date(at));
    return `${year}-${month}-${day}`;
}

// How far the clocks there are ahead of UTC at that moment.
function aheadMs(zone: string, at: number): number {
    const { year, month, day, hour, minute, second } = partsIn(zone, new Date(at));
    return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`) - Math.floor(at / 1000) * 1000;
}

// When the day begins there. Twice: the clocks may be set between UTC's midnight and theirs.
export function midnightIn(zone: string, day: string): string {
    const clock = Date.parse(`${day}T00:00:00Z`);
    const near = clock - aheadMs(zone, clock);
    return new Date(clock - aheadMs(zone, near)).toISOString();
}
