// A page of executions that holds still: what is new is counted, and shown when the person asks for it.
import { useEffect, useRef, useState } from 'react';
import { api, type ExecutionFilter } from '../../api/client';
import type { Execution, Page } from '../../api/types';
import { type Data, useData } from '../../hooks/useData';

export const pageSize = 50;

export interface ExecutionList {
    page: Page<Execution>;
    fresh: number; // New since the page was made.
    freshMore: boolean; // At least so many.
}

// Just behind this one in the order of their creation.
const after = (at: string) => new Date(Date.parse(at) + 1).toISOString();

const earlier = (a: string | undefined, b: string) => (a && Date.parse(a) < Date.parse(b) ? a : b);

export function useExecutionList(
    filter: ExecutionFilter,
    cursor: string | undefined,
): Data<ExecutionList> & { showNew: () => void } {
    const question = JSON.stringify([filter, cursor]);
    // The time at which the page ends at its top. Older pages end at their cursor.
    const top = useRef<{ question: string; at: string }>();
    const [, setShown] = useState(0);
    useEffect(() => {
        top.current = undefined;
    }, [question]);
    const list = useData(
        async (signal): Promise<ExecutionList> => {
            const held = top.current?.question === question ? top.current.at : undefined;
            const still = held && !cursor ? { ...filter, to: earlier(filter.to, held) } : filter;
            const page = api.executions({ ...still, cursor, limit: pageSize }, signal);
            const counts =
                held && !cursor && (!filter.to || Date.parse(filter.to) > Date.parse(held))
                    ? await api.executionCounts({ ...filter, from: held }, signal)
                    : undefined;
            const answer = await page;
            const newest = answer.items[0];
            if (!held && newest) top.current = { question, at: after(newest.created_at) };
            return {
                page: answer,
                fresh: counts?.total ?? 0,
                freshMore: counts ? !counts.complete : false,
            };
        },
        [question],
        // Older pages do not get anything new, but what is on them changes.
        { topics: ['task'], everyMs: 15_000 },
    );
    return {
        ...list,
        showNew: () => {
            top.current = undefined;
            setShown((count) => count + 1);
            list.reload();
        },
    };
}
