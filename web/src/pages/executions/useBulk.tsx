// Retry and cancel many executions: those that were chosen, or all that a filter matches.
import { App } from 'antd';
import { api, type ExecutionFilter, type Problem, problemFrom, type SweepQuery } from '../../api/client';
import type { Execution, Sweep } from '../../api/types';
import { ProblemWords } from '../../components/Problems';
import { formatNumber } from '../../format';
import { useAct } from '../../hooks/useAct';
import { useEach } from '../../hooks/useEach';
import { type TextKey, useI18n } from '../../i18n';

// What the server takes in one call, and how many calls may be made before a person decides again.
const sweepLimit = 1_000;
const sweepsMax = 100;

interface Swept {
    matched: number;
    changed: number;
    more: boolean; // There is more that was not looked at.
    why?: Problem; // Of the first that could not be changed.
    error?: unknown; // A call failed; the rest was not looked at.
}

const unfinished = ['pending', 'scheduled', 'running', 'retrying'];

// The filter without the states that an action cannot touch, which the server refuses; nothing if none is left.
// Without states it is for the `usual` ones, by their names: without any filter the server takes nothing.
function within(
    filter: ExecutionFilter,
    possible: readonly string[],
    usual: readonly string[],
): ExecutionFilter | undefined {
    if (!filter.status) return { ...filter, status: usual.join(',') };
    const asked = filter.status.split(',');
    const status = possible.filter((each) => asked.includes(each)).join(',');
    return status ? { ...filter, status } : undefined;
}

// From the newest to the oldest, so that what fails again at once, or is new, is not met again. Ends early
// where nothing of a whole call can be changed: that is hardly different further on.
async function sweepAll(
    filter: ExecutionFilter,
    call: (query: SweepQuery) => Promise<Sweep>,
): Promise<Swept> {
    const swept: Swept = { matched: 0, changed: 0, more: true };
    let cursor: string | undefined;
    try {
        for (let round = 0; round < sweepsMax && swept.more; ++round) {
            const answer = await call({ ...filter, limit: sweepLimit, cursor });
            swept.matched += answer.matched;
            swept.changed += answer.changed;
            const left = answer.items.find(({ problem }) => problem);
            if (left?.problem) swept.why ??= problemFrom(left.status, left.problem);
            cursor = answer.next_cursor ?? undefined;
            swept.more = cursor !== undefined;
            if (answer.changed === 0) break;
        }
    } catch (error) {
        swept.error = error;
    }
    return swept;
}

export function useBulk(done: () => void) {
    const { t, locale } = useI18n();
    const { message, notification } = App.useApp();
    const { complain, confirm } = useAct();
    const each = useEach(done);
    const sweep = async (
        filter: ExecutionFilter,
        call: (query: SweepQuery) => Promise<Sweep>,
        said: TextKey,
    ) => {
        const { matched, changed, more, why, error } = await sweepAll(filter, call);
        if (error) complain(error);
        else if (matched === 0) void message.info(t('bulk.nothing'));
        if (changed > 0 && !more) void message.success(t(said, { count: changed }));
        if (changed > 0 && more) {
            notification.warning({
                message: t('bulk.more', { count: changed }),
                description: t('bulk.moreText'),
                duration: 0,
            });
        }
        if (matched > changed) {
            notification.warning({
                message: t('bulk.notDone', { count: matched - changed }),
                description: why && <ProblemWords problem={why} />,
            });
        }
        done();
    };

    // The question, with how many it is about: one page is counted, more are "or more". Nothing where nothing
    // matches.
    const asked = async (filter: ExecutionFilter, what: string) => {
        try {
            const page = await api.executions({ ...filter, limit: sweepLimit });
            if (page.items.length === 0) return void message.info(t('bulk.nothing'));
            const count = formatNumber(page.items.length, locale);
            return (
                <>
                    <p>
                        <b>{t(page.next_cursor ? 'bulk.matchOrMore' : 'bulk.match', { count })}</b>
                    </p>
                    {what}
                </>
            );
        } catch (error) {
            return complain(error);
        }
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
                () => each(items, ({ id }) => api.retryExecution(id), 'bulk.retried'),
            ),
        cancel: (items: Execution[]) =>
            confirm(
                {
                    title: t('bulk.cancel', { count: items.length }),
                    what: t('bulk.cancelWhat'),
                    ok: t('action.cancel'),
                },
                () => each(items, ({ id }) => api.cancelExecution(id), 'bulk.cancelled'),
            ),
        retryMatching: async (filter: ExecutionFilter) => {
            const possible = within(filter, ['failed', 'cancelled'], ['failed']);
            if (!possible) return void message.info(t('bulk.nothing'));
            const what = await asked(possible, t('bulk.retryAllWhat'));
            if (!what) return;
            confirm({ title: t('bulk.retryAll'), what, ok: t('action.retry'), danger: false }, () =>
                sweep(possible, api.retryMatching, 'bulk.retried'),
            );
        },
        cancelMatching: async (filter: ExecutionFilter) => {
            const possible = within(filter, unfinished, unfinished);
            if (!possible) return void message.info(t('bulk.nothing'));
            const what = await asked(possible, t('bulk.cancelAllWhat'));
            if (!what) return;
            confirm({ title: t('bulk.cancelAll'), what, ok: t('action.cancel') }, () =>
                sweep(possible, api.cancelMatching, 'bulk.cancelled'),
            );
        },
    };
}
