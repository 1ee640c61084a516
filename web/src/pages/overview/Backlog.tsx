// What waits by queue, and what of it could start now by priority.
import { Card, Segmented } from 'antd';
import { type ReactNode, useState } from 'react';
import { Link } from 'react-router-dom';
import { api } from '../../api/client';
import type { Metrics, Queue } from '../../api/types';
import { EmptyNote, Loaded } from '../../components/States';
import { formatMs, formatNumber } from '../../format';
import { type Data, useData } from '../../hooks/useData';
import { usePalette } from '../../hooks/usePalette';
import { useI18n } from '../../i18n';
import { explanationText } from '../../i18n/said';

const shownMax = 6;

interface Bar {
    key: string;
    name: string;
    value: number;
    detail: string;
    to: string;
    colour: string;
    why?: ReactNode;
}

function BarList({ bars }: { bars: Bar[] }) {
    const { locale } = useI18n();
    const most = Math.max(1, ...bars.map((bar) => bar.value));
    return (
        <ul className="rows">
            {bars.map((bar) => (
                <li key={bar.key}>
                    <Link to={bar.to} className="backlog-name clip">
                        {bar.name}
                    </Link>
                    <div className="load-track grow">
                        <div
                            className="load-fill"
                            style={{ width: `${(100 * bar.value) / most}%`, background: bar.colour }}
                        />
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

const isStuck = ({ paused, working, oldest_wait_seconds: wait }: Queue): boolean =>
    paused || (working === 0 && (wait ?? 0) > stuckSeconds);

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

function ByQueue({ queues }: { queues: Queue[] }) {
    const { t } = useI18n();
    const palette = usePalette();
    const bars = queues
        .filter(({ waiting }) => waiting > 0)
        .sort((a, b) => b.waiting - a.waiting)
        .slice(0, shownMax)
        .map((queue) => ({
            key: queue.name,
            name: queue.name,
            value: queue.waiting,
            detail: queue.paused
                ? t('queue.paused')
                : queue.oldest_wait_seconds === null
                  ? ''
                  : t('queue.oldest', { time: formatMs(queue.oldest_wait_seconds * 1_000) }),
            to: `/queues/${encodeURIComponent(queue.name)}`,
            why: queue.waiting > 0 && isStuck(queue) ? <QueueWhy name={queue.name} /> : undefined,
            colour: queue.paused ? palette.status.skipped : palette.accent,
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
