// What can be done with a queue, the same on its list and on its page.
import { api } from '../../api/client';
import type { Queue } from '../../api/types';
import { useAct } from '../../hooks/useAct';
import { useI18n } from '../../i18n';

export function useQueueActions(changed: () => void) {
    const { t } = useI18n();
    const { act } = useAct();
    // Not asked twice: nothing is lost, and the button that undoes it comes in its place.
    const pause = async (queue: Queue) => {
        if (await act(t('queue.wasPaused', { name: queue.name }), () => api.pauseQueue(queue.name)))
            changed();
    };
    const resume = async (queue: Queue) => {
        if (await act(t('queue.wasResumed', { name: queue.name }), () => api.resumeQueue(queue.name)))
            changed();
    };
    return { pause, resume };
}
