// The graph of a workflow, on the page of its task.
import { Card } from 'antd';
import { useMemo, useState } from 'react';
import type { Step, Task } from '../../api/types';
import { Field, Fields } from '../../components/Field';
import { JsonBox } from '../../components/JsonBox';
import { useI18n } from '../../i18n';
import { FlowView } from './FlowView';
import { stepsOfDefinition } from './flowSteps';
import './flow.css';

// All that a step says, but for what the graph shows already.
function Definition({ step }: { step: Step }) {
    const { t } = useI18n();
    const { name, type, task, after, when, ...rest } = step;
    return (
        <div className="flow-definition" data-testid="step-definition">
            <h3>{name}</h3>
            <Fields>
                <Field label={task ? t('task.task') : t('task.type')}>{task ?? type ?? name}</Field>
                <Field label={t('flow.after')}>{after?.length ? after.join(', ') : undefined}</Field>
                <Field label={t('flow.begins')}>{t(`flow.when.${when ?? 'all_success'}`)}</Field>
            </Fields>
            {Object.keys(rest).length > 0 && <JsonBox value={JSON.stringify(rest)} />}
        </div>
    );
}

export function TaskFlow({ task }: { task: Task }) {
    const { t } = useI18n();
    const [chosen, setChosen] = useState<string>();
    const all = task.steps;
    const steps = useMemo(() => stepsOfDefinition(all ?? []), [all]);
    const step = all?.find(({ name }) => name === chosen);
    return (
        <Card
            size="small"
            className="flow-card"
            title={
                <span className="row-gap">
                    {t('flow.steps')} <span className="muted small">{steps.length}</span>
                </span>
            }
            extra={<span className="muted small">{t(`flow.onFailure.${task.on_failure ?? 'stop'}`)}</span>}
        >
            <FlowView
                steps={steps}
                label={t('flow.graphOf', { name: task.name })}
                chosen={chosen}
                onChoose={(name) => setChosen(name === chosen ? undefined : name)}
            />
            {step && <Definition step={step} />}
        </Card>
    );
}
