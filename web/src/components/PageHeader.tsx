import { useEffect, type ReactNode } from 'react';
import { space } from '../api/space';

interface Props {
    title: ReactNode;
    name?: string; // For the browser's tab, where the title is more than a text.
    about?: ReactNode;
    actions?: ReactNode;
}

export function PageHeader({ title, name, about, actions }: Props) {
    const text = name ?? (typeof title === 'string' ? title : '');
    useEffect(() => {
        document.title = [text, space, 'Takt'].filter(Boolean).join(' · ');
    }, [text]);
    return (
        <header className="page-header">
            <div className="page-title">
                <h1>{title}</h1>
                {about && <div className="muted">{about}</div>}
            </div>
            {actions && <div className="page-actions">{actions}</div>}
        </header>
    );
}
