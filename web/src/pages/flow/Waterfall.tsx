// The steps of a run over time: when each could begin, when it began, when it was over.
import { type CSSProperties, useMemo } from 'react';
import { durationMs, formatMs } from '../../format';
import { useNow } from '../../hooks/useNow';
import { usePalette } from '../../hooks/usePalette';
import { useI18n } from '../../i18n';
import { CountsBar } from './CountsBar';
import type { FlowStep } from './flowSteps';
import './flow.css';

interface Props {
    steps: readonly FlowStep[];
    began: string; // The run itself.
    ended: string | null;
    chosen?: string;
    onChoose: (name: string) => void;
}

// About so many lines cross the picture, at round times.
const ticksWanted = 5;
const second = 1_000;
const roundTimes = [
    1,
    2,
    5,
    10,
    20,
    50,
    100,
    200,
    500,
    ...[1, 2, 5, 10, 15, 30].map((each) => each * second),
    ...[1, 2, 5, 10, 15, 30].map((each) => each * 60 * second),
    ...[1, 2, 4, 6, 12, 24, 48].map((each) => each * 3_600 * second),
];

function ticksOf(whole: number): number[] {
    const step = roundTimes.find((each) => whole / each <= ticksWanted) ?? whole / ticksWanted;
    const ticks: number[] = [];
    for (let at = 0; at < whole; at += step) ticks.push(at);
    return ticks;
}

interface Bar {
    step: FlowStep;
    ready: number; // When all that it waits for was over; since the run began, in ms.
    from: number | undefined;
    to: number | undefined;
}

function barsOf(steps: readonly FlowStep[], began: number, now: number): Bar[] {
    const since = (at: string | null | undefined) => (at ? Math.max(0, Date.parse(at) - began) : undefined);
    const over = new Map(steps.map(({ name, run }) => [name, since(run?.finished_at)]));
    const bars = steps.map((step) => {
        const before = step.after.map((name) => over.get(name) ?? 0);
        const from = since(step.run?.started_at);
        const to = since(step.run?.finished_at) ?? (from === undefined ? undefined : now - began);
        return { step, ready: Math.max(0, ...before), from, to };
    });
    // In the order in which they began; what has not begun stands below, as the workflow has it.
    const place = (bar: Bar) => bar.from ?? Number.POSITIVE_INFINITY;
    return bars.sort((a, b) => (place(a) === place(b) ? 0 : place(a) - place(b)));
}

function Row({
    bar,
    whole,
    chosen,
    onChoose,
}: {
    bar: Bar;
    whole: number;
    chosen: boolean;
    onChoose: () => void;
}) {
    const { t } = useI18n();
    const palette = usePalette();
    const { step, ready, from, to } = bar;
    const share = (ms: number) => `${(Math.min(ms, whole) / whole) * 100}%`;
    const state = step.run?.status ?? 'pending';
    const waited = from === undefined ? 0 : from - Math.min(ready, from);
    const took = from === undefined || to === undefined ? '' : formatMs(to - from);
    const said = [t(`status.${state}`), took, waited >= 1 ? t('flow.waited', { time: formatMs(waited) }) : '']
        .filter(Boolean)
        .join(' · ');
    return (
        <button
            type="button"
            className={chosen ? 'fall-row fall-chosen' : 'fall-row'}
            onClick={onChoose}
            aria-label={`${step.name}: ${said}`}
            data-step={step.name}
            data-status={state}
        >
            <span className="fall-name" title={step.name}>
                <i style={{ background: palette.status[state] }} />
                <span>{step.name}</span>
            </span>
            <span className="fall-track" title={said}>
                {from !== undefined && waited > 0 && (
                    <span
                        className="fall-wait"
                        style={{ left: share(from - waited), width: share(waited) } as CSSProperties}
                    />
                )}
                {from !== undefined && to !== undefined && (
                    <span
                        className={state === 'running' ? 'fall-bar fall-running' : 'fall-bar'}
                        style={{
                            left: share(from),
                            width: share(to - from),
                            background: palette.status[state],
                        }}
                    />
                )}
            </span>
            <span className="fall-took number">{took || t(`status.${state}`)}</span>
            {step.fan && step.run && step.run.executions.total > 0 && (
                <span className="fall-counts">
                    <CountsBar counts={step.run.executions} />
                </span>
            )}
        </button>
    );
}

export function Waterfall({ steps, began, ended, chosen, onChoose }: Props) {
    const { t } = useI18n();
    const now = useNow();
    const whole = Math.max(1, durationMs(began, ended, now) ?? 1);
    const until = ended ? Date.parse(ended) : now;
    const bars = useMemo(() => barsOf(steps, Date.parse(began), until), [steps, began, until]);
    return (
        <div className="fall" role="group" aria-label={t('flow.waterfall')} data-testid="waterfall">
            <div className="fall-head">
                <span />
                <span className="fall-ticks">
                    {ticksOf(whole).map((at) => (
                        <span key={at} style={{ left: `${(at / whole) * 100}%` }}>
                            {formatMs(at)}
                        </span>
                    ))}
                </span>
                <span />
            </div>
            <div className="fall-rows">
                {bars.map((bar) => (
                    <Row
                        key={bar.step.name}
                        bar={bar}
                        whole={whole}
                        chosen={bar.step.name === chosen}
                        onChoose={() => onChoose(bar.step.name)}
                    />
                ))}
            </div>
        </div>
    );
}
