// Values of a task as a person writes them in one line, and back.
import type { FormRule } from 'antd';
import type { JsonText } from '../../api/json';
import type { Task, TaskFields } from '../../api/types';
import { formatMs } from '../../format';
import type { Translate } from '../../i18n';

// Empty text is no value; the rest must be JSON, which the form has checked.
export const jsonOf = (text: string | undefined): JsonText | undefined => text?.trim() || undefined;

export const jsonRule = (t: Translate): FormRule => ({
    validator: async (_, text: string | undefined) => {
        try {
            JSON.parse(jsonOf(text) ?? 'null');
        } catch (error) {
            throw new Error(t('form.badJson', { why: error instanceof Error ? error.message : '' }));
        }
    },
});

// "region=eu, disk=ssd" ↔ {region: "eu", disk: "ssd"}
export const pairsRule = (t: Translate): FormRule => ({
    pattern: /^\s*([^=,]+=[^=,]*)(,\s*[^=,]+=[^=,]*)*\s*$/,
    message: t('form.badLabels'),
});

export function pairsOf(text: string | undefined): Record<string, string> | undefined {
    if (!text?.trim()) return undefined;
    return Object.fromEntries(
        text.split(',').map((pair) => {
            const [name = '', value = ''] = pair.split('=');
            return [name.trim(), value.trim()];
        }),
    );
}

export const pairsText = (pairs: Record<string, string> | undefined): string =>
    Object.entries(pairs ?? {})
        .map(([name, value]) => `${name}=${value}`)
        .join(', ');

// "ledger, gpu=2" ↔ ["ledger", {name: "gpu", permits: 2}]
export function locksOf(text: string | undefined): TaskFields['locks'] {
    const wanted = (text ?? '').split(',').map((each) => each.trim());
    const locks = wanted.filter(Boolean).map((each) => {
        const [name = '', permits] = each.split('=');
        return permits ? { name: name.trim(), permits: Number(permits) } : name.trim();
    });
    return locks.length > 0 ? locks : undefined;
}

export const locksText = (locks: TaskFields['locks']): string =>
    (locks ?? [])
        .map((lock) =>
            typeof lock === 'string' ? lock : `${lock.name}${lock.permits ? `=${lock.permits}` : ''}`,
        )
        .join(', ');

// The time limit that a task itself names.
export const limitText = ({ timeout_seconds }: Pick<Task, 'timeout_seconds'>): string | undefined =>
    timeout_seconds === undefined ? undefined : formatMs(timeout_seconds * 1_000);

export const asText = (value: string | number | undefined | null): string | undefined =>
    value === undefined || value === null ? undefined : String(value);

// A number of seconds, or a text such as "1h30m".
export const asDuration = (text: string | undefined): string | number | undefined => {
    const trimmed = text?.trim();
    if (!trimmed) return undefined;
    return /^\d+(\.\d+)?$/.test(trimmed) ? Number(trimmed) : trimmed;
};
