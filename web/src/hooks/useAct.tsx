// Does what a person asked for: says that it worked, or why it did not.
import { App } from 'antd';
import { type ReactNode, useCallback } from 'react';
import { asProblem } from '../api/client';
import { ProblemDetail } from '../components/Problems';
import { useI18n } from '../i18n';
import { problemText } from '../i18n/said';

export function useAct() {
    const { message, notification, modal } = App.useApp();
    const { t } = useI18n();

    const complain = useCallback(
        (error: unknown) => {
            const problem = asProblem(error);
            notification.error({
                message: problemText(problem, t),
                description: <ProblemDetail problem={problem} />,
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
            ask: { title: string; what: ReactNode; ok: string; danger?: boolean },
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
