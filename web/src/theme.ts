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
        pending: '#626c78',
        scheduled: '#685eba',
        running: '#226bbc',
        retrying: '#916018',
        success: '#1b7950',
        failed: '#c03939',
        cancelled: '#74695f',
        skipped: '#646b73',
    },
    worker: { online: '#1b7950', offline: '#c03939', draining: '#916018', maintenance: '#685eba' },
    severity: { info: '#226bbc', warning: '#916018', critical: '#c03939' },
    priorities: ['#9db8d6', '#5b93cf', '#916018', '#c03939'],
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
        failed: '#ef6e6e',
        cancelled: '#a89a8c',
        skipped: '#8d97a4',
    },
    worker: { online: '#46b885', offline: '#ef6e6e', draining: '#dfa84a', maintenance: '#978ee6' },
    severity: { info: '#5aa2ee', warning: '#dfa84a', critical: '#ef6e6e' },
    priorities: ['#45617f', '#5aa2ee', '#dfa84a', '#ef6e6e'],
};

export const paletteOf = (isDark: boolean): Palette => (isDark ? dark : light);

const tints = (isDark: boolean) =>
    isDark
        ? {
              controlItemBgActive: '#173331',
              controlItemBgActiveHover: '#1b3d3a',
              colorWarningBg: '#2c2414',
              colorWarningBorder: '#5c4718',
              colorErrorBg: '#2d1a1c',
              colorErrorBorder: '#6b3034',
              colorInfoBg: '#16263a',
              colorInfoBorder: '#27486e',
              colorSuccessBg: '#14291f',
              colorSuccessBorder: '#235a41',
          }
        : {
              controlItemBgActive: '#e2f0ee',
              controlItemBgActiveHover: '#d6eae7',
              colorWarningBg: '#fdf6e7',
              colorWarningBorder: '#ecd5a4',
              colorErrorBg: '#fdf0f0',
              colorErrorBorder: '#efc2c2',
              colorInfoBg: '#eff5fc',
              colorInfoBorder: '#c2d8f0',
              colorSuccessBg: '#eef8f3',
              colorSuccessBorder: '#bfe0cf',
          };

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
            // The help below a field is to be read, too.
            colorTextDescription: palette.muted,
            colorTextPlaceholder: isDark ? '#8c98a6' : '#66717f',
            colorBgLayout: isDark ? '#10161d' : '#f5f7f9',
            colorBgContainer: palette.card,
            colorBgElevated: isDark ? '#1e2732' : '#ffffff',
            colorBorderSecondary: palette.line,
            // Derived from our dark colours they would be mud.
            ...tints(isDark),
            borderRadius: 6,
            motion: !still,
            fontFamily:
                "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Helvetica Neue', Arial, " +
                "'PingFang SC', 'Microsoft YaHei', 'Noto Sans CJK SC', 'WenQuanYi Zen Hei', sans-serif",
            fontFamilyCode: "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace",
        },
        components: {
            Layout: { headerBg: palette.card, siderBg: palette.card, headerPadding: '0 20px' },
            Menu: {
                itemBorderRadius: 6,
                itemHeight: 38,
                itemSelectedBg: isDark ? '#173331' : '#e2f0ee',
                itemSelectedColor: isDark ? '#5fd0c4' : '#0d665f',
            },
            Table: {
                headerSortActiveBg: 'transparent',
                headerSortHoverBg: isDark ? '#202a36' : '#eef2f5',
                bodySortBg: 'transparent',
                rowSelectedBg: isDark ? '#122424' : '#e2f0ee',
                rowSelectedHoverBg: isDark ? '#142828' : '#d6eae7',
                headerBg: 'transparent',
                headerSplitColor: 'transparent',
                cellPaddingBlockSM: 9,
            },
            // Dark letters on the light colours of the dark theme.
            Button: isDark ? { primaryColor: '#06211e', colorError: '#f08c8c', dangerColor: '#2a0d0d' } : {},
            Card: { headerFontSize: 14, headerHeight: 46 },
        },
    };
}
