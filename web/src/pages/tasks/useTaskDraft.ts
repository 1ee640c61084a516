// A half-filled form of a new task, kept for this tab: a click beside it or a lost page costs nothing.
import dayjs, { isDayjs } from 'dayjs';
import { useState } from 'react';
import { space } from '../../api/space';
import { newAnswers, type TaskAnswers } from './taskFields';

const key = `takt.draft.task.${space}`;
const times = ['run_at', 'start_at', 'end_at'] as const;

function read(): Partial<TaskAnswers> | undefined {
    try {
        const kept = JSON.parse(sessionStorage.getItem(key) ?? 'null') as Record<string, unknown> | null;
        if (!kept) return undefined;
        for (const name of times) if (typeof kept[name] === 'string') kept[name] = dayjs(kept[name]);
        return kept as Partial<TaskAnswers>;
    } catch {
        return undefined;
    }
}

export interface TaskDraft {
    answers: Partial<TaskAnswers>;
    restored: boolean;
    keep: (answers: Partial<TaskAnswers>) => void;
    forget: () => void;
}

export function useTaskDraft(): TaskDraft {
    const [kept] = useState(read);
    const forget = () => sessionStorage.removeItem(key);
    const keep = (answers: Partial<TaskAnswers>) => {
        const filled = Boolean(answers.name || answers.cron_expression || answers.parameters || answers.type);
        if (!filled) return forget();
        const plain = Object.entries(answers).map(([name, value]) => [
            name,
            isDayjs(value) ? value.toISOString() : value,
        ]);
        sessionStorage.setItem(key, JSON.stringify(Object.fromEntries(plain)));
    };
    return { answers: { ...newAnswers(), ...kept }, restored: kept !== undefined, keep, forget };
}
