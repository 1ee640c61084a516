// What waits by queue, and what of it could start now by priority.
import { Card, Segmented } from 'antd';
import { type ReactNode, useState } from 'react';
import { Link } from 'react-router-dom';
import { api } from '../../api/client';
import { type Metrics, type Queue, readyOf } from '../../api/types';
import { EmptyNote, Loaded } from '../../components/States';
import { formatMs, formatNumber } from '../../format';
import { type Data, useData } from '../../hooks/useData';
import { usePalette } from '../../hooks/usePalette';
import { type Translate, useI18n } from '../../i18n';
import { explanationText } from '../../i18n/said';

const shownMax = 6;

interface Bar {
    key: string;
    name: string;
    value: number;
    later?: number; // Not ready: shown paler, behind what is.
    detail: string;
    to: string;
    colour: string;
    why?: ReactNode;
}

function BarList({ bars }: { bars: Bar[] }) {
    const { locale } = useI18n();
    const most = Math.max(1, ...bars.map(({ value, later = 0 }) => value + later));
    const share = (value: number) => ({ width: `${(100 * value) / most}%` });
    return (
        <ul className="rows">
            {bars.map((bar) => (
                <li key={bar.key}>
                    <Link to={bar.to} className="backlog-name clip">
                        {bar.name}
                    </Link>
                    <div className="load-track grow">
                        <div className="load-fill" style={{ ...share(bar.value), background: bar.colour }} />
                        <div className="load-fill later-fill" style={share(bar.later ?? 0)} />
                    </div>
                    <b className="number backlog-count">{formatNumber(bar.value, locale)}</b>
                    <span className="muted small backlog-detail">{bar.detail}</span>
                    {bar.why}
                </li>
            ))}
        </ul>
    );
}

// Long enough that somebody asks why.
const stuckSeconds = 10;

// Of a paused one the row itself says why.
const isStuck = ({ paused, working, oldest_wait_seconds: wait }: Queue): boolean =>
    !paused && working === 0 && (wait ?? 0) > stuckSeconds;

function QueueWhy({ name }: { name: string }) {
    const { t, locale } = useI18n();
    const why = useData((signal) => api.explainQueue(name, signal), [name], {
        topics: ['worker', 'queue'],
        everyMs: 10_000,
    });
    if (!why.data || why.data.code === 'queue_empty') return null;
    return (
        <div className="backlog-why warned small" data-testid="queue-why">
            {explanationText(why.data, t, locale)}
        </div>
    );
}

// What is not ready: of a paused queue everything; else what is for later, for a retry, or held back by a limit.
function detailOf({ paused, waiting, ready, oldest_wait_seconds: wait }: Queue, t: Translate): string {
    if (paused) return t('queue.pausedWith', { count: waiting });
    const parts = [
        waiting > ready && t('queue.later', { count: waiting - ready }),
        wait !== null && t('queue.oldest', { time: formatMs(wait * 1_000) }),
    ];
    return parts.filter(Boolean).join(' · ');
}

function ByQueue({ queues }: { queues: Queue[] }) {
    const { t } = useI18n();
    const palette = usePalette();
    const bars = queues
        .map((queue) => ({ ...queue, ready: readyOf(queue) }))
        .filter(({ waiting }) => waiting > 0)
        .sort((a, b) => b.waiting - a.waiting)
        .slice(0, shownMax)
        .map((queue) => ({
            key: queue.name,
            name: queue.name,
            value: queue.ready,
            later: queue.waiting - queue.ready,
            detail: detailOf(queue, t),
            to: `/queues/${encodeURIComponent(queue.name)}`,
            why: queue.waiting > 0 && isStuck(queue) ? <QueueWhy name={queue.name} /> : undefined,
            colour: palette.accent,
        }));
    return <BarList bars={bars} />;
}

function ByPriority({ ready }: { ready: number[] }) {
    const { t } = useI18n();
    const palette = usePalette();
    const bars = ready
        .map((value, priority) => ({
            key: String(priority),
            name: t('task.priorityOf', { value: priority }),
            value,
            detail: '',
            to: '/executions?status=pending,retrying',
            colour:
                palette.priorities[priority >= 9 ? 3 : priority >= 7 ? 2 : priority >= 4 ? 1 : 0] ??
                palette.accent,
        }))
        .filter(({ value }) => value > 0)
        .reverse();
    if (bars.length > 0) return <BarList bars={bars} />;
    return <EmptyNote title={t('overview.nothingReady')} text={t('overview.nothingReadyText')} />;
}

export function Backlog({ metrics }: { metrics: Data<Metrics> }) {
    const { t } = useI18n();
    const [by, setBy] = useState<'queue' | 'priority'>('queue');
    const queues = useData((signal) => api.queues(signal), [], { topics: ['task', 'queue'], everyMs: 5_000 });
    return (
        <Card
            className="span-6"
            size="small"
            title={t('overview.backlog')}
            extra={
                <Segmented
                    size="small"
                    value={by}
                    onChange={setBy}
                    options={[
                        { value: 'queue', label: t('overview.byQueue') },
                        { value: 'priority', label: t('overview.byPriority') },
                    ]}
                />
            }
        >
            {by === 'priority' ? (
                <Loaded of={metrics}>{({ tasks_ready }) => <ByPriority ready={tasks_ready} />}</Loaded>
            ) : (
                <Loaded of={queues}>
                    {({ items }) =>
                        items.some(({ waiting }) => waiting > 0) ? (
                            <ByQueue queues={items} />
                        ) : (
                            <EmptyNote
                                title={t('overview.nothingWaits')}
                                text={t('overview.nothingWaitsText')}
                            />
                        )
                    }
                </Loaded>
            )}
        </Card>
    );
}
