// Queues: how much waits, for how long, and holding it back.
import { CaretRightOutlined, ControlOutlined, PauseOutlined } from '@ant-design/icons';
import { Card, Form, Input, InputNumber, Modal, Table, type TableProps } from 'antd';
import { useState } from 'react';
import { Link } from 'react-router-dom';
import { api } from '../api/client';
import type { Queue } from '../api/types';
import { PageHeader } from '../components/PageHeader';
import { RowButton } from '../components/RowButton';
import { EmptyNote, Loaded } from '../components/States';
import { Badge } from '../components/StatusTag';
import { formatMs, formatNumber } from '../format';
import { useAct } from '../hooks/useAct';
import { useData } from '../hooks/useData';
import { useFirstField } from '../hooks/useFirstField';
import { usePalette } from '../hooks/usePalette';
import { useI18n } from '../i18n';

interface Limits {
    concurrency_max?: number | null;
    count?: number | null;
    per?: string;
}

function LimitsDialog({
    queue,
    onClose,
    changed,
}: {
    queue: Queue;
    onClose: () => void;
    changed: () => void;
}) {
    const { t } = useI18n();
    const { act } = useAct();
    const [form] = Form.useForm<Limits>();
    const first = useFirstField();
    const save = async (limits: Limits) => {
        const rate_limit = limits.count ? { count: limits.count, per: limits.per?.trim() || '1s' } : null;
        const call = () =>
            api.limitQueue(queue.name, { concurrency_max: limits.concurrency_max ?? null, rate_limit });
        if (!(await act(t('queue.limited', { name: queue.name }), call))) return;
        changed();
        onClose();
    };
    return (
        <Modal
            open
            title={t('queue.limitsTitle', { name: queue.name })}
            okText={t('action.save')}
            onOk={form.submit}
            onCancel={onClose}
            afterOpenChange={first.afterOpenChange}
        >
            <p className="muted">{t('queue.limitsWhat')}</p>
            <Form<Limits>
                form={form}
                layout="vertical"
                onFinish={save}
                initialValues={{
                    concurrency_max: queue.concurrency_max,
                    count: queue.rate_limit?.count,
                    per: queue.rate_limit?.per === undefined ? undefined : String(queue.rate_limit.per),
                }}
            >
                <Form.Item name="concurrency_max" label={t('queue.concurrency')} extra={t('queue.noLimit')}>
                    <InputNumber ref={first.field} min={1} precision={0} style={{ width: '100%' }} />
                </Form.Item>
                <div className="form-pair">
                    <Form.Item name="count" label={t('queue.rate')} extra={t('queue.noLimit')}>
                        <InputNumber min={1} precision={0} style={{ width: '100%' }} />
                    </Form.Item>
                    <Form.Item name="per" label={t('queue.per')} extra={t('form.duration')}>
                        <Input placeholder="1s" />
                    </Form.Item>
                </div>
            </Form>
        </Modal>
    );
}

function useColumns(limit: (queue: Queue) => void, changed: () => void): TableProps<Queue>['columns'] {
    const { t, locale } = useI18n();
    const palette = usePalette();
    const { act, confirm } = useAct();
    const pause = (queue: Queue) =>
        confirm(
            {
                title: t('queue.pauseTitle', { name: queue.name }),
                what: t('queue.pauseWhat'),
                ok: t('action.pause'),
            },
            async () => {
                if (await act(t('queue.wasPaused', { name: queue.name }), () => api.pauseQueue(queue.name)))
                    changed();
            },
        );
    const resume = async (queue: Queue) => {
        if (await act(t('queue.wasResumed', { name: queue.name }), () => api.resumeQueue(queue.name)))
            changed();
    };
    const number = (value: number | null) => <span className="number">{formatNumber(value, locale)}</span>;
    return [
        {
            title: t('queue.queue'),
            render: (_, queue) => (
                <Link className="cell-main" to={`/executions?queue=${encodeURIComponent(queue.name)}`}>
                    {queue.name}
                </Link>
            ),
        },
        {
            title: t('execution.status'),
            render: (_, queue) =>
                queue.paused ? (
                    <Badge colour={palette.status.retrying} label={t('queue.paused')} />
                ) : (
                    <Badge colour={palette.status.success} label={t('queue.open')} />
                ),
        },
        { title: t('queue.waiting'), align: 'right', render: (_, queue) => number(queue.waiting) },
        {
            title: t('queue.working'),
            align: 'right',
            render: (_, queue) => number(queue.working),
            responsive: ['sm'],
        },
        {
            title: t('queue.finished'),
            align: 'right',
            render: (_, queue) => number(queue.finished),
            responsive: ['md'],
        },
        {
            title: t('queue.perSecond'),
            align: 'right',
            render: (_, queue) => (
                <span className="number">{formatNumber(queue.finished_per_second, locale, 1)}</span>
            ),
            responsive: ['md'],
        },
        {
            title: t('queue.oldestWait'),
            align: 'right',
            render: (_, { oldest_wait_seconds: wait }) => (
                <span className="number">{wait === null ? '–' : formatMs(wait * 1_000)}</span>
            ),
            responsive: ['md'],
        },
        {
            title: t('queue.limits'),
            render: (_, queue) =>
                [
                    queue.concurrency_max && t('queue.atOnce', { count: queue.concurrency_max }),
                    queue.rate_limit && `${queue.rate_limit.count} / ${queue.rate_limit.per ?? '1s'}`,
                ]
                    .filter(Boolean)
                    .join(' · ') || <span className="muted">–</span>,
            responsive: ['lg'],
        },
        {
            align: 'right',
            render: (_, queue) => (
                <span className="nowrap">
                    <RowButton
                        label={t('queue.limits')}
                        name={queue.name}
                        icon={<ControlOutlined />}
                        onClick={() => limit(queue)}
                    />{' '}
                    {queue.paused ? (
                        <RowButton
                            label={t('action.resume')}
                            name={queue.name}
                            icon={<CaretRightOutlined />}
                            onClick={() => void resume(queue)}
                        />
                    ) : (
                        <RowButton
                            label={t('action.pause')}
                            name={queue.name}
                            icon={<PauseOutlined />}
                            onClick={() => pause(queue)}
                        />
                    )}
                </span>
            ),
        },
    ];
}

export default function Queues() {
    const { t } = useI18n();
    const queues = useData((signal) => api.queues(signal), [], { topics: ['task', 'queue'], everyMs: 3_000 });
    const [limiting, setLimiting] = useState<Queue>();
    const columns = useColumns(setLimiting, queues.reload);
    return (
        <>
            <PageHeader title={t('nav.queues')} about={t('queue.about')} />
            <Card className="card-table">
                <Loaded of={queues}>
                    {({ items }) => (
                        <Table
                            size="small"
                            rowKey="name"
                            columns={columns}
                            dataSource={items}
                            pagination={items.length > 50 ? { pageSize: 50 } : false}
                            locale={{
                                emptyText: <EmptyNote title={t('queue.none')} text={t('queue.noneText')} />,
                            }}
                        />
                    )}
                </Loaded>
            </Card>
            {limiting && (
                <LimitsDialog
                    queue={limiting}
                    onClose={() => setLimiting(undefined)}
                    changed={queues.reload}
                />
            )}
        </>
    );
}
