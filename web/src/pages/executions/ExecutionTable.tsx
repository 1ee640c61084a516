// Executions as rows: the same on every page that lists some.
import { Table, type TableProps } from 'antd';
import type { ReactNode } from 'react';
import { Link } from 'react-router-dom';
import type { Execution } from '../../api/types';
import { EmptyNote } from '../../components/States';
import { StatusTag } from '../../components/StatusTag';
import { Ago, RunTime } from '../../components/Time';
import { useI18n } from '../../i18n';
import { failureText } from '../../i18n/said';
import { partText } from './PartOf';

interface Props {
    items: Execution[];
    ofOneTask?: boolean;
    without?: 'worker' | 'queue'; // On the page of one it says the same in every row.
    empty: string;
    emptyText: string;
    emptyAction?: ReactNode;
    selection?: TableProps<Execution>['rowSelection'];
}

function useColumns(ofOneTask: boolean): TableProps<Execution>['columns'] {
    const { t } = useI18n();
    return [
        {
            title: ofOneTask ? t('execution.execution') : t('task.task'),
            render: (_, execution) => (
                <div className="two-lines">
                    <Link
                        to={`/executions/${encodeURIComponent(execution.id)}`}
                        className="cell-main"
                        title={execution.task_name}
                    >
                        {ofOneTask ? <code>{execution.id}</code> : execution.task_name}
                    </Link>
                    {/* A phone has no room for columns of them. */}
                    <span className="muted small phone-only" data-testid="when">
                        <Ago at={execution.created_at} /> · <RunTime execution={execution} />
                    </span>
                    {execution.step && <span className="muted small">{partText(execution, t)}</span>}
                    {!ofOneTask && !execution.step && <code className="muted small">{execution.id}</code>}
                </div>
            ),
        },
        {
            title: t('execution.status'),
            render: (_, execution) => (
                <div className="two-lines">
                    <StatusTag status={execution.status} />
                    {execution.error && (
                        <span className="muted small clip">{failureText(execution.error, t)}</span>
                    )}
                </div>
            ),
        },
        {
            title: t('execution.created'),
            render: (_, { created_at }) => <Ago at={created_at} />,
            responsive: ['sm'],
        },
        {
            title: t('execution.took'),
            render: (_, execution) => <RunTime execution={execution} />,
            responsive: ['md'],
        },
        {
            title: t('execution.attempt'),
            align: 'right',
            render: (_, { attempt }) => <span className="number">{attempt}</span>,
            responsive: ['lg'],
        },
        {
            key: 'worker',
            title: t('worker.worker'),
            render: (_, { worker_id }) =>
                worker_id ? (
                    <Link
                        to={`/workers/${encodeURIComponent(worker_id)}`}
                        className="clip clip-narrow"
                        title={worker_id}
                    >
                        {worker_id}
                    </Link>
                ) : (
                    <span className="muted">–</span>
                ),
            responsive: ['lg'],
        },
        {
            title: t('execution.origin'),
            render: (_, { origin }) => <span className="nowrap">{t(`origin.${origin}`)}</span>,
            responsive: ['xl'],
        },
        {
            key: 'queue',
            title: t('queue.queue'),
            render: (_, { queue }) => (
                <Link className="clip clip-narrow" title={queue} to={`/queues/${encodeURIComponent(queue)}`}>
                    {queue}
                </Link>
            ),
            responsive: ['xl'],
        },
    ];
}

export function ExecutionTable({
    items,
    ofOneTask = false,
    without,
    empty,
    emptyText,
    emptyAction,
    selection,
}: Props) {
    const columns = useColumns(ofOneTask)?.filter(({ key }) => key === undefined || key !== without);
    return (
        <Table
            size="small"
            rowKey="id"
            columns={columns}
            dataSource={items}
            pagination={false}
            rowSelection={selection}
            locale={{ emptyText: <EmptyNote title={empty} text={emptyText} action={emptyAction} /> }}
        />
    );
}
