// The run that an execution is a part of, and which part.
import { Link } from 'react-router-dom';
import type { Execution } from '../../api/types';
import { Field } from '../../components/Field';
import { type Translate, useI18n } from '../../i18n';

export function partText({ step, shard }: Execution, t: Translate): string {
    if (!step) return '';
    return shard
        ? t('flow.partOfShard', { step, index: shard.index + 1, total: shard.total })
        : t('flow.partOf', { step });
}

export function PartOf({ execution }: { execution: Execution }) {
    const { t } = useI18n();
    const { parent_id, step } = execution;
    if (!parent_id) return null;
    const to = `/executions/${encodeURIComponent(parent_id)}${step ? `?step=${encodeURIComponent(step)}` : ''}`;
    return (
        <Field label={t('flow.part')}>
            <Link to={to} data-testid="parent">
                <code>{parent_id}</code>
            </Link>
            <div className="muted small">{partText(execution, t)}</div>
        </Field>
    );
}
