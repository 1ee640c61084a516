// The life of an execution, step by step, with the time each step took.
import { Timeline } from 'antd';
import type { ReactNode } from 'react';
import { Link } from 'react-router-dom';
import { type Attempt, type Execution, type Status, statuses } from '../../api/types';
import { Moment, Took } from '../../components/Time';
import { usePalette } from '../../hooks/usePalette';
import { isTextKey, type Translate, useI18n } from '../../i18n';
import { failureText } from '../../i18n/said';
import { isFinished } from '../../api/client';

// Where the server does not tell of each attempt, the last one can be told from the execution.
function attemptsOf(execution: Execution): Attempt[] {
    if (execution.attempts && execution.attempts.length > 0) return execution.attempts;
    if (execution.attempt === 0 || !execution.worker_id) return [];
    return [
        {
            attempt: execution.attempt,
            worker_id: execution.worker_id,
            started_at: execution.started_at,
            finished_at: execution.finished_at,
            status: execution.status,
            error: execution.error,
        },
    ];
}

// The state that an attempt's end has the colour of.
const likeStatus = (end: string): Status =>
    end === 'returned' ? 'pending' : (statuses.find((status) => status === end) ?? 'failed');

const endText = (end: string, t: Translate): string => {
    const key = `status.${end}`;
    return isTextKey(key) ? t(key) : end;
};

function Step({ title, at, children }: { title: ReactNode; at: string | null; children?: ReactNode }) {
    return (
        <div className="step">
            <div className="step-head">
                <b>{title}</b>
                <span className="muted small">
                    <Moment at={at} />
                </span>
            </div>
            {children && <div className="muted small step-text">{children}</div>}
        </div>
    );
}

export function AttemptTimeline({ execution }: { execution: Execution }) {
    const { t } = useI18n();
    const palette = usePalette();
    const attempts = attemptsOf(execution);
    const first = attempts[0];
    const items = [
        {
            color: palette.status.pending,
            children: (
                <Step title={t('timeline.created')} at={execution.created_at}>
                    {t('timeline.waited')}{' '}
                    <Took
                        from={execution.created_at}
                        to={first?.started_at ?? execution.started_at ?? execution.finished_at}
                    />
                </Step>
            ),
        },
        ...attempts.map((attempt) => {
            return {
                color: palette.status[likeStatus(attempt.status)],
                children: (
                    <Step
                        title={t('timeline.attempt', {
                            number: attempt.attempt,
                            status: endText(attempt.status, t),
                        })}
                        at={attempt.started_at}
                    >
                        {attempt.worker_id && (
                            <>
                                {t('timeline.on')}{' '}
                                <Link
                                    to={`/workers/${encodeURIComponent(attempt.worker_id)}`}
                                    className="in-text"
                                >
                                    {attempt.worker_id}
                                </Link>{' '}
                                ·{' '}
                            </>
                        )}
                        <Took from={attempt.started_at} to={attempt.finished_at} />
                        {attempt.error && <div>{failureText(attempt.error, t)}</div>}
                    </Step>
                ),
            };
        }),
    ];
    if (
        execution.status === 'retrying' ||
        (execution.status === 'pending' && Date.parse(execution.ready_at) > Date.now())
    ) {
        items.push({
            color: palette.status.retrying,
            children: <Step title={t('timeline.again')} at={execution.ready_at} />,
        });
    }
    if (isFinished(execution.status)) {
        items.push({
            color: palette.status[execution.status],
            children: <Step title={t(`status.${execution.status}`)} at={execution.finished_at} />,
        });
    }
    return <Timeline className="attempts" items={items} />;
}
