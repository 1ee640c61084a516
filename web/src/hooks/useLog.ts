// The log of an execution, as it grows: by the server's stream, or by asking again where that is refused.
import { useEffect, useRef, useState } from 'react';
import { api, asProblem, type Problem } from '../api/client';
import { addressOf } from '../api/space';
import { follow, whileVisible } from '../api/stream';
import type { LogChunk } from '../api/types';

export interface FollowedLog {
    chunks: LogChunk[];
    following: boolean;
    cut: boolean; // The beginning is not kept here any more.
    problem: Problem | undefined; // Of the last reading.
}

const askEveryMs = 1_000;
// What a page can hold and a person can scroll.
const chunksMax = 2_000;
// Pages of a thousand chunks; a log is limited by the server long before.
const pagesMax = 50;

const empty: FollowedLog = { chunks: [], following: false, cut: false, problem: undefined };

export function useLog(execution: string, finished: boolean): FollowedLog {
    const [log, setLog] = useState<FollowedLog>(empty);
    // A log that is opened finished is read once; one that finishes while it is watched is watched to its end;
    // one whose execution is run again is watched again.
    const [watches, setWatches] = useState(finished ? 0 : 1);
    const wasFinished = useRef(finished);
    useEffect(() => {
        if (wasFinished.current && !finished) setWatches((count) => count + 1);
        wasFinished.current = finished;
    }, [finished]);

    useEffect(() => {
        const gone = new AbortController();
        const add = (more: LogChunk[]) =>
            setLog((old) => {
                const chunks = [...old.chunks, ...more];
                return {
                    ...old,
                    chunks: chunks.slice(-chunksMax),
                    cut: old.cut || chunks.length > chunksMax,
                    problem: undefined,
                };
            });
        const note = (change: Partial<FollowedLog>) => setLog((old) => ({ ...old, ...change }));
        setLog(empty);
        if (watches > 0) {
            whileVisible(gone.signal, (seen) => {
                // From its beginning: what was written meanwhile is in it.
                setLog(empty);
                void watchLog(execution, { seen, end: () => gone.abort() }, add, note);
            });
        } else void readLog(execution, gone.signal, note);
        return () => gone.abort();
    }, [execution, watches]);
    return log;
}

async function readAll(execution: string, signal: AbortSignal): Promise<LogChunk[]> {
    const chunks: LogChunk[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < pagesMax; ++page) {
        const answer = await api.log(execution, cursor, signal);
        chunks.push(...answer.items);
        if (!answer.next_cursor) break;
        cursor = answer.next_cursor;
    }
    return chunks;
}

async function readLog(execution: string, signal: AbortSignal, note: (change: Partial<FollowedLog>) => void) {
    try {
        const chunks = await readAll(execution, signal);
        if (signal.aborted) return;
        note({ chunks: chunks.slice(-chunksMax), cut: chunks.length > chunksMax, problem: undefined });
    } catch (error) {
        if (!signal.aborted) note({ problem: asProblem(error) });
    }
}

async function watchLog(
    execution: string,
    { seen, end }: { seen: AbortSignal; end: () => void },
    add: (more: LogChunk[]) => void,
    note: (change: Partial<FollowedLog>) => void,
) {
    note({ following: true });
    await follow(addressOf(`executions/${encodeURIComponent(execution)}/log?follow=true`), {
        signal: seen,
        onEvent: ({ event, data }) => {
            if (event === 'lines') add([JSON.parse(data) as LogChunk]);
            if (event !== 'end') return;
            note({ following: false });
            end();
        },
        onRefused: () => void askAgain(execution, seen, note),
    });
}

// Where the stream is refused.
async function askAgain(
    execution: string,
    signal: AbortSignal,
    note: (change: Partial<FollowedLog>) => void,
) {
    while (!signal.aborted) {
        const { status } = await api.execution(execution, signal).catch(() => ({ status: 'running' }));
        await readLog(execution, signal, note);
        if (status === 'success' || status === 'failed' || status === 'cancelled' || status === 'skipped')
            break;
        await new Promise((resolve) => setTimeout(resolve, askEveryMs));
    }
    if (!signal.aborted) note({ following: false });
}
