// Alerts and rules as sentences in the reader's language.
import type { Alert, AlertRule } from '../../api/observe';
import { formatMs, formatNumber, formatPercent, formatSpan } from '../../format';
import { isTextKey, type Translate, translate } from '../../i18n';

// `otherwise` is for a metric that this console does not know, because the server is newer.
export function metricText(metric: string, t: Translate, otherwise = metric): string {
    const key = `metric.${metric}`;
    return isTextKey(key) ? t(key) : otherwise;
}

// Parts of a whole are told in percent, times in units that people read.
export const isRatio = (metric: string): boolean => /_(rate|utilization|ratio)$/.test(metric);
export const isSeconds = (metric: string): boolean => /_seconds$/.test(metric);

export function valueText(metric: string, value: number | null, locale: string): string {
    if (isRatio(metric)) return formatPercent(value);
    if (isSeconds(metric)) return formatMs(value === null ? null : value * 1_000);
    return formatNumber(value, locale, 3);
}

// A task by its name; whatever has none by its id.
export const subjectText = ({ subject, subject_name: name }: Pick<Alert, 'subject' | 'subject_name'>) =>
    name || subject;

type Condition = Pick<Alert, 'metric' | 'operator' | 'threshold'>;

const namesOf = ({ metric, operator, threshold }: Condition, t: Translate, locale: string) => ({
    metric: metricText(metric, t),
    operator: t(`operator.${operator}`),
    threshold: valueText(metric, threshold, locale),
});

export function alertText(alert: Alert, t: Translate, locale: string): string {
    const value = valueText(alert.metric, alert.value, locale);
    const names = namesOf(alert, t, locale);
    // The value of one that is over does not fulfil the condition any more, and says nothing of why it fired.
    const text =
        alert.state === 'resolved' ? t('alert.textOver', names) : t('alert.text', { ...names, value });
    return alert.subject ? t('alert.textOf', { subject: subjectText(alert), text }) : text;
}

export function conditionText(rule: AlertRule, t: Translate, locale: string): string {
    const names = namesOf(rule, t, locale);
    const text =
        rule.duration === '0s'
            ? t('alert.conditionNow', names)
            : t('alert.conditionText', { ...names, duration: formatSpan(rule.duration) });
    return rule.subject ? t('alert.conditionOf', { subject: rule.subject, text }) : text;
}

// A built-in rule says what it is for in the reader's language, unless somebody has described it anew.
export function ruleText({ name, description }: AlertRule, t: Translate): string {
    const key = `rule.${name}`;
    return isTextKey(key) && description === translate('en', key) ? t(key) : description;
}
