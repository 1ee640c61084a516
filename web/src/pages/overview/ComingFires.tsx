// What fires next.
import { Button, Card } from 'antd';
import { Link } from 'react-router-dom';
import { api } from '../../api/client';
import { EmptyNote, Loaded } from '../../components/States';
import { Ago } from '../../components/Time';
import { formatFire } from '../../format';
import { useData } from '../../hooks/useData';
import { useI18n } from '../../i18n';
import { scheduleText } from '../tasks/schedule';

const shownMax = 6;

export function ComingFires() {
    const { t, locale } = useI18n();
    const fires = useData((signal) => api.comingFires(shownMax, signal), [], {
        topics: ['task'],
        everyMs: 10_000,
    });
    return (
        <Card
            className="span-6"
            size="small"
            title={t('overview.next')}
            extra={<Link to="/tasks">{t('action.all')}</Link>}
        >
            <Loaded of={fires}>
                {({ items }) => {
                    if (items.length === 0) {
                        return (
                            <EmptyNote
                                title={t('overview.nothingFires')}
                                text={t('overview.nothingFiresText')}
                                action={
                                    <Link to="/tasks?new=1">
                                        <Button type="primary">{t('task.new')}</Button>
                                    </Link>
                                }
                            />
                        );
                    }
                    return (
                        <ul className="rows">
                            {items.map((fire) => (
                                <li key={fire.task_id}>
                                    <div className="grow two-lines">
                                        <Link
                                            to={`/tasks/${encodeURIComponent(fire.task_id)}`}
                                            className="clip cell-main"
                                        >
                                            {fire.task_name}
                                        </Link>
                                        <span className="muted small clip">{scheduleText(fire, t)}</span>
                                    </div>
                                    <div className="two-lines align-end">
                                        <span className="number">{formatFire(fire.at, locale)}</span>
                                        <span className="muted small">
                                            <Ago at={fire.at} coming />
                                        </span>
                                    </div>
                                </li>
                            ))}
                        </ul>
                    );
                }}
            </Loaded>
        </Card>
    );
}
