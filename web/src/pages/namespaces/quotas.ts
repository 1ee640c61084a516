// What a namespace may use, between a form and the API.
import type { Namespace, NamespaceFields } from '../../api/types';

export const countQuotas = [
    'executions_waiting',
    'submits_per_second',
    'payload_bytes',
    'workers',
    'log_bytes',
] as const;
export const quotaNames = [...countQuotas, 'retention'] as const;
export type QuotaName = (typeof quotaNames)[number];

export type QuotaAnswers = Partial<Record<(typeof countQuotas)[number], number | null>> & {
    retention?: string;
};

export const quotaAnswers = ({ quotas }: Namespace): QuotaAnswers => ({
    ...quotas,
    retention: quotas.retention ?? undefined,
});

// An empty field is no bound.
export function quotaFields(answers: QuotaAnswers): NonNullable<NamespaceFields['quotas']> {
    const counts = Object.fromEntries(countQuotas.map((name) => [name, answers[name] ?? null]));
    return { ...counts, retention: answers.retention?.trim() || null };
}

export const givenQuotas = ({ quotas }: Namespace): QuotaName[] =>
    quotaNames.filter((name) => quotas[name] !== null && quotas[name] !== undefined);
