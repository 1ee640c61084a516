// What can be done with a task, the same on its list and on its page.
import { useAct } from '../../hooks/useAct';
import { useI18n } from '../../i18n';
import { api } from '../../api/client';
import type { Task } from '../../api/types';

export function useTaskActions(changed: () => void) {
    const { t } = useI18n();
    const { act, confirm } = useAct();

    const pause = (task: Task) =>
        confirm(
            {
                title: t('task.pauseTitle', { name: task.name }),
                what: t('task.pauseWhat'),
                ok: t('action.pause'),
                danger: false,
            },
            async () => {
                if (await act(t('task.paused', { name: task.name }), () => api.pauseTask(task.id))) changed();
            },
        );
    const resume = async (task: Task) => {
        if (await act(t('task.resumed', { name: task.name }), () => api.resumeTask(task.id))) changed();
    };
    const remove = (task: Task, removed: () => void = changed) =>
        confirm(
            {
                title: t('task.deleteTitle', { name: task.name }),
                what: t('task.deleteWhat'),
                ok: t('action.delete'),
            },
            async () => {
                if (await act(t('task.deleted', { name: task.name }), () => api.deleteTask(task.id)))
                    removed();
            },
        );
    return { pause, resume, remove };
}
