// How long each run took, over time.
import { useMemo } from 'react';
import { useNavigate } from 'react-router-dom';
import type { Execution } from '../../api/types';
import { Chart } from '../../components/Chart';
import { dotChart } from '../../components/chartOptions';
import { EmptyNote } from '../../components/States';
import { formatMs, formatTime } from '../../format';
import { usePalette } from '../../hooks/usePalette';
import { usePreferences } from '../../hooks/usePreferences';
import { useI18n } from '../../i18n';

export function DurationChart({ runs, emptyText }: { runs: Execution[]; emptyText?: string }) {
    const { t, locale } = useI18n();
    const utc = usePreferences().zone === 'utc';
    const palette = usePalette();
    const navigate = useNavigate();
    const ended = useMemo(() => runs.filter((run) => run.started_at && run.finished_at), [runs]);
    const option = useMemo(
        () =>
            dotChart(
                palette,
                ended.map((run) => {
                    const at = Date.parse(run.started_at ?? '');
                    const took = Date.parse(run.finished_at ?? '') - at;
                    return {
                        at,
                        value: took,
                        colour: palette.status[run.status],
                        label: `${formatTime(at, locale)}\n${t(`status.${run.status}`)} · ${formatMs(took)}`,
                    };
                }),
                formatMs,
                { utc },
            ),
        [ended, palette, locale, t, utc],
    );
    if (ended.length === 0) return <EmptyNote title={t('task.noDurations')} text={emptyText} />;
    return (
        <Chart
            option={option}
            height={190}
            label={t('task.durations')}
            onClick={(index) => navigate(`/executions/${encodeURIComponent(ended[index]?.id ?? '')}`)}
        />
    );
}
