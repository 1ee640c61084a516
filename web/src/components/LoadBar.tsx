// How full something is. Its colour changes where a person should look.
import { usePalette } from '../hooks/usePalette';

interface Props {
    share: number | undefined; // 0 to 1.
    label: string;
    title?: string;
    wanted?: boolean; // Full is what it is there for, and no reason to be red.
}

const busyFrom = 0.75;
const fullFrom = 0.95;

export function LoadBar({ share, label, title, wanted = false }: Props) {
    const palette = usePalette();
    const known = share !== undefined && Number.isFinite(share);
    const value = known ? Math.min(1, Math.max(0, share)) : 0;
    const [busy, full] = wanted
        ? [palette.accent, palette.status.retrying]
        : [palette.status.retrying, palette.status.failed];
    const colour = value >= fullFrom ? full : value >= busyFrom ? busy : palette.accent;
    return (
        <div className="load" title={title}>
            <div
                className="load-track"
                role="meter"
                aria-label={title ?? label}
                aria-valuemin={0}
                aria-valuemax={100}
                aria-valuenow={Math.round(value * 100)}
            >
                <div className="load-fill" style={{ width: `${value * 100}%`, background: colour }} />
            </div>
            <span className="number small">{known ? label : '–'}</span>
        </div>
    );
}
