// A step on the graph: its name, what it is, and where it stands.
import {
    BranchesOutlined,
    ClusterOutlined,
    NodeIndexOutlined,
    QuestionCircleOutlined,
    WarningFilled,
} from '@ant-design/icons';
import { Handle, type Node, type NodeProps, Position } from '@xyflow/react';
import type { CSSProperties } from 'react';
import { Took } from '../../components/Time';
import { usePalette } from '../../hooks/usePalette';
import { useI18n } from '../../i18n';
import { CountsBar } from './CountsBar';
import type { FlowStep } from './flowSteps';

export interface StepData extends Record<string, unknown> {
    step: FlowStep;
    narrow: boolean;
    chosen: boolean;
    mistake: string | undefined;
    choose: (name: string) => void;
}

export type StepNodeType = Node<StepData, 'step'>;

function FanText({ step }: { step: FlowStep }) {
    const { t } = useI18n();
    const { run, fan } = step;
    if (fan && run && run.executions.total > 0) {
        return (
            <>
                {run.executions.success} / {run.executions.total}
            </>
        );
    }
    if (fan === 'shards' && step.shards) return <>× {step.shards}</>;
    return fan ? <>{t(`flow.fan.${fan}`)}</> : null;
}

// The second line: what it is made of, or how long it took.
function Detail({ step }: { step: FlowStep }) {
    const { t } = useI18n();
    const { run } = step;
    if (run?.started_at) {
        return (
            <span className="number">
                <Took from={run.started_at} to={run.finished_at} />
            </span>
        );
    }
    if (run) return <span>{t(`status.${run.status}`)}</span>;
    return <span className="clip">{step.task ?? step.type}</span>;
}

function Marks({ step, mistake }: { step: FlowStep; mistake: string | undefined }) {
    const { t } = useI18n();
    return (
        <span className="step-marks">
            {step.when && (
                <span className="step-when" title={t(`flow.when.${step.when}`)}>
                    <BranchesOutlined /> {t(`flow.whenShort.${step.when}`)}
                </span>
            )}
            {step.conditional && <QuestionCircleOutlined title={t('flow.conditional')} />}
            {step.task && <NodeIndexOutlined title={t('flow.runsTask', { task: step.task })} />}
            {step.fan && (
                <span title={t(`flow.fan.${step.fan}`)}>
                    <ClusterOutlined /> <FanText step={step} />
                </span>
            )}
            {mistake && <WarningFilled className="step-mistake" title={mistake} />}
        </span>
    );
}

export function StepNode({ data }: NodeProps<StepNodeType>) {
    const { step, narrow, chosen, mistake, choose } = data;
    const { t } = useI18n();
    const palette = usePalette();
    const state = step.run?.status;
    const colour = mistake ? palette.status.failed : state ? palette.status[state] : palette.accent;
    const classes = [
        'step-node',
        state ? `step-${state}` : '',
        chosen ? 'step-chosen' : '',
        mistake ? 'step-wrong' : '',
    ];
    return (
        <>
            <Handle type="target" position={narrow ? Position.Top : Position.Left} isConnectable={false} />
            <button
                type="button"
                className={classes.filter(Boolean).join(' ')}
                style={{ '--state': colour } as CSSProperties}
                aria-label={state ? `${step.name}: ${t(`status.${state}`)}` : step.name}
                aria-pressed={chosen}
                data-step={step.name}
                data-status={state}
                onClick={() => choose(step.name)}
            >
                <span className="step-name" title={step.name}>
                    {step.name}
                </span>
                <span className="step-detail">
                    <Detail step={step} />
                    <Marks step={step} mistake={mistake} />
                </span>
                {step.fan && step.run && <CountsBar counts={step.run.executions} />}
            </button>
            <Handle
                type="source"
                position={narrow ? Position.Bottom : Position.Right}
                isConnectable={false}
            />
        </>
    );
}
