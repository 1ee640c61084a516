// What fires next.
import { Button, Card } from 'antd';
import { Link } from 'react-router-dom';
import { api } from '../../api/client';
import type { Task } from '../../api/types';
import { EmptyNote, Loaded } from '../../components/States';
import { Ago } from '../../components/Time';
import { formatFire } from '../../format';
import { useData } from '../../hooks/useData';
import { useI18n } from '../../i18n';
import { scheduleText } from '../tasks/schedule';

const shownMax = 6;
// One page of the list: with more tasks than this the next ones are the next among these.
const readMax = 500;

const byNextFire = (a: Task, b: Task) => Date.parse(a.next_fire_at ?? '') - Date.parse(b.next_fire_at ?? '');

export function ComingFires() {
    const { t, locale } = useI18n();
    const tasks = useData((signal) => api.tasks({ limit: readMax }, signal), [], {
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
            <Loaded of={tasks}>
                {({ items }) => {
                    const coming = items
                        .filter((task) => task.enabled && task.next_fire_at)
                        .sort(byNextFire)
                        .slice(0, shownMax);
                    if (coming.length === 0) {
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
                            {coming.map((task) => (
                                <li key={task.id}>
                                    <div className="grow two-lines">
                                        <Link
                                            to={`/tasks/${encodeURIComponent(task.id)}`}
                                            className="clip cell-main"
                                        >
                                            {task.name}
                                        </Link>
                                        <span className="muted small clip">{scheduleText(task, t)}</span>
                                    </div>
                                    <div className="two-lines align-end">
                                        <span className="number">
                                            {task.next_fire_at && formatFire(task.next_fire_at, locale)}
                                        </span>
                                        <span className="muted small">
                                            <Ago at={task.next_fire_at} coming />
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
