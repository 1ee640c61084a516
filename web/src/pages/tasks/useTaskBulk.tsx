// Pause, resume, run and delete many tasks at once.
import { api } from '../../api/client';
import type { Task } from '../../api/types';
import { useAct } from '../../hooks/useAct';
import { useEach } from '../../hooks/useEach';
import { useI18n } from '../../i18n';

export function useTaskBulk(done: () => void) {
    const { t } = useI18n();
    const { confirm } = useAct();
    const each = useEach(done);
    const asked = (
        kind: 'pause' | 'run' | 'delete',
        tasks: Task[],
        action: (task: Task) => Promise<unknown>,
    ) =>
        confirm(
            {
                title: t(`list.${kind}Many`, { count: tasks.length }),
                what: (
                    <>
                        <p>{t(`list.${kind}What`)}</p>
                        <ul className="names">
                            {tasks.slice(0, 10).map(({ id, name }) => (
                                <li key={id}>{name}</li>
                            ))}
                            {tasks.length > 10 && <li>…</li>}
                        </ul>
                    </>
                ),
                ok: t(`list.${kind}Many`, { count: tasks.length }),
                danger: kind === 'delete',
            },
            () => each(tasks, action),
        );
    return {
        pause: (tasks: Task[]) => asked('pause', tasks, ({ id }) => api.pauseTask(id)),
        resume: (tasks: Task[]) => each(tasks, ({ id }) => api.resumeTask(id)),
        run: (tasks: Task[]) => asked('run', tasks, ({ id }) => api.triggerTask(id, {})),
        remove: (tasks: Task[]) => asked('delete', tasks, ({ id }) => api.deleteTask(id)),
    };
}
