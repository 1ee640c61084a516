// HTTP executors: their health, and maintenance.
import { DownOutlined } from '@ant-design/icons';
import { Dropdown, Table, type TableProps, Tag } from 'antd';
import { api } from '../../api/client';
import type { Executor } from '../../api/types';
import { HelpLink } from '../../components/HelpLink';
import { ReasonField } from '../../components/ReasonField';
import { RowButton } from '../../components/RowButton';
import { EmptyNote } from '../../components/States';
import { Badge } from '../../components/StatusTag';
import { useAct } from '../../hooks/useAct';
import { usePalette } from '../../hooks/usePalette';
import { useI18n } from '../../i18n';
import { useCommonColumns } from './columns';

interface Props {
    executors: Executor[];
    changed: () => void;
}

function Actions({ executor, changed }: { executor: Executor; changed: () => void }) {
    const { t } = useI18n();
    const { act, confirm } = useAct();
    const become = async (status: 'online' | 'maintenance' | 'offline', reason = '') => {
        const call = () => api.setExecutorStatus(executor.id, status, reason);
        if (await act(t('executor.became', { name: executor.name, status: t(`worker.${status}`) }), call))
            changed();
    };
    const ask = (status: 'maintenance' | 'offline') => {
        let reason = '';
        confirm(
            {
                title: t(`executor.${status}Title`, { name: executor.name }),
                what: (
                    <ReasonField what={t(`executor.${status}What`)} onChange={(typed) => (reason = typed)} />
                ),
                ok: t(`executor.${status}`),
            },
            () => become(status, reason),
        );
    };
    const remove = () =>
        confirm(
            {
                title: t('executor.removeTitle', { name: executor.name }),
                what: t('executor.removeWhat'),
                ok: t('action.remove'),
            },
            async () => {
                if (
                    await act(t('worker.removed', { name: executor.name }), () =>
                        api.removeExecutor(executor.id),
                    )
                )
                    changed();
            },
        );
    return (
        <Dropdown
            trigger={['click']}
            menu={{
                items: [
                    {
                        key: 'online',
                        label: t('executor.online'),
                        disabled: executor.status === 'online',
                        onClick: () => void become('online'),
                    },
                    {
                        key: 'maintenance',
                        label: t('executor.maintenance'),
                        disabled: executor.status === 'maintenance',
                        onClick: () => ask('maintenance'),
                    },
                    {
                        key: 'offline',
                        label: t('executor.offline'),
                        disabled: executor.status === 'offline',
                        onClick: () => ask('offline'),
                    },
                    { type: 'divider' },
                    { key: 'remove', danger: true, label: t('action.remove'), onClick: remove },
                ],
            }}
        >
            <RowButton
                label={t('action.change')}
                name={executor.name}
                icon={<DownOutlined />}
                iconPosition="end"
            />
        </Dropdown>
    );
}

function useColumns(changed: () => void): TableProps<Executor>['columns'] {
    const { t } = useI18n();
    const palette = usePalette();
    const { status, load, seen } = useCommonColumns<Executor>();
    const circuits = {
        closed: palette.status.success,
        half_open: palette.status.retrying,
        open: palette.status.failed,
    };
    return [
        {
            title: t('executor.executor'),
            render: (_, executor) => (
                <div className="two-lines">
                    <span className="cell-main">{executor.name}</span>
                    <span className="muted small clip" title={executor.base_url}>
                        {executor.base_url}
                    </span>
                </div>
            ),
        },
        status,
        load,
        {
            title: t('executor.circuit'),
            render: (_, { circuit }) =>
                circuit && <Badge colour={circuits[circuit]} label={t(`circuit.${circuit}`)} />,
            responsive: ['md'],
        },
        {
            title: t('worker.types'),
            render: (_, { types }) => types.map((type) => <Tag key={type}>{type}</Tag>),
            responsive: ['xl'],
        },
        seen,
        { align: 'right', render: (_, executor) => <Actions executor={executor} changed={changed} /> },
    ];
}

export function ExecutorTable({ executors, changed }: Props) {
    const { t } = useI18n();
    const columns = useColumns(changed);
    return (
        <Table
            size="small"
            rowKey="id"
            columns={columns}
            dataSource={executors}
            pagination={executors.length > 50 ? { pageSize: 50 } : false}
            locale={{
                emptyText: (
                    <EmptyNote
                        title={t('executor.none')}
                        text={t('executor.noneText')}
                        action={<HelpLink page="executors" />}
                    />
                ),
            }}
        />
    );
}
