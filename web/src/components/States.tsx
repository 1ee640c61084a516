// What a page shows when there is nothing to show: each says what to do next.
import {
    ApiOutlined,
    DisconnectOutlined,
    InboxOutlined,
    LockOutlined,
    WarningOutlined,
} from '@ant-design/icons';
import { Alert, Button, Skeleton } from 'antd';
import type { ReactNode } from 'react';
import type { Problem } from '../api/client';
import type { Data } from '../hooks/useData';
import { useI18n } from '../i18n';

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

export function ProblemNote({ problem, retry }: { problem: Problem; retry?: () => void }) {
    const { t } = useI18n();
    const again = retry && <Button onClick={retry}>{t('action.retryNow')}</Button>;
    if (problem.notOffered) {
        return (
            <Note icon={<ApiOutlined />} title={t('error.notOffered')}>
                {t('error.notOfferedText')}
            </Note>
        );
    }
    if (problem.status === 0) {
        return (
            <Note icon={<DisconnectOutlined />} title={t('error.noAnswer')} action={again}>
                {t('error.unreachable')}
            </Note>
        );
    }
    if (problem.status === 403) {
        return (
            <Note icon={<LockOutlined />} title={t('error.forbidden')}>
                {problem.message}
            </Note>
        );
    }
    return (
        <Note
            icon={<WarningOutlined />}
            title={
                problem.status === 404 ? t('error.notFound') : t('error.refused', { status: problem.status })
            }
            action={again}
        >
            {problem.message}
            {problem.requestId && (
                <div className="muted small">{t('error.request', { id: problem.requestId })}</div>
            )}
        </Note>
    );
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
            {of.problem && (
                <Alert
                    type="warning"
                    showIcon
                    banner
                    className="stale"
                    message={t('error.stale', { why: of.problem.message || t('error.unreachable') })}
                />
            )}
            {children(of.data)}
        </>
    );
}
