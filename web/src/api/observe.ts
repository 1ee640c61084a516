// What the API answers about alerts and statistics.
import type { Alert, AlertRule, AlertRulePut, StatisticsLine } from './schema';

export type {
    Alert,
    AlertChannel,
    AlertChannelPut,
    AlertMetric,
    AlertRule,
    QueueHistory,
    Series,
    SeriesPoint,
} from './schema';

export type Severity = Alert['severity'];
export type AlertState = AlertRule['state'] | Alert['state'];
export type Operator = AlertRule['operator'];
export const operators = ['>', '>=', '<', '<=', '==', '!='] as const satisfies readonly Operator[];

// Without channels every channel is told.
export type AlertRuleFields = Pick<
    AlertRule,
    'description' | 'metric' | 'operator' | 'threshold' | 'subject' | 'duration' | 'severity' | 'enabled'
> &
    Pick<AlertRulePut, 'channels'>;

export type Statistic = StatisticsLine;
