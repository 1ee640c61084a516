// A run of a workflow, as a graph and over time.
import { Card, Empty, Progress, Segmented } from 'antd';
import { useMemo, useState } from 'react';
import { Link, useSearchParams } from 'react-router-dom';
import { api, isFinished } from '../../api/client';
import type { Execution, RunSteps, Step } from '../../api/types';
import { Loaded } from '../../components/States';
import { useData } from '../../hooks/useData';
import { useI18n } from '../../i18n';
import { FlowView } from './FlowView';
import { type FlowStep, stepsOfRun, stepsOver } from './flowSteps';
import { StepPanel } from './StepPanel';
import { Waterfall } from './Waterfall';
import './flow.css';

type Picture = 'graph' | 'waterfall';
const pictureKey = 'takt.flow.picture';

function firstPicture(): Picture {
    return localStorage.getItem(pictureKey) === 'waterfall' ? 'waterfall' : 'graph';
}

// The definition tells what a run does not: conditions, kinds of fan-out. It may be gone; then there is less to see.
function useDefinition(run: Execution): readonly Step[] | undefined {
    const task = useData((signal) => api.task(run.task_id, signal).catch(() => undefined), [run.task_id]);
    return task.data?.steps;
}

interface PicturesProps {
    run: Execution;
    steps: readonly FlowStep[];
    reload: () => void;
}

function Pictures({ run, steps, reload }: PicturesProps) {
    const { t } = useI18n();
    // The step that is looked at is in the address, so that it can be sent to somebody.
    const [query, setQuery] = useSearchParams();
    const [picture, setPicture] = useState(firstPicture);
    const chosen = query.get('step') ?? undefined;
    const step = steps.find(({ name }) => name === chosen);
    const choose = (name: string | undefined) => {
        const next = new URLSearchParams(query);
        if (name) next.set('step', name);
        else next.delete('step');
        setQuery(next, { replace: true });
    };
    const over = stepsOver(steps);
    return (
        <Card
            size="small"
            className="flow-card"
            title={
                <span className="row-gap">
                    {t('flow.steps')}
                    <span className="muted small">{t('flow.over', { over, total: steps.length })}</span>
                </span>
            }
            extra={
                <span className="row-gap">
                    <Link
                        className="small wide-only"
                        to={`/executions?parent_id=${encodeURIComponent(run.id)}`}
                    >
                        {t('flow.executions')}
                    </Link>
                    <Segmented<Picture>
                        size="small"
                        value={picture}
                        onChange={(next) => {
                            localStorage.setItem(pictureKey, next);
                            setPicture(next);
                        }}
                        options={[
                            { value: 'graph', label: t('flow.graph') },
                            { value: 'waterfall', label: t('flow.waterfall') },
                        ]}
                    />
                </span>
            }
        >
            {!isFinished(run.status) && (
                <Progress size="small" showInfo={false} percent={(over / Math.max(1, steps.length)) * 100} />
            )}
            {picture === 'graph' ? (
                <FlowView
                    steps={steps}
                    label={t('flow.graphOf', { name: run.task_name })}
                    chosen={chosen}
                    onChoose={choose}
                />
            ) : (
                <Waterfall
                    steps={steps}
                    began={run.started_at ?? run.created_at}
                    ended={run.finished_at}
                    chosen={chosen}
                    onChoose={choose}
                />
            )}
            {step && (
                <StepPanel
                    run={run}
                    step={step}
                    steps={steps}
                    onClose={() => choose(undefined)}
                    changed={reload}
                />
            )}
        </Card>
    );
}

function RunPictures({ run, data, reload }: { run: Execution; data: RunSteps; reload: () => void }) {
    const definition = useDefinition(run);
    const steps = useMemo(() => stepsOfRun(data.items, definition), [data.items, definition]);
    if (steps.length === 0) return <Empty />;
    return <Pictures run={run} steps={steps} reload={reload} />;
}

export function RunFlow({ run, changed }: { run: Execution; changed: () => void }) {
    const steps = useData((signal) => api.steps(run.id, signal), [run.id, run.status], {
        topics: ['task'],
        // An event names the execution of a step, not its run: every one of the task's may be one of this run.
        concerns: (event) => event.task_id === run.task_id || event.execution_id === run.id,
        everyMs: isFinished(run.status) ? 60_000 : 2_000,
    });
    const reload = () => {
        changed();
        steps.reload();
    };
    return <Loaded of={steps}>{(data) => <RunPictures run={run} data={data} reload={reload} />}</Loaded>;
}
