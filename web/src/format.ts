// Numbers, times and durations as people read them.
import type { Language, Translate } from './i18n';

// The zone of all times of a page; undefined: the reader's own.
let pageZone: string | undefined;

export function setPageZone(zone: string | undefined): void {
    pageZone = zone;
}
export const shownZone = (): string | undefined => pageZone;

// A zone that the browser does not know is no reason to show nothing: then it is the reader's own.
export function inZone(
    at: Date,
    locale: string,
    format: Intl.DateTimeFormatOptions,
    timeZone: string | undefined = pageZone,
): string {
    try {
        return at.toLocaleString(locale, { ...format, timeZone });
    } catch {
        return at.toLocaleString(locale, format);
    }
}

export function formatTime(at: string | number | Date, locale: string, timeZone?: string): string {
    const format: Intl.DateTimeFormatOptions = {
        year: 'numeric',
        month: '2-digit',
        day: '2-digit',
        hour: '2-digit',
        minute: '2-digit',
        second: '2-digit',
        hourCycle: 'h23',
    };
    return inZone(new Date(at), locale, format, timeZone);
}

// With the year where it is another one.
export function formatFire(at: string, locale: string, timeZone?: string): string {
    const date = new Date(at);
    const yearOf = (day: Date) => inZone(day, locale, { year: 'numeric' }, timeZone);
    const format: Intl.DateTimeFormatOptions = {
        year: yearOf(date) === yearOf(new Date()) ? undefined : 'numeric',
        weekday: 'short',
        month: 'short',
        day: 'numeric',
        hour: '2-digit',
        minute: '2-digit',
        second: '2-digit',
        hourCycle: 'h23',
    };
    return inZone(date, locale, format, timeZone);
}

const english = { ms: 'ms', s: 's', min: 'min', h: 'h', d: 'd' };
const chinese = { ms: '毫秒', s: '秒', min: '分', h: '小时', d: '天' };
let units = english;

// The units of spans of time are the same on a whole page; they change with its language.
export function setUnits(language: Language): void {
    units = language === 'zh' ? chinese : english;
}

const inTwo = (count: number, perLarge: number, large: string, small: string): string => {
    const rest = count % perLarge;
    return `${Math.floor(count / perLarge)} ${large}${rest > 0 ? ` ${rest} ${small}` : ''}`;
};

// 1234 → "1.2 s"; two significant steps are enough to compare by eye.
export function formatMs(ms: number | null | undefined): string {
    if (ms === null || ms === undefined || Number.isNaN(ms)) return '–';
    if (ms < 1) return ms === 0 ? `0 ${units.ms}` : `<1 ${units.ms}`;
    // Each step rounds first and then looks whether the next larger unit is reached: 119,700 ms is 2 min,
    // not 1 min 60 s.
    if (Math.round(ms) < 1_000) return `${Math.round(ms)} ${units.ms}`;
    if (Math.round(ms / 10) < 1_000) return `${(ms / 1_000).toFixed(2)} ${units.s}`;
    if (Math.round(ms / 100) < 600) return `${(ms / 1_000).toFixed(1)} ${units.s}`;
    const seconds = Math.round(ms / 1_000);
    if (seconds < 3_600) return inTwo(seconds, 60, units.min, units.s);
    const minutes = Math.round(seconds / 60);
    if (minutes < 48 * 60) return inTwo(minutes, 60, units.h, units.min);
    return inTwo(Math.round(minutes / 60), 24, units.d, units.h);
}

// "15m" or "1h30m", as the server spells them, in the units of the page.
export const formatSpan = (span: string): string =>
    span
        .replace(
            /(\d)(ms|s|m|h|d)(?=\d|$)/g,
            (_, digit: string, unit: string) => `${digit} ${units[unit === 'm' ? 'min' : (unit as 's')]} `,
        )
        .trimEnd();

export function formatAgo(at: string, now: number, language: Language, t: Translate): string {
    const seconds = (now - Date.parse(at)) / 1_000;
    if (Math.abs(seconds) < 2) return t('time.now');
    const format = new Intl.RelativeTimeFormat(language, { numeric: 'always', style: 'short' });
    const steps: [number, Intl.RelativeTimeFormatUnit][] = [
        [86_400, 'day'],
        [3_600, 'hour'],
        [60, 'minute'],
    ];
    for (const [size, unit] of steps) {
        if (Math.abs(seconds) >= size) return format.format(-Math.trunc(seconds / size), unit);
    }
    return format.format(-Math.trunc(seconds), 'second');
}

export function formatNumber(value: number | null | undefined, locale: string, digits = 0): string {
    if (value === null || value === undefined) return '–';
    return value.toLocaleString(locale, { maximumFractionDigits: digits });
}

export function formatPercent(value: number | null | undefined, digits = 1): string {
    if (value === null || value === undefined) return '–';
    const percent = value * 100;
    if (percent === 100 || percent === 0) return `${percent} %`;
    // What is not all, or not nothing, is not rounded to it: one failure among a million shows.
    const least = 10 ** -digits;
    if (percent > 0 && percent < least) return `<${least} %`;
    return `${(percent < 100 ? Math.min(percent, 100 - least) : percent).toFixed(digits)} %`;
}

export const durationMs = (from: string | null, to: string | null, now: number): number | undefined =>
    from ? Math.max(0, (to ? Date.parse(to) : now) - Date.parse(from)) : undefined;
