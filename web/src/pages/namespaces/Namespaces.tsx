// The namespaces: who leads each, what is in it, and what it may use.
import { DeleteOutlined, PlusOutlined, SlidersOutlined } from '@ant-design/icons';
import { Card, Table, type TableProps, Tag } from 'antd';
import { useState } from 'react';
import { api } from '../../api/client';
import { firstPageOf } from '../../api/space';
import type { Metrics, Namespace } from '../../api/types';
import { ActButton } from '../../components/ActButton';
import { PageHeader } from '../../components/PageHeader';
import { RowButton } from '../../components/RowButton';
import { Loaded } from '../../components/States';
import { Badge } from '../../components/StatusTag';
import { Ago } from '../../components/Time';
import { formatNumber } from '../../format';
import { useData } from '../../hooks/useData';
import { usePalette } from '../../hooks/usePalette';
import { useI18n } from '../../i18n';
import { DeleteNamespace } from './DeleteNamespace';
import { NamespaceForm } from './NamespaceForm';
import { givenQuotas } from './quotas';

const pageSize = 20;

// Each namespace tells its own; those of the page that is shown are asked.
function useCounts(name: string): Metrics | undefined {
    const metrics = useData((signal) => api.metricsOf(name, signal), [name], { everyMs: 10_000 });
    return metrics.data;
}

function Counts({ name }: { name: string }) {
    const { t, locale } = useI18n();
    const counts = useCounts(name);
    if (!counts) return <span className="muted">–</span>;
    const number = (value: number) => formatNumber(value, locale);
    return (
        <span className="nowrap number">
            {t('space.counts', {
                waiting: number(counts.tasks_pending + counts.tasks_retrying),
                running: number(counts.tasks_running + counts.tasks_scheduled),
                workers: number(counts.workers_online),
            })}
        </span>
    );
}

function StateTag({ state }: { state: Namespace['state'] }) {
    const { t } = useI18n();
    const palette = usePalette();
    const colour = state === 'active' ? palette.status.success : palette.status.retrying;
    return <Badge colour={colour} label={t(`space.state.${state}`)} />;
}

interface Acts {
    change: (space: Namespace) => void;
    remove: (space: Namespace) => void;
}

function useColumns({ change, remove }: Acts): TableProps<Namespace>['columns'] {
    const { t, locale } = useI18n();
    return [
        {
            title: t('space.name'),
            render: (_, { name }) => (
                <a className="cell-main" href={firstPageOf(name)}>
                    {name}
                </a>
            ),
        },
        { title: t('task.state'), render: (_, { state }) => <StateTag state={state} /> },
        {
            title: t('role.leader'),
            render: (_, { leader }) =>
                leader ? (
                    <span title={leader.address}>{leader.node_id}</span>
                ) : (
                    <Tag color="error">{t('cluster.noLeader')}</Tag>
                ),
            responsive: ['sm'],
        },
        {
            title: t('space.inIt'),
            render: (_, { name, state }) => (state === 'active' ? <Counts name={name} /> : '–'),
            responsive: ['md'],
        },
        {
            title: t('space.quotas'),
            render: (_, space) => {
                const given = givenQuotas(space);
                if (given.length === 0) return <span className="muted">{t('quota.none')}</span>;
                return given.map((name) => {
                    const value = space.quotas[name];
                    const shown = typeof value === 'number' ? formatNumber(value, locale) : value;
                    return (
                        <div key={name} className="small nowrap">
                            <span className="muted">{t(`quota.${name}`)}</span> {shown}
                        </div>
                    );
                });
            },
            responsive: ['xl'],
        },
        {
            title: t('execution.created'),
            render: (_, { created_at }) => <Ago at={created_at} />,
            responsive: ['xl'],
        },
        {
            align: 'right',
            render: (_, space) => (
                <span className="row-gap nowrap">
                    <RowButton
                        need="admin"
                        label={t('space.quotas')}
                        name={space.name}
                        icon={<SlidersOutlined />}
                        disabled={space.state !== 'active'}
                        onClick={() => change(space)}
                    />
                    {space.name !== 'default' && (
                        <RowButton
                            need="admin"
                            danger
                            label={t('action.delete')}
                            name={space.name}
                            icon={<DeleteOutlined />}
                            disabled={space.state !== 'active'}
                            onClick={() => remove(space)}
                        />
                    )}
                </span>
            ),
        },
    ];
}

export default function Namespaces() {
    const { t } = useI18n();
    const spaces = useData((signal) => api.namespaces(signal), [], { topics: ['leader'], everyMs: 5_000 });
    const [editing, setEditing] = useState<Namespace | 'new'>();
    const [removing, setRemoving] = useState<Namespace>();
    const columns = useColumns({ change: setEditing, remove: setRemoving });
    return (
        <>
            <PageHeader
                title={t('nav.namespaces')}
                about={t('space.about')}
                actions={
                    <ActButton
                        need="admin"
                        type="primary"
                        icon={<PlusOutlined />}
                        onClick={() => setEditing('new')}
                    >
                        {t('space.new')}
                    </ActButton>
                }
            />
            <Card className="card-table">
                <Loaded of={spaces}>
                    {({ items }) => (
                        <Table
                            size="small"
                            rowKey="name"
                            columns={columns}
                            dataSource={items}
                            pagination={
                                items.length > pageSize ? { pageSize, showSizeChanger: false } : false
                            }
                        />
                    )}
                </Loaded>
            </Card>
            {editing && (
                <NamespaceForm
                    of={editing === 'new' ? undefined : editing}
                    onClose={() => setEditing(undefined)}
                    changed={spaces.reload}
                />
            )}
            {removing && (
                <DeleteNamespace
                    name={removing.name}
                    onClose={() => setRemoving(undefined)}
                    changed={spaces.reload}
                />
            )}
        </>
    );
}
