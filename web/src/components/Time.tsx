// Points in time and spans of it.
import { Tooltip } from 'antd';
import type { Execution } from '../api/types';
import { durationMs, formatAgo, formatMs, formatTime } from '../format';
import { useNow } from '../hooks/useNow';
import { useShownZone } from '../hooks/useTaskZone';
import { useI18n } from '../i18n';

interface AgoProps {
    at: string | null | undefined;
    coming?: boolean; // A time that is to come: once it has passed it is "now", until the page knows the next.
}

// "3 min ago", with the exact time on hover.
export function Ago({ at, coming }: AgoProps) {
    const { t, language, locale } = useI18n();
    const now = useNow();
    const zone = useShownZone();
    if (!at) return <span className="muted">–</span>;
    return (
        <Tooltip title={formatTime(at, locale, zone)}>
            <time dateTime={at} className="nowrap">
                {coming && Date.parse(at) < now + 2_000 ? t('time.due') : formatAgo(at, now, language, t)}
            </time>
        </Tooltip>
    );
}

export function Moment({ at }: { at: string | null | undefined }) {
    const { locale } = useI18n();
    const zone = useShownZone();
    if (!at) return <span className="muted">–</span>;
    return (
        <time dateTime={at} className="nowrap">
            {formatTime(at, locale, zone)}
            {zone && <span className="muted"> {zone}</span>}
        </time>
    );
}

// How long an execution ran: until now while it runs, else until its attempt ended. What waits for its next
// attempt does not run, and a list does not tell when the last one ended.
export function RunTime({ execution }: { execution: Execution }) {
    const { status, started_at, finished_at, attempts } = execution;
    const end = finished_at ?? attempts?.[attempts.length - 1]?.finished_at ?? null;
    if (status !== 'running' && !end) return <span className="muted">–</span>;
    return <Took from={started_at} to={status === 'running' ? null : end} />;
}

// How long something took, or has been taking so far.
export function Took({ from, to }: { from: string | null; to: string | null }) {
    const now = useNow();
    const ms = durationMs(from, to, now);
    return <span className="number nowrap">{formatMs(ms)}</span>;
}
