// Names and values in two columns, one on a phone.
import type { ReactNode } from 'react';

export function Fields({ children, narrow }: { children: ReactNode; narrow?: boolean }) {
    return <dl className={narrow ? 'fields fields-narrow' : 'fields'}>{children}</dl>;
}

export function Field({ label, children }: { label: string; children: ReactNode }) {
    return (
        <div>
            <dt>{label}</dt>
            <dd>{children ?? <span className="muted">–</span>}</dd>
        </div>
    );
}
