// One queue: how much waits and why, who serves it, and which tasks use it.
import { CaretRightOutlined, CloseCircleOutlined, ControlOutlined, PauseOutlined } from '@ant-design/icons';
import { Card, Table } from 'antd';
import { useEffect, useMemo, useState } from 'react';
import { Link, useParams } from 'react-router-dom';
import { api } from '../../api/client';
import { type Queue, readyOf, type Worker } from '../../api/types';
import { ActButton } from '../../components/ActButton';
import { Chart } from '../../components/Chart';
import { timeChart } from '../../components/chartOptions';
import { CopyMenu } from '../../components/CopyMenu';
import { cliLine } from '../../components/copyLines';
import { Explained } from '../../components/Explained';
import { PageHeader } from '../../components/PageHeader';
import { Stat } from '../../components/Stat';
import { EmptyNote, Loaded } from '../../components/States';
import { Badge, WorkerTag } from '../../components/StatusTag';
import { formatMs, formatNumber } from '../../format';
import { useData } from '../../hooks/useData';
import { usePalette } from '../../hooks/usePalette';
import { usePreferences } from '../../hooks/usePreferences';
import { useI18n } from '../../i18n';
import { ExecutionTable } from '../executions/ExecutionTable';
import { useBulk } from '../executions/useBulk';
import { LimitsDialog } from './LimitsDialog';
import { useQueueActions } from './useQueueActions';

const quiet = new Set(['queue_empty']);
const shown = 15;
const seenMax = 600;

interface Depth {
    at: number;
    waiting: number;
    working: number;
}

// No scheduler keeps the past of each queue; the page keeps what it has seen.
function DepthChart({ queue }: { queue: Queue }) {
    const { t, locale } = useI18n();
    const utc = usePreferences().zone === 'utc';
    const palette = usePalette();
    const [seen, setSeen] = useState<Depth[]>([]);
    useEffect(() => {
        setSeen((old) => [
            ...old.slice(-seenMax),
            { at: Date.now(), waiting: queue.waiting, working: queue.working },
        ]);
    }, [queue]);
    const option = useMemo(
        () =>
            timeChart(
                palette,
                [
                    {
                        name: t('queue.waiting'),
                        colour: palette.status.pending,
                        points: seen.map(({ at, waiting }) => [at, waiting]),
                        filled: true,
                    },
                    {
                        name: t('queue.working'),
                        colour: palette.status.running,
                        points: seen.map(({ at, working }) => [at, working]),
                    },
                ],
                (value) => formatNumber(value, locale),
                { utc },
            ),
        [seen, palette, t, locale, utc],
    );
    return <Chart option={option} height={180} label={t('queuePage.depth')} />;
}

function Numbers({ queue }: { queue: Queue }) {
    const { t, locale } = useI18n();
    const limits = [
        queue.concurrency_max && t('queue.atOnce', { count: queue.concurrency_max }),
        queue.rate_limit && `${queue.rate_limit.count} / ${queue.rate_limit.per ?? '1s'}`,
    ].filter(Boolean);
    const wait = queue.oldest_wait_seconds;
    return (
        <div className="stats">
            <Stat
                label={t('queue.waiting')}
                value={formatNumber(queue.waiting, locale)}
                detail={t('overview.ready', { count: readyOf(queue) })}
                to={`/executions?queue=${encodeURIComponent(queue.name)}&status=pending,retrying`}
            />
            <Stat
                label={t('queue.working')}
                value={formatNumber(queue.working, locale)}
                to={`/executions?queue=${encodeURIComponent(queue.name)}&status=scheduled,running`}
            />
            <Stat label={t('queue.oldestWait')} value={wait === null ? '–' : formatMs(wait * 1_000)} />
            <Stat label={t('queue.perSecond')} value={formatNumber(queue.finished_per_second, locale, 1)} />
            <Stat label={t('queue.finished')} value={formatNumber(queue.finished, locale)} />
            <Stat label={t('queue.limits')} value={limits.join(' · ') || '–'} />
        </div>
    );
}

function ServedBy({ queue }: { queue: string }) {
    const { t } = useI18n();
    const workers = useData((signal) => api.workers(signal), [], { topics: ['worker'], everyMs: 5_000 });
    const serves = ({ queues }: Worker) => queues.length === 0 || queues.includes(queue);
    return (
        <Card className="card-table span-6" size="small" title={t('queuePage.servedBy')}>
            <Loaded of={workers}>
                {({ items }) => (
                    <Table<Worker>
                        size="small"
                        rowKey="id"
                        dataSource={items.filter(serves)}
                        pagination={{ pageSize: shown, hideOnSinglePage: true, showSizeChanger: false }}
                        columns={[
                            {
                                title: t('worker.worker'),
                                render: (_, { id, name }) => (
                                    <Link to={`/workers/${encodeURIComponent(id)}`} className="clip">
                                        {name}
                                    </Link>
                                ),
                            },
                            {
                                title: t('execution.status'),
                                render: (_, { status }) => <WorkerTag status={status} />,
                            },
                            {
                                title: t('worker.load'),
                                align: 'right',
                                render: (_, { running, capacity }) => (
                                    <span className="number">{`${running}/${capacity}`}</span>
                                ),
                            },
                        ]}
                        locale={{
                            emptyText: (
                                <EmptyNote
                                    title={t('queuePage.nobody')}
                                    text={t('queuePage.nobodyText', { name: queue })}
                                />
                            ),
                        }}
                    />
                )}
            </Loaded>
        </Card>
    );
}

