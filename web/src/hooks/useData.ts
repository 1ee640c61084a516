// Reads something from the server, and reads it again when the live feed says that it changed.
import { type DependencyList, useCallback, useEffect, useRef, useState } from 'react';
import { asProblem, type Problem } from '../api/client';
import { live, type LiveEvent, type Topic } from '../api/live';

export interface Data<T> {
    data: T | undefined; // The last that could be read, even if a later reading of the same failed.
    problem: Problem | undefined; // Of the last reading.
    loading: boolean; // The first reading is still going.
    reload: () => void;
}

export interface DataOptions {
    topics?: readonly Topic[];
    // Whether an event concerns what was read; all of the topics do unless given.
    concerns?: (event: LiveEvent) => boolean;
    everyMs?: number; // Also without events: for what changes by itself.
    restMs?: number; // However many events there are, no faster than this; a second unless given.
    paused?: boolean;
}

interface State<T> {
    data?: T;
    problem?: Problem;
    loading: boolean;
}

const restStandardMs = 1_000;

export function useData<T>(
    load: (signal: AbortSignal) => Promise<T>,
    deps: DependencyList,
    options: DataOptions = {},
): Data<T> {
    const [state, setState] = useState<State<T>>({ loading: true });
    const latest = useRef({ load, options });
    latest.current = { load, options };
    const again = useRef<() => void>(() => undefined);
    const reload = useCallback(() => again.current(), []);
    const paused = options.paused ?? false;
    const topics = options.topics?.join() ?? '';
    const everyMs = options.everyMs;

    useEffect(() => {
        if (paused) return undefined;
        const stopped = new AbortController();
        let busy = false;
        let wanted = false;
        let timer: ReturnType<typeof setTimeout> | undefined;
        // Two readings may be under way, after a reload; what the older one says is not put over the newer's.
        let begun = 0;
        let shown = 0;
        // Until the first answer, what is shown is the answer to another question: it does not outlive a
        // refusal, else a person would act on rows that have nothing to do with what was asked.
        let answered = false;

        const run = async () => {
            busy = true;
            wanted = false;
            const number = ++begun;
            const show = (next: (old: State<T>) => State<T>) => {
                if (stopped.signal.aborted || number < shown) return;
                shown = number;
                setState(next);
            };
            try {
                const data = await latest.current.load(stopped.signal);
                answered = true;
                show(() => ({ data, loading: false }));
            } catch (error) {
                const kept = answered;
                show((old) => ({
                    data: kept ? old.data : undefined,
                    problem: asProblem(error),
                    loading: false,
                }));
            }
            if (stopped.signal.aborted || number < begun) return;
            timer = setTimeout(() => {
                busy = false;
                if (wanted) ask();
            }, latest.current.options.restMs ?? restStandardMs);
        };
        const ask = () => {
            wanted = true;
            if (!busy && !document.hidden) void run();
        };
        again.current = () => {
            clearTimeout(timer);
            void run();
        };
        const onVisible = () => {
            if (wanted) ask();
        };
        setState((old) => ({ ...old, loading: old.data === undefined }));
        void run();
        const every = everyMs ? setInterval(ask, everyMs) : undefined;
        const unsubscribe = topics
            ? live.subscribe(topics.split(',') as Topic[], (event) => {
                  const concerns = latest.current.options.concerns;
                  if (!event || !concerns || concerns(event)) ask();
              })
            : undefined;
        document.addEventListener('visibilitychange', onVisible);
        return () => {
            stopped.abort();
            clearTimeout(timer);
            clearInterval(every);
            unsubscribe?.();
            document.removeEventListener('visibilitychange', onVisible);
        };
        // `deps` says when to read again, which may be more than what `load` uses.
        // eslint-disable-next-line react-hooks/exhaustive-deps
    }, [...deps, topics, everyMs, paused]);

    return { data: state.data, problem: state.problem, loading: state.loading, reload };
}
