// What filters offer: the types, queues, workers and tasks that there are.
import { useDeferredValue, useState } from 'react';
import { api } from '../api/client';
import type { Choice } from '../components/ChoiceFilter';
import { useData } from './useData';

const named = (names: Iterable<string>): Choice[] =>
    [...new Set(names)].sort((a, b) => a.localeCompare(b)).map((name) => ({ value: name, label: name }));

// As many tasks as a person looks through.
const tasksMax = 50;

export function useTaskChoices(): { tasks: Choice[]; searchTasks: (text: string) => void } {
    const [text, setText] = useState('');
    const search = useDeferredValue(text);
    const { data } = useData(
        (signal) => api.tasks({ search: search || undefined, limit: tasksMax }, signal),
        [search],
    );
    return {
        tasks: (data?.items ?? []).map(({ id, name }) => ({
            value: id,
            label: name === id ? name : `${name} · ${id}`,
        })),
        searchTasks: setText,
    };
}

export function useFleetChoices(): { types: Choice[]; queues: Choice[]; workers: Choice[] } {
    const workers = useData((signal) => api.workers(signal), [], { everyMs: 30_000 });
    const queues = useData((signal) => api.queues(signal), [], { everyMs: 30_000 });
    const items = workers.data?.items ?? [];
    return {
        types: named(items.flatMap(({ types }) => types).filter((type) => type !== '*')),
        queues: named((queues.data?.items ?? []).map(({ name }) => name)),
        workers: items.map(({ id, name }) => ({ value: id, label: name === id ? name : `${name} · ${id}` })),
    };
}
