// What the server says in codes and values, as sentences in the reader's language. What it says in a code that
// this console does not know, because the server is newer, is shown in the server's own words.
import type { Problem } from '../api/client';
import type { Explanation, Failure } from '../api/types';
import { formatNumber, formatTime } from '../format';
import { isTextKey, type TextKey, type Translate } from '.';

// Fields that are filled in wrong in the same way, by what they have in common.
const kinds: Record<string, string> = {
    cron: 'cron',
    cron_expression: 'cron',
    delay: 'duration',
    duration: 'duration',
    end_at: 'time',
    expires_after: 'duration',
    expires_in: 'duration',
    interval: 'duration',
    interval_after_end: 'duration',
    'rate_limit.per': 'duration',
    'retry_policy.delay': 'duration',
    run_at: 'time',
    start_at: 'time',
    timeout_seconds: 'duration',
};

export function problemText({ code, field, status }: Problem, t: Translate): string {
    const keys = [
        field && `problem.${code}.${kinds[field] ?? field}`,
        field && `problem.${code}.other`,
        `problem.${code}`,
    ];
    return t(keys.find(isTextKey) ?? 'problem.refused', { field, status });
}

// What to do about it, where the console knows better than the server.
export function adviceKey({ code }: Problem): TextKey | undefined {
    const key = `advice.${code}`;
    return isTextKey(key) ? key : undefined;
}

// For places that take lines of text only.
export function problemLines(problem: Problem, t: Translate): string[] {
    const advice = adviceKey(problem);
    return [problemText(problem, t), advice ? t(advice) : problem.message].filter(Boolean);
}

const times = new Set(['at', 'since']);

export function explanationText(
    { code, explanation, values }: Explanation,
    t: Translate,
    locale: string,
): string {
    const key = `explain.${code}`;
    // A leader that is older than the scheduler which gave this page sends no values.
    if (!values || !isTextKey(key)) return explanation;
    const shown = ([name, value]: [string, string | number]) => {
        if (times.has(name)) return [name, formatTime(value, locale)];
        return [name, typeof value === 'number' ? formatNumber(value, locale) : value];
    };
    // What nobody gave a reason for ends with the sentence before it.
    return t(key, Object.fromEntries(Object.entries(values).map(shown))).trim();
}

// What a handler or an operator said needs no words before it; what a worker or a decoder said does. All other
// messages are the scheduler's own and say what the code says.
const messages: Record<string, 'alone' | 'after'> = {
    cancelled: 'alone',
    handler_failed: 'alone',
    rejected: 'after',
    undecodable: 'after',
};

export function reasonText({ code, message }: Failure, t: Translate): string {
    const key = `reason.${code}`;
    return isTextKey(key) ? t(key) : message || code;
}

// In one line.
export function failureText(failure: Failure, t: Translate): string {
    const { code, message } = failure;
    const place = messages[code];
    if (message && place === 'alone') return message;
    const reason = reasonText(failure, t);
    return message && place === 'after' ? t('reason.with', { reason, message }) : reason;
}
