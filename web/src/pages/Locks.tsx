// Locks: who holds them, who waits, and taking them away.
import { UnlockOutlined } from '@ant-design/icons';
import { Card, Table, type TableProps } from 'antd';
import { Link } from 'react-router-dom';
import { api } from '../api/client';
import type { Lock, LockHolder, LockWaiter } from '../api/types';
import { PageHeader } from '../components/PageHeader';
import { RowButton } from '../components/RowButton';
import { EmptyNote, Loaded } from '../components/States';
import { Ago, Moment } from '../components/Time';
import { formatNumber } from '../format';
import { useAct } from '../hooks/useAct';
import { useData } from '../hooks/useData';
import { useI18n } from '../i18n';

// A holder with its lock; a lock that nobody holds has one row without.
interface Row {
    lock: Lock;
    holder?: LockHolder;
}

function rowsOf(locks: Lock[]): Row[] {
    return locks.flatMap((lock): Row[] =>
        lock.holders.length > 0 ? lock.holders.map((holder) => ({ lock, holder })) : [{ lock }],
    );
}

const nameOf = (who: LockHolder | LockWaiter) => who.execution_id ?? who.owner;

function Who({ who }: { who: LockHolder | LockWaiter }) {
    if (!who.execution_id) return <>{who.owner}</>;
    return <Link to={`/executions/${encodeURIComponent(who.execution_id)}`}>{who.execution_id}</Link>;
}

function useColumns(changed: () => void): TableProps<Row>['columns'] {
    const { t, locale } = useI18n();
    const { act, confirm } = useAct();
    const release = ({ lock, holder }: Required<Row>) =>
        confirm(
            {
                title: t('lock.releaseTitle', { name: lock.name, holder: nameOf(holder) }),
                what: t('lock.releaseWhat'),
                ok: t('lock.release'),
            },
            async () => {
                const call = () => api.releaseLock(lock.name, holder.lock_id);
                if (await act(t('lock.wasReleased', { name: lock.name }), call)) changed();
            },
        );
    return [
        { title: t('lock.lock'), render: (_, { lock }) => <span className="cell-main">{lock.name}</span> },
        { title: t('lock.holder'), render: (_, { holder }) => (holder ? <Who who={holder} /> : '–') },
        {
            title: t('lock.permits'),
            align: 'right',
            render: (_, { lock, holder }) => (
                <span className="number">
                    {holder?.permits ?? 0} / {formatNumber(lock.permits, locale)}
                </span>
            ),
            responsive: ['sm'],
        },
        {
            title: t('lock.token'),
            align: 'right',
            render: (_, { holder }) => <span className="number">{holder ? String(holder.token) : '–'}</span>,
            responsive: ['lg'],
        },
        {
            title: t('lock.since'),
            render: (_, { holder }) => <Ago at={holder?.since} />,
            responsive: ['md'],
        },
        {
            title: t('lock.until'),
            render: (_, { holder }) =>
                holder && holder.expires_at === null ? (
                    <span className="muted">{t('lock.attempt')}</span>
                ) : (
                    <Moment at={holder?.expires_at} />
                ),
            responsive: ['md'],
        },
        {
            title: t('lock.waiting'),
            align: 'right',
            render: (_, { lock }) => <span className="number">{formatNumber(lock.waiting, locale)}</span>,
        },
        {
            align: 'right',
            render: (_, { lock, holder }) =>
                holder && (
                    <RowButton
                        label={t('lock.release')}
                        name={lock.name}
                        icon={<UnlockOutlined />}
                        onClick={() => release({ lock, holder })}
                    />
                ),
        },
    ];
}

function Line({ lock }: { lock: Lock }) {
    const { t } = useI18n();
    return (
        <>
            <div className="muted">{t('lock.waiters')}</div>
            <ol>
                {lock.waiters.map((waiter, place) => (
                    <li key={place}>
                        <Who who={waiter} /> <Ago at={waiter.since} />
                    </li>
                ))}
            </ol>
        </>
    );
}

export default function Locks() {
    const { t } = useI18n();
    const locks = useData((signal) => api.locks(signal), [], { topics: ['lock'], everyMs: 3_000 });
    const columns = useColumns(locks.reload);
    return (
        <>
            <PageHeader title={t('nav.locks')} about={t('lock.about')} />
            <Card className="card-table">
                <Loaded of={locks}>
                    {({ items }) => (
                        <Table
                            size="small"
                            rowKey={({ lock, holder }) => `${lock.name} ${holder?.lock_id ?? ''}`}
                            columns={columns}
                            dataSource={rowsOf(items)}
                            pagination={items.length > 50 ? { pageSize: 50 } : false}
                            expandable={{
                                defaultExpandAllRows: true,
                                rowExpandable: ({ lock }) => lock.waiters.length > 0,
                                expandedRowRender: ({ lock }) => <Line lock={lock} />,
                            }}
                            locale={{
                                emptyText: <EmptyNote title={t('lock.none')} text={t('lock.noneText')} />,
                            }}
                        />
                    )}
                </Loaded>
            </Card>
        </>
    );
}
