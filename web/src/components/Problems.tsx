// What went wrong: a headline in the reader's language, and below it the server's own words, which name the
// value at fault.
import { Alert } from 'antd';
import type { Problem } from '../api/client';
import { useI18n } from '../i18n';
import { adviceKey, problemText } from '../i18n/said';

export function ProblemDetail({ problem }: { problem: Problem }) {
    const { t } = useI18n();
    const advice = adviceKey(problem);
    return advice ? <span>{t(advice)}</span> : <span lang="en">{problem.message}</span>;
}

export function ProblemWords({ problem }: { problem: Problem }) {
    const { t } = useI18n();
    return (
        <>
            <div>{problemText(problem, t)}</div>
            <div className="muted small">
                <ProblemDetail problem={problem} />
            </div>
        </>
    );
}

interface Props {
    problem: Problem;
    headline?: string; // Where the form can say more than the code does.
}

// Above the fields of a form.
export function ProblemAlert({ problem, headline }: Props) {
    const { t } = useI18n();
    return (
        <Alert
            type="error"
            showIcon
            className="form-problem"
            message={headline ?? problemText(problem, t)}
            description={<ProblemDetail problem={problem} />}
        />
    );
}
