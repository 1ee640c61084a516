// The columns that workers and executors have in common.
import type { TableColumnType } from 'antd';
import type { Executor, Worker } from '../../api/types';
import { LoadBar } from '../../components/LoadBar';
import { WorkerTag } from '../../components/StatusTag';
import { Ago } from '../../components/Time';
import { type Translate, useI18n } from '../../i18n';

// What the scheduler itself says of one that it lost; the rest are an operator's words.
const lostByLease = 'not heard of for longer than its lease';

function aboutStatus({ status, status_reason, running }: Worker | Executor, t: Translate): string {
    const reason = status_reason === lostByLease ? t('worker.lostByLease') : status_reason;
    const left =
        status === 'draining' || status === 'maintenance' ? t('worker.left', { count: running }) : '';
    return [left, reason].filter(Boolean).join(' · ');
}

export function useCommonColumns<T extends Worker | Executor>(): Record<
    'status' | 'load' | 'seen',
    TableColumnType<T>
> {
    const { t } = useI18n();
    return {
        status: {
            title: t('execution.status'),
            render: (_, worker) => {
                const about = aboutStatus(worker, t);
                return (
                    <div className="two-lines">
                        <WorkerTag status={worker.status} />
                        {about && (
                            <span className="muted small clip clip-narrow" title={about}>
                                {about}
                            </span>
                        )}
                    </div>
                );
            },
        },
        load: {
            title: t('worker.load'),
            render: (_, { running, capacity }) => (
                <LoadBar
                    wanted
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
