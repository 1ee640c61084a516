// Whether what the page shows is live, and who leads.
import { Tooltip } from 'antd';
import { type CSSProperties, useSyncExternalStore } from 'react';
import { live, type LiveState } from '../api/live';
import { usePalette } from '../hooks/usePalette';
import { useI18n } from '../i18n';
import type { Palette } from '../theme';

const colours: Record<LiveState, (palette: Palette) => string> = {
    live: (palette) => palette.status.success,
    polling: (palette) => palette.status.running,
    connecting: (palette) => palette.status.pending,
    offline: (palette) => palette.status.failed,
};

export function LiveMark() {
    const { t } = useI18n();
    const palette = usePalette();
    const state = useSyncExternalStore(live.watchState, live.state);
    return (
        <Tooltip title={t(`live.${state}Text`)}>
            <span
                className={state === 'live' ? 'live-mark badge-busy' : 'live-mark'}
                data-live={state}
                style={{ '--badge': colours[state](palette) } as CSSProperties}
            >
                <i aria-hidden="true" />
                <span className="wide-only">{t(`live.${state}`)}</span>
            </span>
        </Tooltip>
    );
}
