// Where alerts are sent to, and whether that works.
import { DeleteOutlined, EditOutlined, PlusOutlined, SendOutlined } from '@ant-design/icons';
import { Table, type TableProps, Tag } from 'antd';
import { useState } from 'react';
import { api, Problem } from '../../api/client';
import type { AlertChannel } from '../../api/observe';
import { ActButton } from '../../components/ActButton';
import { RowButton } from '../../components/RowButton';
import { Loaded } from '../../components/States';
import { Badge } from '../../components/StatusTag';
import { Ago } from '../../components/Time';
import { useAct } from '../../hooks/useAct';
import { useData } from '../../hooks/useData';
import { usePalette } from '../../hooks/usePalette';
import { useI18n } from '../../i18n';
import { ChannelForm } from './ChannelForm';

function useChannelActions(changed: () => void) {
    const { t } = useI18n();
    const { act, confirm } = useAct();
    return {
        test: async (name: string) => {
            await act(t('alert.testSent', { name }), async () => {
                const { ok, error } = await api.testChannel(name);
                if (!ok) throw new Problem(502, 'not_delivered', error);
            });
            changed();
        },
        remove: ({ name, version }: AlertChannel) =>
            confirm(
                {
                    title: t('channel.deleteTitle', { name }),
                    what: t('channel.deleteWhat'),
                    ok: t('action.delete'),
                },
                async () => {
                    await act(t('channel.deleted', { name }), () => api.deleteChannel(name, version));
                    changed();
                },
            ),
    };
}

function LastDelivery({ channel }: { channel: AlertChannel }) {
    const { t } = useI18n();
    const palette = usePalette();
    const last = channel.last_delivery;
    if (!last) return <span className="muted">–</span>;
    return (
        <div className="two-lines">
            <span className="row-gap">
                <Badge
                    colour={last.ok ? palette.status.success : palette.status.failed}
                    label={last.ok ? t('alert.delivered') : t('alert.notDelivered')}
                />
                <span className="muted small">
                    <Ago at={last.at} />
                </span>
            </span>
            {last.error && <span className="muted small">{last.error}</span>}
            {channel.waiting > 0 && (
                <span className="muted small">{t('channel.waiting', { count: channel.waiting })}</span>
            )}
        </div>
    );
}

export function Channels() {
    const { t } = useI18n();
    const channels = useData((signal) => api.alertChannels(signal), [], { everyMs: 10_000 });
    const [editing, setEditing] = useState<AlertChannel | 'new'>();
    const { test, remove } = useChannelActions(channels.reload);
    const columns: TableProps<AlertChannel>['columns'] = [
        {
            title: t('alert.channel'),
            render: (_, { name, stored }) => (
                <span className="cell-main">
                    {name} {!stored && <Tag>{t('channel.configured')}</Tag>}
                </span>
            ),
        },
        {
            title: t('alert.kind'),
            render: (_, { kind, template }) => (
                <div className="two-lines">
                    <span>{t(`channel.${kind}`)}</span>
                    {template && <span className="muted small">{t(`channel.template.${template}`)}</span>}
                </div>
            ),
        },
        {
            title: t('alert.target'),
            render: (_, { kind, target }) => (kind === 'log' ? '–' : <code>{target}</code>),
            responsive: ['md'],
        },
        { title: t('alert.lastDelivery'), render: (_, channel) => <LastDelivery channel={channel} /> },
        {
            align: 'right',
            render: (_, channel) => (
                <span className="row-gap row-end">
                    <RowButton
                        label={t('alert.test')}
                        name={channel.name}
                        need="admin"
                        icon={<SendOutlined />}
                        onClick={() => void test(channel.name)}
                    />
                    {channel.stored && (
                        <>
                            <RowButton
                                label={t('action.edit')}
                                name={channel.name}
                                need="admin"
                                icon={<EditOutlined />}
                                onClick={() => setEditing(channel)}
                            />
                            <RowButton
                                label={t('action.delete')}
                                name={channel.name}
                                need="admin"
                                icon={<DeleteOutlined />}
                                onClick={() => remove(channel)}
                            />
                        </>
                    )}
                </span>
            ),
        },
    ];
    return (
        <>
            <div className="filters">
                <ActButton
                    need="admin"
                    type="primary"
                    icon={<PlusOutlined />}
                    onClick={() => setEditing('new')}
                >
                    {t('channel.new')}
                </ActButton>
                <span className="muted small channel-about">{t('channel.about')}</span>
            </div>
            <Loaded of={channels}>
                {({ items }) => (
                    <>
                        <Table
                            size="small"
                            rowKey="name"
                            columns={columns}
                            dataSource={items}
                            pagination={false}
                        />
                        {editing && (
                            <ChannelForm
                                channel={editing === 'new' ? undefined : editing}
                                taken={items.map(({ name }) => name)}
                                onClose={() => setEditing(undefined)}
                                changed={channels.reload}
                                test={test}
                            />
                        )}
                    </>
                )}
            </Loaded>
        </>
    );
}