function ItsTasks({ queue }: { queue: string }) {
    const { t } = useI18n();
    const tasks = useData((signal) => api.tasks({ queue, limit: shown }, signal), [queue], {
        topics: ['task'],
        everyMs: 30_000,
        restMs: 10_000,
    });
    return (
        <Card
            className="span-6"
            size="small"
            title={t('queuePage.tasks')}
            extra={<Link to={`/tasks?queue=${encodeURIComponent(queue)}`}>{t('action.all')}</Link>}
        >
            <Loaded of={tasks}>
                {({ items }) =>
                    items.length > 0 ? (
                        <ul className="names">
                            {items.map(({ id, name }) => (
                                <li key={id}>
                                    <Link to={`/tasks/${encodeURIComponent(id)}`}>{name}</Link>
                                </li>
                            ))}
                        </ul>
                    ) : (
                        <EmptyNote title={t('list.noneFits')} />
                    )
                }
            </Loaded>
        </Card>
    );
}

function QueueCopy({ queue: { name, paused } }: { queue: Queue }) {
    const { t } = useI18n();
    const path = `queues/${encodeURIComponent(name)}`;
    const turn = paused ? 'resume' : 'pause';
    return (
        <CopyMenu
            lines={[
                {
                    label: t('copy.show'),
                    call: { method: 'GET', path },
                    cli: cliLine('queues', 'get', name),
                },
                {
                    label: t(`action.${turn}`),
                    call: { method: 'POST', path: `${path}/${turn}` },
                    cli: cliLine('queues', turn, name),
                },
            ]}
        />
    );
}

function Present({ queue, reload }: { queue: Queue; reload: () => void }) {
    const { t } = useI18n();
    const palette = usePalette();
    const [limiting, setLimiting] = useState(false);
    const { pause, resume } = useQueueActions(reload);
    const { cancelMatching } = useBulk(reload);
    const why = useData(
        (signal) => api.explainQueue(queue.name, signal),
        [queue.name, queue.paused, queue.waiting > 0],
        { topics: ['worker', 'queue'], everyMs: 3_000 },
    );
    return (
        <>
            <PageHeader
                name={queue.name}
                title={queue.name}
                about={
                    queue.paused ? (
                        <Badge colour={palette.status.retrying} label={t('queue.paused')} />
                    ) : (
                        <Badge colour={palette.status.success} label={t('queue.open')} />
                    )
                }
                actions={
                    <>
                        <ActButton icon={<ControlOutlined />} onClick={() => setLimiting(true)}>
                            {t('queue.limits')}
                        </ActButton>
                        <QueueCopy queue={queue} />
                        {queue.waiting > 0 && (
                            <ActButton
                                danger
                                icon={<CloseCircleOutlined />}
                                onClick={() =>
                                    void cancelMatching({ queue: queue.name, status: 'pending,retrying' })
                                }
                            >
                                {t('queuePage.cancelWaiting')}
                            </ActButton>
                        )}
                        {queue.paused ? (
                            <ActButton icon={<CaretRightOutlined />} onClick={() => void resume(queue)}>
                                {t('action.resume')}
                            </ActButton>
                        ) : (
                            <ActButton icon={<PauseOutlined />} onClick={() => pause(queue)}>
                                {t('action.pause')}
                            </ActButton>
                        )}
                    </>
                }
            />
            <Explained of={why} quiet={quiet} />
            <Numbers queue={queue} />
            <Card size="small" title={t('queuePage.depth')} className="below">
                <DepthChart queue={queue} />
            </Card>
            {limiting && <LimitsDialog queue={queue} onClose={() => setLimiting(false)} changed={reload} />}
        </>
    );
}

function QueueOf({ name }: { name: string }) {
    const { t } = useI18n();
    const queue = useData((signal) => api.queue(name, signal), [name], {
        topics: ['task', 'queue'],
        everyMs: 3_000,
    });
    const newest = useData((signal) => api.executions({ queue: name, limit: shown }, signal), [name], {
        topics: ['task'],
        everyMs: 15_000,
        restMs: 3_000,
    });
    return (
        <>
            <Loaded of={queue}>{(data) => <Present queue={data} reload={queue.reload} />}</Loaded>
            <div className="grid">
                <ServedBy queue={name} />
                <ItsTasks queue={name} />
            </div>
            <Card
                className="card-table"
                size="small"
                title={t('queuePage.newest')}
                extra={<Link to={`/executions?queue=${encodeURIComponent(name)}`}>{t('action.all')}</Link>}
            >
                <Loaded of={newest}>
                    {({ items }) => <ExecutionTable items={items} empty={t('execution.none')} emptyText="" />}
                </Loaded>
            </Card>
        </>
    );
}

export default function QueuePage() {
    const { name = '' } = useParams();
    return <QueueOf key={name} name={name} />;
}
