// Does what a person asked for: says that it worked, or why it did not.
import { App } from 'antd';
import { useCallback } from 'react';
import { Problem } from '../api/client';
import { useI18n } from '../i18n';

export function useAct() {
    const { message, notification, modal } = App.useApp();
    const { t } = useI18n();

    const complain = useCallback(
        (error: unknown) => {
            const problem = error instanceof Problem ? error : undefined;
            notification.error({
                message: t('error.notDone'),
                description: describe(problem, String(error), t('error.unreachable')),
                duration: 8,
            });
        },
        [notification, t],
    );

    // True if it worked.
    const act = useCallback(
        async (done: string, action: () => Promise<unknown>): Promise<boolean> => {
            try {
                await action();
                void message.success(done);
                return true;
            } catch (error) {
                complain(error);
                return false;
            }
        },
        [message, complain],
    );

    // Asks first. `danger`: it cannot be taken back.
    const confirm = useCallback(
        (
            ask: { title: string; what: string; ok: string; danger?: boolean },
            action: () => Promise<unknown>,
        ) =>
            modal.confirm({
                title: ask.title,
                content: ask.what,
                okText: ask.ok,
                okButtonProps: { danger: ask.danger ?? true },
                cancelText: t('action.back'),
                autoFocusButton: 'cancel',
                onOk: action,
            }),
        [modal, t],
    );

    return { act, complain, confirm };
}

function describe(problem: Problem | undefined, otherwise: string, unreachable: string): string {
    if (!problem) return otherwise;
    if (problem.status === 0) return unreachable;
    return problem.field ? `${problem.field}: ${problem.message}` : problem.message;
}
