// One queue: how much waits and why, who serves it, and which tasks use it.
import { CaretRightOutlined, CloseCircleOutlined, ControlOutlined, PauseOutlined } from '@ant-design/icons';
import { Card, Table } from 'antd';
import { useState } from 'react';
import { Link, useParams } from 'react-router-dom';
import { api } from '../../api/client';
import { type Explanation, type Page, type Queue, readyOf, type Task, type Worker } from '../../api/types';
import { ActButton } from '../../components/ActButton';
import { CopyMenu } from '../../components/CopyMenu';
import { cliLine } from '../../components/copyLines';
import { Explained } from '../../components/Explained';
import { PageHeader } from '../../components/PageHeader';
import { RangeSwitch } from '../../components/RangeSwitch';
import { Stat } from '../../components/Stat';
import { EmptyNote, Loaded, Whole } from '../../components/States';
import { Badge, WorkerTag } from '../../components/StatusTag';
import { formatMs, formatNumber } from '../../format';
import { type Data, useData } from '../../hooks/useData';
import { usePalette } from '../../hooks/usePalette';
import { useI18n } from '../../i18n';
import { ExecutionTable } from '../executions/ExecutionTable';
import { useBulk } from '../executions/useBulk';
import { LimitsDialog } from './LimitsDialog';
import { QueueHistory } from './QueueHistory';
import { useQueueActions } from './useQueueActions';

const quiet = new Set(['queue_empty']);
const shown = 15;

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
            <Stat label={t('queue.limits')} value={limits[0] ?? '–'} detail={limits[1]} />
        </div>
    );
}

function ServedBy({ queue, workers }: { queue: string; workers: Data<Page<Worker>> }) {
    const { t } = useI18n();
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

function ItsTasks({ queue, tasks }: { queue: string; tasks: Data<Page<Task>> }) {
    const { t } = useI18n();
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
                        <EmptyNote title={t('queuePage.noTasks')} />
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

function Present({ queue, why, reload }: { queue: Queue; why: Data<Explanation>; reload: () => void }) {
    const { t } = useI18n();
    const palette = usePalette();
    const [limiting, setLimiting] = useState(false);
    const { pause, resume } = useQueueActions(reload);
    const { cancelMatching } = useBulk(reload);
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
            <div className="above-charts">
                <RangeSwitch />
            </div>
            <QueueHistory queue={queue} />
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
    const why = useData(
        (signal) => api.explainQueue(name, signal),
        [name, queue.data?.paused, (queue.data?.waiting ?? 0) > 0],
        { topics: ['worker', 'queue'], everyMs: 3_000 },
    );
    const workers = useData((signal) => api.workers(signal), [], { topics: ['worker'], everyMs: 5_000 });
    const tasks = useData((signal) => api.tasks({ queue: name, limit: shown }, signal), [name], {
        topics: ['task'],
        everyMs: 30_000,
        restMs: 10_000,
    });
    const newest = useData((signal) => api.executions({ queue: name, limit: shown }, signal), [name], {
        topics: ['task'],
        everyMs: 15_000,
        restMs: 3_000,
    });
    return (
        <Whole of={[queue, why, workers, tasks]}>
            <Loaded of={queue}>{(data) => <Present queue={data} why={why} reload={queue.reload} />}</Loaded>
            <div className="grid">
                <ServedBy queue={name} workers={workers} />
                <ItsTasks queue={name} tasks={tasks} />
            </div>
            <Card
                className="card-table"
                size="small"
                title={t('queuePage.newest')}
                extra={<Link to={`/executions?queue=${encodeURIComponent(name)}`}>{t('action.all')}</Link>}
            >
                <Loaded of={newest}>
                    {({ items }) => (
                        <ExecutionTable
                            items={items}
                            without="queue"
                            empty={t('execution.none')}
                            emptyText=""
                        />
                    )}
                </Loaded>
            </Card>
        </Whole>
    );
}

export default function QueuePage() {
    const { name = '' } = useParams();
    return <QueueOf key={name} name={name} />;
}
