// Retry and cancel many executions: those that were chosen, or all that a filter matches.
import { App } from 'antd';
import { api, type ExecutionFilter, Problem } from '../../api/client';
import type { Execution, Sweep } from '../../api/types';
import { useAct } from '../../hooks/useAct';
import { useI18n } from '../../i18n';

// Calls under way at once: the server takes more, a browser does not.
const atOnce = 4;
// The server handles so many of a filter in one call; more calls than this need another decision.
const sweepsMax = 20;

async function forEach(items: Execution[], action: (id: string) => Promise<unknown>): Promise<Problem[]> {
    const problems: Problem[] = [];
    const waiting = [...items];
    const worker = async () => {
        for (let item = waiting.shift(); item; item = waiting.shift()) {
            try {
                await action(item.id);
            } catch (error) {
                problems.push(error instanceof Problem ? error : new Problem(0, 'unknown', String(error)));
            }
        }
    };
    await Promise.all(Array.from({ length: atOnce }, worker));
    return problems;
}

export function useBulk(done: () => void) {
    const { t } = useI18n();
    const { message, notification } = App.useApp();
    const { act, confirm } = useAct();

    const each = async (items: Execution[], action: (id: string) => Promise<unknown>) => {
        const problems = await forEach(items, action);
        const good = items.length - problems.length;
        if (good > 0) void message.success(t('bulk.done', { count: good }));
        if (problems.length > 0) {
            notification.error({
                message: t('bulk.notDone', { count: problems.length }),
                description: problems[0]?.message || t('error.unreachable'),
            });
        }
        done();
    };
    const sweep = async (filter: ExecutionFilter, call: (filter: ExecutionFilter) => Promise<Sweep>) => {
        let changed = 0;
        await act(t('bulk.swept'), async () => {
            for (let round = 0; round < sweepsMax; ++round) {
                const answer = await call(filter);
                changed += answer.changed;
                if (!answer.more || answer.changed === 0) break;
            }
            void message.info(t('bulk.done', { count: changed }));
        });
        done();
    };

    return {
        retry: (items: Execution[]) =>
            confirm(
                {
                    title: t('bulk.retry', { count: items.length }),
                    what: t('bulk.retryWhat'),
                    ok: t('action.retry'),
                    danger: false,
                },
                () => each(items, api.retryExecution),
            ),
        cancel: (items: Execution[]) =>
            confirm(
                {
                    title: t('bulk.cancel', { count: items.length }),
                    what: t('bulk.cancelWhat'),
                    ok: t('action.cancel'),
                },
                () => each(items, api.cancelExecution),
            ),
        retryMatching: (filter: ExecutionFilter) =>
            confirm(
                {
                    title: t('bulk.retryAll'),
                    what: t('bulk.retryAllWhat'),
                    ok: t('action.retry'),
                    danger: false,
                },
                () => sweep(filter, api.retryMatching),
            ),
        cancelMatching: (filter: ExecutionFilter) =>
            confirm(
                { title: t('bulk.cancelAll'), what: t('bulk.cancelAllWhat'), ok: t('action.cancel') },
                () => sweep(filter, api.cancelMatching),
            ),
    };
}
