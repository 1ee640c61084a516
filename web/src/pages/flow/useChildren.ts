// The executions of one step of a run. The server lists those of all steps; they are looked through.
import { api } from '../../api/client';
import type { Execution } from '../../api/types';
import { type Data, useData } from '../../hooks/useData';

export interface Children {
    items: Execution[];
    more: boolean; // There may be more than were found.
}

const shownMax = 100;
const pageSize = 1_000;
// A run may have fifty thousand executions; nobody looks through them in a list.
const pagesMax = 10;

export function useChildren(run: string, step: string, status: string): Data<Children> {
    return useData(
        async (signal) => {
            const found: Execution[] = [];
            let cursor: string | undefined;
            let page = 0;
            do {
                const query = { parent_id: run, status: status || undefined, limit: pageSize, cursor };
                const answer = await api.executions(query, signal);
                found.push(...answer.items.filter((each) => each.step === step));
                cursor = answer.next_cursor ?? undefined;
            } while (cursor && found.length <= shownMax && ++page < pagesMax);
            const place = ({ shard }: Execution) => shard?.index ?? 0;
            const items = found.slice(0, shownMax).sort((a, b) => place(a) - place(b));
            return { items, more: cursor !== undefined || found.length > shownMax };
        },
        [run, step, status],
        { topics: ['task'], everyMs: 5_000 },
    );
}
