// How many executions there are in each state, and when they were made: chosen by a click.
import { Tooltip } from 'antd';
import { api, type ExecutionFilter } from '../../api/client';
import { type ExecutionCounts, type Status, statuses } from '../../api/types';
import { formatNumber, formatTime } from '../../format';
import { useData } from '../../hooks/useData';
import { usePalette } from '../../hooks/usePalette';
import { useI18n } from '../../i18n';

interface Props {
    filter: ExecutionFilter;
    onChange: (change: ExecutionFilter) => void;
}

const spans: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

// "5m", "12h": one number and one unit, as the server spells the step of a chart.
export function stepMs(step: string): number {
    const [, count = '1', unit = 's'] = /^(\d+)([smhd])/.exec(step) ?? [];
    return Number(count) * (spans[unit] ?? 1_000);
}

function Columns({
    counts,
    onChoose,
}: {
    counts: ExecutionCounts;
    onChoose: (from: string, to: string) => void;
}) {
    const { t, locale } = useI18n();
    const palette = usePalette();
    const totals = counts.items.map((item) => statuses.reduce((sum, status) => sum + item[status], 0));
    const most = Math.max(1, ...totals);
    const step = stepMs(counts.step);
    const first = counts.items[0];
    const last = counts.items[counts.items.length - 1];
    if (!first || !last) return null;
    return (
        <div className="columns">
            <div className="columns-bars" role="group" aria-label={t('list.overTime')}>
                {counts.items.map((item, index) => {
                    const said = statuses
                        .filter((status) => item[status] > 0)
                        .map((status) => `${t(`status.${status}`)} ${formatNumber(item[status], locale)}`);
                    const title = [formatTime(item.at, locale), ...said].join(' · ');
                    return (
                        <Tooltip key={item.at} title={title} mouseEnterDelay={0}>
                            <button
                                type="button"
                                className="column"
                                aria-label={title}
                                disabled={totals[index] === 0}
                                onClick={() =>
                                    onChoose(item.at, new Date(Date.parse(item.at) + step).toISOString())
                                }
                            >
                                {statuses
                                    .filter((status) => item[status] > 0)
                                    .map((status) => (
                                        <i
                                            key={status}
                                            style={{
                                                height: `${(item[status] / most) * 100}%`,
                                                background: palette.status[status],
                                            }}
                                        />
                                    ))}
                            </button>
                        </Tooltip>
                    );
                })}
            </div>
            <div className="columns-ends muted small">
                <span>{formatTime(first.at, locale)}</span>
                {!counts.complete && (
                    <span>{t('list.countedNewest', { count: formatNumber(counts.total, locale) })}</span>
                )}
                <span>{formatTime(Date.parse(last.at) + step, locale)}</span>
            </div>
        </div>
    );
}

export function StateTabs({ filter, onChange }: Props) {
    const { t, locale } = useI18n();
    const palette = usePalette();
    const { status, ...others } = filter;
    // Without the state: each tab tells how many there would be.
    const counts = useData((signal) => api.executionCounts(others, signal), [JSON.stringify(others)], {
        topics: ['task'],
        everyMs: 30_000,
        restMs: 5_000,
    });
    const chosen = status ? status.split(',') : [];
    const number = (count: number | undefined) =>
        count === undefined
            ? '…'
            : `${formatNumber(count, locale)}${counts.data && !counts.data.complete ? '+' : ''}`;
    const tab = (name: Status | '', label: string, count: number | undefined) => (
        <button
            key={name}
            type="button"
            className="state-tab"
            aria-pressed={name ? chosen.includes(name) : chosen.length === 0}
            onClick={() => onChange({ status: name || undefined })}
        >
            {name && <i aria-hidden="true" style={{ background: palette.status[name] }} />}
            {label} <b className="number">{number(count)}</b>
        </button>
    );
    return (
        <div className="state-tabs-box">
            <div className="state-tabs" role="group" aria-label={t('execution.status')}>
                {tab('', t('list.every'), counts.data?.total)}
                {statuses.map((name) => tab(name, t(`status.${name}`), counts.data?.counts[name]))}
            </div>
            {/* Its room is kept until it has come, and while there is little to show. */}
            <div className="columns-room">
                {counts.data && counts.data.items.length > 1 && (
                    <Columns counts={counts.data} onChoose={(from, to) => onChange({ from, to })} />
                )}
            </div>
        </div>
    );
}
