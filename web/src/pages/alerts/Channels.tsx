// Where alerts are sent to, and whether that works.
import { SendOutlined } from '@ant-design/icons';
import { Table, type TableProps } from 'antd';
import { api, Problem } from '../../api/client';
import type { AlertChannel } from '../../api/observe';
import { RowButton } from '../../components/RowButton';
import { EmptyNote, Loaded } from '../../components/States';
import { Badge } from '../../components/StatusTag';
import { Ago } from '../../components/Time';
import { useAct } from '../../hooks/useAct';
import { useData } from '../../hooks/useData';
import { usePalette } from '../../hooks/usePalette';
import { useI18n } from '../../i18n';

export function Channels() {
    const { t } = useI18n();
    const palette = usePalette();
    const { act } = useAct();
    const channels = useData((signal) => api.alertChannels(signal), [], { everyMs: 10_000 });
    const test = async (name: string) => {
        await act(t('alert.testSent', { name }), async () => {
            const { ok, error } = await api.testChannel(name);
            if (!ok) throw new Problem(502, 'not_delivered', error);
        });
        channels.reload();
    };
    const columns: TableProps<AlertChannel>['columns'] = [
        { title: t('alert.channel'), render: (_, { name }) => <span className="cell-main">{name}</span> },
        { title: t('alert.kind'), render: (_, { kind }) => kind },
        { title: t('alert.target'), render: (_, { target }) => <code>{target}</code>, responsive: ['md'] },
        {
            title: t('alert.lastDelivery'),
            render: (_, { last_delivery: last }) =>
                last ? (
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
                    </div>
                ) : (
                    <span className="muted">–</span>
                ),
        },
        {
            align: 'right',
            render: (_, { name }) => (
                <RowButton
                    label={t('alert.test')}
                    name={name}
                    icon={<SendOutlined />}
                    onClick={() => void test(name)}
                />
            ),
        },
    ];
    return (
        <Loaded of={channels}>
            {({ items }) => (
                <Table
                    size="small"
                    rowKey="name"
                    columns={columns}
                    dataSource={items}
                    pagination={false}
                    locale={{
                        emptyText: (
                            <EmptyNote title={t('alert.noChannels')} text={t('alert.noChannelsText')} />
                        ),
                    }}
                />
            )}
        </Loaded>
    );
}
