// Workers: how busy each is, and taking it out of rotation.
import { CaretRightOutlined, DeleteOutlined, PauseCircleOutlined } from '@ant-design/icons';
import { Button, Grid, Table, type TableProps, Tag } from 'antd';
import { useEffect, useState } from 'react';
import { Link, useLocation } from 'react-router-dom';
import { api } from '../../api/client';
import type { Worker } from '../../api/types';
import { Field, Fields } from '../../components/Field';
import { LoadBar } from '../../components/LoadBar';
import { RowButton } from '../../components/RowButton';
import { EmptyNote } from '../../components/States';
import { Ago } from '../../components/Time';
import { formatPercent } from '../../format';
import { useAct } from '../../hooks/useAct';
import { useI18n } from '../../i18n';
import { useCommonColumns } from './columns';

interface Props {
    workers: Worker[];
    wanted?: string; // The one that the person came for.
    changed: () => void;
}

function Buttons({ worker, changed }: { worker: Worker; changed: () => void }) {
    const { t } = useI18n();
    const { act, confirm } = useAct();
    const drain = () =>
        confirm(
            {
                title: t('worker.drainTitle', { name: worker.name }),
                what: t('worker.drainWhat'),
                ok: t('worker.drain'),
            },
            async () => {
                if (
                    await act(t('worker.drained', { name: worker.name }), () =>
                        api.drainWorker(worker.id, t('worker.byConsole')),
                    )
                )
                    changed();
            },
        );
    const resume = async () => {
        if (await act(t('worker.resumed', { name: worker.name }), () => api.resumeWorker(worker.id)))
            changed();
    };
    const remove = () =>
        confirm(
            {
                title: t('worker.removeTitle', { name: worker.name }),
                what: t('worker.removeWhat'),
                ok: t('action.remove'),
            },
            async () => {
                if (await act(t('worker.removed', { name: worker.name }), () => api.removeWorker(worker.id)))
                    changed();
            },
        );
    return (
        <span className="nowrap">
            {worker.status === 'draining' || worker.status === 'maintenance' ? (
                <RowButton
                    label={t('action.resume')}
                    name={worker.name}
                    icon={<CaretRightOutlined />}
                    onClick={() => void resume()}
                />
            ) : (
                <RowButton
                    label={t('worker.drain')}
                    name={worker.name}
                    icon={<PauseCircleOutlined />}
                    disabled={worker.status === 'offline'}
                    onClick={drain}
                />
            )}{' '}
            <Button
                size="small"
                type="text"
                danger
                icon={<DeleteOutlined />}
                aria-label={`${t('action.remove')}: ${worker.name}`}
                onClick={remove}
            />
        </span>
    );
}

function Share({ of, title }: { of: number | undefined; title: string }) {
    return <LoadBar share={of} label={formatPercent(of, 0)} title={title} />;
}

function useColumns(changed: () => void): TableProps<Worker>['columns'] {
    const { t } = useI18n();
    const { status, load, seen } = useCommonColumns<Worker>();
    return [
        {
            title: t('worker.worker'),
            render: (_, worker) => (
                <div className="two-lines">
                    <span className="cell-main">{worker.name}</span>
                    <span className="muted small">{worker.group || worker.address}</span>
                </div>
            ),
        },
        status,
        load,
        {
            title: t('worker.cpu'),
            render: (_, { load }) => <Share of={load.cpu} title={t('worker.cpu')} />,
            responsive: ['md'],
        },
        {
            title: t('worker.memory'),
            render: (_, { load }) => <Share of={load.memory} title={t('worker.memory')} />,
            responsive: ['md'],
        },
        seen,
        { align: 'right', render: (_, worker) => <Buttons worker={worker} changed={changed} /> },
    ];
}

function Details({ worker }: { worker: Worker }) {
    const { t } = useI18n();
    const room = Grid.useBreakpoint();
    return (
        <Fields>
            {/* What the columns have no room for. */}
            {!room.md && (
                <>
                    <Field label={t('worker.cpu')}>
                        <Share of={worker.load.cpu} title={t('worker.cpu')} />
                    </Field>
                    <Field label={t('worker.memory')}>
                        <Share of={worker.load.memory} title={t('worker.memory')} />
                    </Field>
                </>
            )}
            {!room.lg && (
                <Field label={t('worker.seen')}>
                    <Ago at={worker.seen_at} />
                </Field>
            )}
            <Field label={t('worker.types')}>
                {worker.types.map((type) => (
                    <Tag key={type}>{type}</Tag>
                ))}
            </Field>
            <Field label={t('worker.queues')}>
                {worker.queues.length > 0
                    ? worker.queues.map((queue) => <Tag key={queue}>{queue}</Tag>)
                    : t('worker.allQueues')}
            </Field>
            <Field label={t('task.labels')}>
                {Object.keys(worker.labels).length > 0 &&
                    Object.entries(worker.labels).map(([name, value]) => (
                        <Tag key={name}>{`${name}=${value}`}</Tag>
                    ))}
            </Field>
            <Field label={t('worker.weight')}>{worker.weight}</Field>
            <Field label={t('worker.version')}>{worker.version}</Field>
            <Field label={t('worker.joined')}>
                <Ago at={worker.joined_at} />
            </Field>
            <Field label="id">
                <code>{worker.id}</code>
            </Field>
            <Field label={t('nav.executions')}>
                <Link to={`/executions?worker_id=${encodeURIComponent(worker.id)}`}>{t('action.all')}</Link>
            </Field>
        </Fields>
    );
}

export function WorkerTable({ workers, wanted, changed }: Props) {
    const { t } = useI18n();
    const columns = useColumns(changed);
    const [open, setOpen] = useState<readonly string[]>([]);
    const { key } = useLocation();
    // Also when the person comes for one while the page is open, or for the same one again.
    useEffect(() => {
        if (wanted) setOpen((old) => [...new Set([...old, wanted])]);
    }, [wanted, key]);
    // The one that is wanted stands first, else it may be on another page.
    const rows = [...workers].sort(
        (a, b) => Number(b.id === wanted) - Number(a.id === wanted) || a.name.localeCompare(b.name),
    );
    return (
        <Table
            size="small"
            rowKey="id"
            columns={columns}
            dataSource={rows}
            pagination={workers.length > 50 ? { pageSize: 50 } : false}
            expandable={{
                expandedRowRender: (worker) => <Details worker={worker} />,
                expandedRowKeys: open,
                onExpandedRowsChange: (keys) => setOpen(keys.map(String)),
            }}
            locale={{ emptyText: <EmptyNote title={t('worker.none')} text={t('worker.noneText')} /> }}
        />
    );
}
