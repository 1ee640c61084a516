// The steps of a workflow as the pictures of it need them: of its definition, of a run of it, or of both.
import type { RunStep, Step } from '../../api/types';

export type StepState = RunStep['status'];
export type Counts = RunStep['executions'];

export interface FlowStep {
    name: string;
    after: readonly string[];
    type?: string;
    task?: string; // The task that it runs, instead of a type.
    when?: Step['when'];
    conditional: boolean;
    fan?: 'shards' | 'for_each' | 'each_worker';
    shards?: number;
    run?: RunStep; // Where it stands, in a run.
}

export function stepsOfDefinition(steps: readonly Step[]): FlowStep[] {
    return steps.map((step) => ({
        name: step.name,
        after: step.after ?? [],
        type: step.task ? undefined : (step.type ?? step.name),
        task: step.task,
        when: step.when === 'all_success' ? undefined : step.when,
        conditional: step.if !== undefined,
        fan: step.shards
            ? 'shards'
            : step.for_each !== undefined
              ? 'for_each'
              : step.each_worker
                ? 'each_worker'
                : undefined,
        shards: step.shards,
    }));
}

// Where the steps of a run stand. The definition may have been changed since the run began: what it says of a
// step counts only as long as the step still waits for the same ones.
export function stepsOfRun(items: readonly RunStep[], definition: readonly Step[] = []): FlowStep[] {
    const known = new Map(stepsOfDefinition(definition).map((step) => [step.name, step]));
    return items.map((run) => {
        const { name, after } = run;
        const said = known.get(name);
        const same = said && said.after.join('\n') === after.join('\n');
        const many = run.executions.total > 1;
        return same
            ? { ...said, run }
            : { name, after, conditional: false, fan: many ? 'shards' : undefined, run };
    });
}

// How far a run is, over all steps: what is skipped is over too.
export function stepsOver(steps: readonly FlowStep[]): number {
    return steps.filter(({ run }) => run && run.status !== 'pending' && run.status !== 'running').length;
}

// The step that a person wants to see first: what failed, else what runs, else the first.
export function stepOfInterest(steps: readonly FlowStep[]): FlowStep | undefined {
    const of = (state: StepState) => steps.find(({ run }) => run?.status === state);
    return of('failed') ?? of('running') ?? steps[0];
}

// Those before it that it still waits for.
export function waitsFor(step: FlowStep, steps: readonly FlowStep[]): FlowStep[] {
    return steps.filter(
        ({ name, run }) =>
            step.after.includes(name) && (!run || run.status === 'pending' || run.status === 'running'),
    );
}

// The parts of a step's executions, in the order in which a bar shows them.
export const countStates = ['success', 'failed', 'cancelled', 'skipped', 'running', 'waiting'] as const;
