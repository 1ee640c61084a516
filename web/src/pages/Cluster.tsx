// The schedulers: who leads, since when, and whether the store keeps up.
import { Alert, Card, Table, type TableProps } from 'antd';
import { useEffect, useRef, useState } from 'react';
import { api } from '../api/client';
import type { SchedulerNode, SchedulerStatus } from '../api/types';
import { Field, Fields } from '../components/Field';
import { PageHeader } from '../components/PageHeader';
import { EmptyNote, Loaded } from '../components/States';
import { Badge } from '../components/StatusTag';
import { Stat } from '../components/Stat';
import { Ago, Moment } from '../components/Time';
import { formatMs, formatNumber } from '../format';
import { useData } from '../hooks/useData';
import { usePalette } from '../hooks/usePalette';
import { useI18n } from '../i18n';

interface Term {
    epoch: number;
    node: string;
    seenAt: string;
}

const termsMax = 20;

// The terms since this page was opened, newest first.
function useTerms(status: SchedulerStatus | undefined): Term[] {
    const [terms, setTerms] = useState<Term[]>([]);
    const last = useRef('');
    useEffect(() => {
        const leader = status?.leader;
        if (!leader || last.current === `${leader.epoch} ${leader.node_id}`) return;
        last.current = `${leader.epoch} ${leader.node_id}`;
        setTerms((old) =>
            [{ epoch: leader.epoch, node: leader.node_id, seenAt: new Date().toISOString() }, ...old].slice(
                0,
                termsMax,
            ),
        );
    }, [status]);
    return terms;
}

function Nodes({ status }: { status: SchedulerStatus }) {
    const { t } = useI18n();
    const palette = usePalette();
    const columns: TableProps<SchedulerNode>['columns'] = [
        {
            title: t('cluster.node'),
            render: (_, node) => (
                <span className="cell-main">
                    {node.node_id}
                    {node.node_id === status.node_id && (
                        <span className="muted small"> · {t('cluster.thisNode')}</span>
                    )}
                </span>
            ),
        },
        {
            title: t('cluster.role'),
            render: (_, node) =>
                node.node_id === status.leader?.node_id ? (
                    <Badge colour={palette.accent} label={t('role.leader')} busy />
                ) : (
                    <Badge colour={palette.status.pending} label={t('role.follower')} />
                ),
        },
        { title: t('cluster.address'), render: (_, node) => <code>{node.address}</code>, responsive: ['md'] },
        { title: t('worker.version'), render: (_, node) => node.version, responsive: ['sm'] },
        { title: t('cluster.started'), render: (_, node) => <Ago at={node.started_at} /> },
    ];
    return (
        <Table
            size="small"
            rowKey="node_id"
            columns={columns}
            dataSource={status.nodes ?? []}
            pagination={false}
        />
    );
}

function Store({ status }: { status: SchedulerStatus }) {
    const { t, locale } = useI18n();
    const palette = usePalette();
    const { store } = status;
    const healthy = store.reachable && !store.trouble;
    return (
        <Card
            size="small"
            className="span-6"
            title={t('cluster.store')}
            extra={<span className="muted small">{t('cluster.ofThisNode', { name: status.node_id })}</span>}
        >
            <Fields>
                <Field label={t('cluster.health')}>
                    <Badge
                        colour={healthy ? palette.status.success : palette.status.failed}
                        label={
                            healthy
                                ? t('cluster.healthy')
                                : store.reachable
                                  ? t('cluster.troubled')
                                  : t('cluster.unreachable')
                        }
                    />
                </Field>
                <Field label={t('cluster.where')}>
                    <code>{store.description}</code>
                </Field>
                <Field label={t('cluster.commits')}>{formatNumber(store.commits, locale)}</Field>
                <Field label={t('cluster.changes')}>{formatNumber(store.changes, locale)}</Field>
                <Field label={t('cluster.perCommit')}>
                    {store.commits > 0 ? formatNumber(store.changes / store.commits, locale, 1) : '–'}
                </Field>
            </Fields>
            {store.trouble && (
                <Alert
                    type="error"
                    showIcon
                    message={t('cluster.troubled')}
                    description={<span lang="en">{store.trouble}</span>}
                    className="store-trouble"
                />
            )}
        </Card>
    );
}

export default function Cluster() {
    const { t } = useI18n();
    const palette = usePalette();
    const status = useData((signal) => api.status(signal), [], { topics: ['leader'], everyMs: 2_000 });
    const terms = useTerms(status.data);
    return (
        <>
            <PageHeader title={t('nav.cluster')} about={t('cluster.about')} />
            <Loaded of={status}>
                {(data) => (
                    <>
                        <div className="stats">
                            <Stat
                                label={t('cluster.leader')}
                                value={
                                    <span className="clip stat-name" data-testid="leader">
                                        {data.leader?.node_id ?? t('cluster.none')}
                                    </span>
                                }
                                colour={data.leader ? undefined : palette.status.failed}
                                detail={data.leader?.address}
                            />
                            <Stat
                                label={t('cluster.term')}
                                value={data.leader?.epoch ?? '–'}
                                detail={t('cluster.termDetail')}
                            />
                            <Stat
                                label={t('cluster.schedulers')}
                                value={data.nodes?.length ?? '–'}
                                detail={t('cluster.schedulersDetail')}
                            />
                            <Stat
                                label={t('cluster.thisNode')}
                                value={<span className="stat-name">{t(`role.${data.role}`)}</span>}
                                detail={data.node_id}
                            />
                            <Stat
                                label={t('cluster.uptime')}
                                value={
                                    <span className="stat-name">{formatMs(data.uptime_seconds * 1_000)}</span>
                                }
                                detail={`Takt ${data.version}`}
                            />
                        </div>
                        <div className="grid">
                            <Card size="small" className="span-12 card-table" title={t('cluster.schedulers')}>
                                <Nodes status={data} />
                            </Card>
                            <Store status={data} />
                            <Card size="small" className="span-6" title={t('cluster.terms')}>
                                {terms.length === 0 && (
                                    <EmptyNote
                                        title={t('cluster.noLeader')}
                                        text={t('cluster.noLeaderText')}
                                    />
                                )}
                                <ul className="rows">
                                    {terms.map((term) => (
                                        <li key={`${term.epoch} ${term.node}`}>
                                            <b className="number">{term.epoch}</b>
                                            <span className="grow clip">{term.node}</span>
                                            <span className="muted small">
                                                {t('cluster.seen')} <Moment at={term.seenAt} />
                                            </span>
                                        </li>
                                    ))}
                                </ul>
                            </Card>
                        </div>
                    </>
                )}
            </Loaded>
        </>
    );
}
