// One number that matters, with its name and what it means.
import type { ReactNode } from 'react';
import { Link } from 'react-router-dom';

interface Props {
    label: string;
    value: ReactNode;
    detail?: ReactNode;
    colour?: string;
    to?: string;
}

export function Stat({ label, value, detail, colour, to }: Props) {
    const inside = (
        <>
            <div className="stat-label">{label}</div>
            <div className="stat-value number" style={{ color: colour }}>
                {value}
            </div>
            <div className="stat-detail">{detail ?? '\u00a0'}</div>
        </>
    );
    if (!to) return <div className="stat">{inside}</div>;
    return (
        <Link className="stat stat-link" to={to}>
            {inside}
        </Link>
    );
}
