// Names and values in two columns, one on a phone.
import type { ReactNode } from 'react';

export function Fields({ children }: { children: ReactNode }) {
    return <dl className="fields">{children}</dl>;
}

export function Field({ label, children }: { label: string; children: ReactNode }) {
    return (
        <div>
            <dt>{label}</dt>
            <dd>{children ?? <span className="muted">–</span>}</dd>
        </div>
    );
}
