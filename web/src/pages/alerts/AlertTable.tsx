// Alerts as rows, with acknowledging and silencing.
import { BellOutlined, CheckOutlined } from '@ant-design/icons';
import { Dropdown, Form, Input, Modal, Table, type TableProps, Tooltip } from 'antd';
import { useState } from 'react';
import { Link } from 'react-router-dom';
import { api } from '../../api/client';
import type { Alert, AlertMetric } from '../../api/observe';
import { RowButton } from '../../components/RowButton';
import { EmptyNote } from '../../components/States';
import { Badge, SeverityTag } from '../../components/StatusTag';
import { Ago } from '../../components/Time';
import { formatSpan } from '../../format';
import { useAct } from '../../hooks/useAct';
import { useData } from '../../hooks/useData';
import { useFirstField } from '../../hooks/useFirstField';
import { usePalette } from '../../hooks/usePalette';
import { useI18n } from '../../i18n';
import { alertText, subjectText, valueText } from './alertText';

export const silences = ['15m', '1h', '8h', '24h'] as const;

function AcknowledgeDialog({
    alert,
    onClose,
    changed,
}: {
    alert: Alert;
    onClose: () => void;
    changed: () => void;
}) {
    const { t, locale } = useI18n();
    const { act } = useAct();
    const [form] = Form.useForm<{ note?: string }>();
    const first = useFirstField();
    const save = async ({ note }: { note?: string }) => {
        if (!(await act(t('alert.acknowledged'), () => api.acknowledge(alert.id, note?.trim() ?? ''))))
            return;
        changed();
        onClose();
    };
    return (
        <Modal
            open
            title={t('alert.acknowledge')}
            okText={t('alert.acknowledge')}
            onOk={form.submit}
            onCancel={onClose}
            afterOpenChange={first.afterOpenChange}
        >
            <p>{alertText(alert, t, locale)}</p>
            <Form form={form} layout="vertical" onFinish={save}>
                <Form.Item name="note" label={t('alert.note')}>
                    <Input.TextArea
                        ref={first.field}
                        rows={3}
                        maxLength={1000}
                        placeholder={t('alert.notePlaceholder')}
                    />
                </Form.Item>
            </Form>
        </Modal>
    );
}

// What is hit, one click away.
const pagesOf = { task: '/tasks/', worker: '/workers/', queue: '/queues/' } as const;

type Kinds = Map<string, AlertMetric['subject']>;

// What the metrics tell apart: tasks, workers or queues.
function useKinds(): Kinds {
    const metrics = useData((signal) => api.alertMetrics(signal), []);
    return new Map(metrics.data?.items.map(({ name, subject }) => [name, subject]));
}

function SubjectLink({ alert, kinds }: { alert: Alert; kinds: Kinds }) {
    const { t } = useI18n();
    const kind = kinds.get(alert.metric);
    if (!alert.subject || !kind) return null;
    const names = { task: t('task.task'), worker: t('worker.worker'), queue: t('queue.queue') };
    return (
        <Link className="small" to={pagesOf[kind] + encodeURIComponent(alert.subject)}>
            {names[kind]}: {subjectText(alert)}
        </Link>
    );
}

