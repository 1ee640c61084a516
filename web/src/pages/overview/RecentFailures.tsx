// What went wrong last.
import { Card } from 'antd';
import { Link } from 'react-router-dom';
import { api } from '../../api/client';
import { EmptyNote, Loaded } from '../../components/States';
import { Ago } from '../../components/Time';
import { useData } from '../../hooks/useData';
import { useI18n } from '../../i18n';
import { failureText } from '../../i18n/said';

const shownMax = 6;

export function RecentFailures() {
    const { t } = useI18n();
    const failures = useData((signal) => api.executions({ status: 'failed', limit: shownMax }, signal), [], {
        topics: ['task'],
        concerns: (event) => event.type === 'task.failed',
    });
    return (
        <Card
            className="span-6"
            size="small"
            title={t('overview.failures')}
            extra={<Link to="/executions?status=failed">{t('action.all')}</Link>}
        >
            <Loaded of={failures}>
                {({ items }) =>
                    items.length === 0 ? (
                        <EmptyNote title={t('overview.noFailures')} text={t('overview.noFailuresText')} />
                    ) : (
                        <ul className="rows">
                            {items.map((execution) => (
                                <li key={execution.id}>
                                    <div className="grow two-lines">
                                        <Link
                                            to={`/executions/${encodeURIComponent(execution.id)}`}
                                            className="clip cell-main"
                                        >
                                            {execution.task_name}
                                        </Link>
                                        <span className="muted small clip wide-clip">
                                            {execution.error && failureText(execution.error, t)}
                                        </span>
                                    </div>
                                    <span className="muted small">
                                        <Ago at={execution.finished_at} />
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
