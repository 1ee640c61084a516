// Does something to each of many things, and says how many it was done to and why not to the others.
import { App } from 'antd';
import { asProblem, type Problem } from '../api/client';
import { ProblemWords } from '../components/Problems';
import { type TextKey, useI18n } from '../i18n';

// Calls under way at once: the server takes more, a browser does not.
const atOnce = 4;

async function forEach<T>(things: T[], action: (thing: T) => Promise<unknown>): Promise<Problem[]> {
    const problems: Problem[] = [];
    const waiting = [...things];
    const work = async () => {
        for (let thing = waiting.shift(); thing; thing = waiting.shift()) {
            try {
                await action(thing);
            } catch (error) {
                problems.push(asProblem(error));
            }
        }
    };
    await Promise.all(Array.from({ length: atOnce }, work));
    return problems;
}

export function useEach(done: () => void) {
    const { t } = useI18n();
    const { message, notification } = App.useApp();
    return async <T,>(
        things: T[],
        action: (thing: T) => Promise<unknown>,
        said: TextKey = 'bulk.done',
    ): Promise<void> => {
        const problems = await forEach(things, action);
        const good = things.length - problems.length;
        if (good > 0) void message.success(t(said, { count: good }));
        if (problems[0]) {
            notification.error({
                message: t('bulk.notDone', { count: problems.length }),
                description: <ProblemWords problem={problems[0]} />,
            });
        }
        done();
    };
}
