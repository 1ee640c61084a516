// Colours and measures, in one place: Ant Design, the charts and our own style sheet take them from here.
import { theme, type ThemeConfig } from 'antd';
import type { Severity } from './api/observe';
import type { Status, WorkerStatus } from './api/types';

export interface Palette {
    text: string;
    muted: string;
    line: string;
    card: string;
    accent: string;
    status: Record<Status, string>;
    worker: Record<WorkerStatus, string>;
    severity: Record<Severity, string>;
    priorities: readonly string[];
}

const light: Palette = {
    text: '#1d2733',
    muted: '#5f6b7a',
    line: '#e4e8ed',
    card: '#ffffff',
    accent: '#0f766e',
    status: {
        pending: '#75808f',
        scheduled: '#6d63c4',
        running: '#2472c8',
        retrying: '#b7791f',
        success: '#1f8a5b',
        failed: '#cc3d3d',
        cancelled: '#8c7f73',
        skipped: '#9aa4b1',
    },
    worker: { online: '#1f8a5b', offline: '#cc3d3d', draining: '#b7791f', maintenance: '#6d63c4' },
    severity: { info: '#2472c8', warning: '#b7791f', critical: '#cc3d3d' },
    priorities: ['#9db8d6', '#5b93cf', '#b7791f', '#cc3d3d'],
};

const dark: Palette = {
    text: '#e3e8ee',
    muted: '#93a0b0',
    line: '#2b3541',
    card: '#18202a',
    accent: '#2fb3a6',
    status: {
        pending: '#8e9aa9',
        scheduled: '#978ee6',
        running: '#5aa2ee',
        retrying: '#dfa84a',
        success: '#46b885',
        failed: '#ef6b6b',
        cancelled: '#a89a8c',
        skipped: '#7c8896',
    },
    worker: { online: '#46b885', offline: '#ef6b6b', draining: '#dfa84a', maintenance: '#978ee6' },
    severity: { info: '#5aa2ee', warning: '#dfa84a', critical: '#ef6b6b' },
    priorities: ['#45617f', '#5aa2ee', '#dfa84a', '#ef6b6b'],
};

export const paletteOf = (isDark: boolean): Palette => (isDark ? dark : light);

// `still`: for people who do not want things to move.
export function themeOf(isDark: boolean, still: boolean): ThemeConfig {
    const palette = paletteOf(isDark);
    return {
        algorithm: isDark ? theme.darkAlgorithm : theme.defaultAlgorithm,
        token: {
            colorPrimary: palette.accent,
            colorInfo: palette.status.running,
            colorSuccess: palette.status.success,
            colorWarning: palette.status.retrying,
            colorError: palette.status.failed,
            colorLink: palette.accent,
            colorTextBase: palette.text,
            colorTextPlaceholder: isDark ? '#738193' : '#808b99',
            colorBgLayout: isDark ? '#10161d' : '#f5f7f9',
            colorBgContainer: palette.card,
            colorBgElevated: isDark ? '#1e2732' : '#ffffff',
            colorBorderSecondary: palette.line,
            borderRadius: 6,
            motion: !still,
            fontFamily:
                "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Helvetica Neue', Arial, " +
                "'PingFang SC', 'Microsoft YaHei', 'Noto Sans CJK SC', 'WenQuanYi Zen Hei', sans-serif",
            fontFamilyCode: "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace",
        },
        components: {
            Layout: { headerBg: palette.card, siderBg: palette.card, headerPadding: '0 20px' },
            Menu: { itemBorderRadius: 6, itemHeight: 38, itemSelectedBg: isDark ? '#173331' : '#e2f0ee' },
            Table: { headerBg: 'transparent', headerSplitColor: 'transparent', cellPaddingBlockSM: 9 },
            Card: { headerFontSize: 14, headerHeight: 46 },
        },
    };
}
