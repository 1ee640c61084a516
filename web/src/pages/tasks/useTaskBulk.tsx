// Pause, resume, run and delete many tasks at once.
import { App } from 'antd';
import { api, asProblem, type Problem } from '../../api/client';
import type { Task } from '../../api/types';
import { ProblemWords } from '../../components/Problems';
import { useAct } from '../../hooks/useAct';
import { useI18n } from '../../i18n';

// Calls under way at once: the server takes more, a browser does not.
const atOnce = 4;

async function forEach(tasks: Task[], action: (task: Task) => Promise<unknown>): Promise<Problem[]> {
    const problems: Problem[] = [];
    const waiting = [...tasks];
    const work = async () => {
        for (let task = waiting.shift(); task; task = waiting.shift()) {
            try {
                await action(task);
            } catch (error) {
                problems.push(asProblem(error));
            }
        }
    };
    await Promise.all(Array.from({ length: atOnce }, work));
    return problems;
}

export function useTaskBulk(done: () => void) {
    const { t } = useI18n();
    const { message, notification } = App.useApp();
    const { confirm } = useAct();
    const each = async (tasks: Task[], action: (task: Task) => Promise<unknown>) => {
        const problems = await forEach(tasks, action);
        const good = tasks.length - problems.length;
        if (good > 0) void message.success(t('bulk.done', { count: good }));
        if (problems[0]) {
            notification.error({
                message: t('bulk.notDone', { count: problems.length }),
                description: <ProblemWords problem={problems[0]} />,
            });
        }
        done();
    };
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
