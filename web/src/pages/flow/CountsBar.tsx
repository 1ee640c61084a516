// How many executions of a step stand where, as one bar.
import type { CSSProperties } from 'react';
import { usePalette } from '../../hooks/usePalette';
import { type TextKey, useI18n } from '../../i18n';
import { type Counts, countStates } from './flowSteps';
import './flow.css';

const textOf = (state: (typeof countStates)[number]): TextKey =>
    state === 'waiting' ? 'flow.waiting' : `status.${state}`;

export function useCountsText() {
    const { t } = useI18n();
    return (counts: Counts): string =>
        countStates
            .filter((state) => counts[state] > 0)
            .map((state) => `${t(textOf(state))} ${counts[state]}`)
            .join(' · ');
}

export function CountsBar({ counts }: { counts: Counts }) {
    const palette = usePalette();
    const text = useCountsText()(counts);
    const whole = Math.max(
        1,
        countStates.reduce((sum, state) => sum + counts[state], 0),
    );
    const colour = { ...palette.status, waiting: palette.line };
    return (
        <span className="counts-bar" role="img" aria-label={text} title={text}>
            {countStates
                .filter((state) => counts[state] > 0)
                .map((state) => (
                    <i
                        key={state}
                        style={
                            {
                                '--part': `${(counts[state] / whole) * 100}%`,
                                background: colour[state],
                            } as CSSProperties
                        }
                    />
                ))}
        </span>
    );
}
