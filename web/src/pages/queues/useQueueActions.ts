// What can be done with a queue, the same on its list and on its page.
import { api } from '../../api/client';
import type { Queue } from '../../api/types';
import { useAct } from '../../hooks/useAct';
import { useI18n } from '../../i18n';

export function useQueueActions(changed: () => void) {
    const { t } = useI18n();
    const { act, confirm } = useAct();
    const pause = (queue: Queue) =>
        confirm(
            {
                title: t('queue.pauseTitle', { name: queue.name }),
                what: t('queue.pauseWhat'),
                ok: t('action.pause'),
            },
            async () => {
                if (await act(t('queue.wasPaused', { name: queue.name }), () => api.pauseQueue(queue.name)))
                    changed();
            },
        );
    const resume = async (queue: Queue) => {
        if (await act(t('queue.wasResumed', { name: queue.name }), () => api.resumeQueue(queue.name)))
            changed();
    };
    return { pause, resume };
}