function useColumns(
    acknowledge: (alert: Alert) => void,
    silence: (alert: Alert, duration: string) => void,
    over: boolean,
    kinds: Kinds,
): TableProps<Alert>['columns'] {
    const { t, locale } = useI18n();
    const palette = usePalette();
    const colours = {
        ok: palette.status.success,
        pending: palette.status.retrying,
        firing: palette.status.failed,
        resolved: palette.status.success,
    };
    return [
        {
            title: t('alert.alert'),
            render: (_, alert) => (
                <div className="two-lines">
                    <span className="cell-main">{alert.rule}</span>
                    <Tooltip title={<span lang="en">{alert.message}</span>}>
                        <span className="muted small">{alertText(alert, t, locale)}</span>
                    </Tooltip>
                    <SubjectLink alert={alert} kinds={kinds} />
                </div>
            ),
        },
        {
            title: t('alert.severity'),
            render: (_, { severity }) => <SeverityTag severity={severity} />,
            responsive: ['sm'],
        },
        {
            title: t('alert.state'),
            render: (_, alert) => (
                <div className="two-lines">
                    <Badge
                        colour={colours[alert.state]}
                        label={t(`alertState.${alert.state}`)}
                        busy={alert.state === 'firing'}
                    />
                    {alert.silenced_until && (
                        <span className="muted small">
                            {t('alert.silenced')} <Ago at={alert.silenced_until} />
                        </span>
                    )}
                </div>
            ),
        },
        {
            title: over ? t('alert.valueFired') : t('alert.value'),
            render: (_, alert) => {
                const fired = valueText(alert.metric, alert.firing_value, locale);
                const value = over ? fired : valueText(alert.metric, alert.value, locale);
                return (
                    <div className="two-lines">
                        <span className="number nowrap">
                            {value}{' '}
                            <span className="muted">
                                ({alert.operator} {valueText(alert.metric, alert.threshold, locale)})
                            </span>
                        </span>
                        {!over && alert.state === 'firing' && fired !== value && (
                            <span className="muted small nowrap">{t('alert.firedAt', { value: fired })}</span>
                        )}
                    </div>
                );
            },
            responsive: ['md'],
        },
        {
            title: t('alert.since'),
            render: (_, alert) => <Ago at={alert.firing_at ?? alert.pending_at} />,
            responsive: ['md'],
        },
        {
            title: over ? t('alertState.resolved') : undefined,
            align: over ? 'left' : 'right',
            render: (_, alert) => {
                if (alert.state === 'resolved') return <Ago at={alert.resolved_at} />;
                return (
                    <span className="nowrap alert-acts">
                        {alert.acknowledged ? (
                            <Tooltip title={alert.acknowledged.note}>
                                <span className="muted small">
                                    <CheckOutlined />{' '}
                                    {t('alert.by', { name: alert.acknowledged.by || t('alert.somebody') })}
                                </span>
                            </Tooltip>
                        ) : (
                            <RowButton
                                label={t('alert.acknowledge')}
                                name={alert.rule}
                                icon={<CheckOutlined />}
                                onClick={() => acknowledge(alert)}
                            />
                        )}{' '}
                        <Dropdown
                            autoFocus
                            trigger={['click']}
                            menu={{
                                items: [
                                    {
                                        type: 'group',
                                        label: t('alert.silenceRule', { name: alert.rule }),
                                        children: silences.map((key) => ({
                                            key,
                                            label: t('alert.silenceFor', { time: formatSpan(key) }),
                                        })),
                                    },
                                ],
                                onClick: ({ key }) => silence(alert, key),
                            }}
                        >
                            <RowButton label={t('alert.silence')} name={alert.rule} icon={<BellOutlined />} />
                        </Dropdown>
                    </span>
                );
            },
        },
    ];
}

interface Props {
    alerts: Alert[];
    changed: () => void;
    empty: string;
    emptyText: string;
    over?: boolean; // Alerts that are resolved.
}

export function AlertTable({ alerts, changed, empty, emptyText, over = false }: Props) {
    const { t } = useI18n();
    const { act } = useAct();
    const [acknowledging, setAcknowledging] = useState<Alert>();
    const silence = async (alert: Alert, duration: string) => {
        if (
            await act(t('alert.wasSilenced', { name: alert.rule, time: formatSpan(duration) }), () =>
                api.silenceRule(alert.rule, duration),
            )
        )
            changed();
    };
    const kinds = useKinds();
    const columns = useColumns(
        setAcknowledging,
        (alert, duration) => void silence(alert, duration),
        over,
        kinds,
    );
    return (
        <>
            <Table
                size="small"
                rowKey="id"
                columns={columns}
                dataSource={alerts}
                pagination={alerts.length > 50 ? { pageSize: 50 } : false}
                locale={{ emptyText: <EmptyNote title={empty} text={emptyText} /> }}
            />
            {acknowledging && (
                <AcknowledgeDialog
                    alert={acknowledging}
                    onClose={() => setAcknowledging(undefined)}
                    changed={changed}
                />
            )}
        </>
    );
}
