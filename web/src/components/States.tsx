// What a page shows when there is nothing to show: each says what to do next.
import {
    ApiOutlined,
    DisconnectOutlined,
    InboxOutlined,
    LockOutlined,
    WarningOutlined,
} from '@ant-design/icons';
import { Alert, Button, Skeleton } from 'antd';
import { type ReactNode, useRef } from 'react';
import type { Problem } from '../api/client';
import type { Data } from '../hooks/useData';
import { useI18n } from '../i18n';
import { problemText } from '../i18n/said';
import { ProblemDetail } from './Problems';

interface NoteProps {
    icon: ReactNode;
    title: string;
    children?: ReactNode;
    action?: ReactNode;
}

export function Note({ icon, title, children, action }: NoteProps) {
    return (
        <div className="note" role="status">
            <div className="note-icon" aria-hidden="true">
                {icon}
            </div>
            <div className="note-title">{title}</div>
            {children && <div className="note-text">{children}</div>}
            {action && <div className="note-action">{action}</div>}
        </div>
    );
}

export function EmptyNote({ title, text, action }: { title: string; text?: string; action?: ReactNode }) {
    return (
        <Note icon={<InboxOutlined />} title={title} action={action}>
            {text}
        </Note>
    );
}

function iconOf(problem: Problem): ReactNode {
    if (problem.notOffered) return <ApiOutlined />;
    if (problem.status === 0) return <DisconnectOutlined />;
    return problem.status === 403 ? <LockOutlined /> : <WarningOutlined />;
}

export function ProblemNote({ problem, retry }: { problem: Problem; retry?: () => void }) {
    const { t } = useI18n();
    const final = problem.notOffered || problem.status === 403;
    return (
        <Note
            icon={iconOf(problem)}
            title={problemText(problem, t)}
            action={retry && !final && <Button onClick={retry}>{t('action.retryNow')}</Button>}
        >
            <ProblemDetail problem={problem} />
            {problem.requestId && (
                <div className="muted small">{t('error.request', { id: problem.requestId })}</div>
            )}
        </Note>
    );
}

// A part of a page that is shown when all of these have answered, so that nothing in it moves when the next one does.
export function Whole({ of, children }: { of: readonly Data<unknown>[]; children: ReactNode }) {
    const shown = useRef(false);
    shown.current ||= of.every(({ data, problem }) => data !== undefined || problem);
    if (!shown.current) return <Skeleton active paragraph={{ rows: 12 }} title={false} className="loading" />;
    return children;
}

// Shows data as soon as there is some; a later failure is a line above it, not the end of it.
export function Loaded<T>({ of, children }: { of: Data<T>; children: (data: T) => ReactNode }) {
    const { t } = useI18n();
    if (of.data === undefined) {
        if (of.problem) return <ProblemNote problem={of.problem} retry={of.reload} />;
        return <Skeleton active paragraph={{ rows: 5 }} title={false} className="loading" />;
    }
    return (
        <>
            {/* That the server is away is said once, at the top. */}
            {of.problem && of.problem.status !== 0 && (
                <Alert
                    type="warning"
                    showIcon
                    banner
                    className="stale"
                    message={t('error.stale', { why: problemText(of.problem, t) })}
                />
            )}
            {children(of.data)}
        </>
    );
}
