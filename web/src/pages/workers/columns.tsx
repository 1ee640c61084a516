// The columns that workers and executors have in common.
import type { TableColumnType } from 'antd';
import type { Executor, Worker } from '../../api/types';
import { LoadBar } from '../../components/LoadBar';
import { WorkerTag } from '../../components/StatusTag';
import { Ago } from '../../components/Time';
import { useI18n } from '../../i18n';

export function useCommonColumns<T extends Worker | Executor>(): Record<
    'status' | 'load' | 'seen',
    TableColumnType<T>
> {
    const { t } = useI18n();
    return {
        status: {
            title: t('execution.status'),
            render: (_, { status, status_reason }) => (
                <div className="two-lines">
                    <WorkerTag status={status} />
                    {status_reason && <span className="muted small clip">{status_reason}</span>}
                </div>
            ),
        },
        load: {
            title: t('worker.load'),
            render: (_, { running, capacity }) => (
                <LoadBar
                    share={running / capacity}
                    label={`${running}/${capacity}`}
                    title={t('worker.slots')}
                />
            ),
        },
        seen: {
            title: t('worker.seen'),
            render: (_, { seen_at }) => <Ago at={seen_at} />,
            responsive: ['lg'],
        },
    };
}
