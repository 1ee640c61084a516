// States in their colours: the same state looks the same on every page.
import type { CSSProperties } from 'react';
import type { Severity } from '../api/observe';
import type { Status, WorkerStatus } from '../api/types';
import { usePalette } from '../hooks/usePalette';
import { useI18n } from '../i18n';

interface BadgeProps {
    colour: string;
    label: string;
    busy?: boolean;
}

export function Badge({ colour, label, busy }: BadgeProps) {
    return (
        <span className={busy ? 'badge badge-busy' : 'badge'} style={{ '--badge': colour } as CSSProperties}>
            <i aria-hidden="true" />
            {label}
        </span>
    );
}

export function StatusTag({ status }: { status: Status }) {
    const { t } = useI18n();
    const palette = usePalette();
    return (
        <Badge colour={palette.status[status]} label={t(`status.${status}`)} busy={status === 'running'} />
    );
}

export function WorkerTag({ status }: { status: WorkerStatus }) {
    const { t } = useI18n();
    const palette = usePalette();
    return <Badge colour={palette.worker[status]} label={t(`worker.${status}`)} />;
}

export function SeverityTag({ severity }: { severity: Severity }) {
    const { t } = useI18n();
    const palette = usePalette();
    return <Badge colour={palette.severity[severity]} label={t(`severity.${severity}`)} />;
}
