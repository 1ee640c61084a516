// The workers, the busiest first.
import { Card } from 'antd';
import { Link } from 'react-router-dom';
import { api } from '../../api/client';
import { LoadBar } from '../../components/LoadBar';
import { EmptyNote, Loaded } from '../../components/States';
import { WorkerTag } from '../../components/StatusTag';
import { useData } from '../../hooks/useData';
import { useI18n } from '../../i18n';

const shownMax = 6;

export function Fleet() {
    const { t } = useI18n();
    const workers = useData((signal) => api.workers(signal), [], { topics: ['worker'], everyMs: 3_000 });
    return (
        <Card
            className="span-6"
            size="small"
            title={t('nav.workers')}
            extra={<Link to="/workers">{t('action.all')}</Link>}
        >
            <Loaded of={workers}>
                {({ items }) =>
                    items.length === 0 ? (
                        <EmptyNote title={t('worker.none')} text={t('worker.noneText')} />
                    ) : (
                        <ul className="rows">
                            {[...items]
                                .sort((a, b) => b.running / b.capacity - a.running / a.capacity)
                                .slice(0, shownMax)
                                .map((worker) => (
                                    <li key={worker.id}>
                                        <Link
                                            to={`/workers/${encodeURIComponent(worker.id)}`}
                                            className="grow clip cell-main"
                                        >
                                            {worker.name}
                                        </Link>
                                        <LoadBar
                                            wanted
                                            share={worker.running / worker.capacity}
                                            label={`${worker.running}/${worker.capacity}`}
                                            title={t('worker.slots')}
                                        />
                                        <span className="fleet-state">
                                            <WorkerTag status={worker.status} />
                                        </span>
                                    </li>
                                ))}
                        </ul>
                    )
                }
            </Loaded>
        </Card>
    );
}
