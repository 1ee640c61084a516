// Charts that look alike: axes, grid and tooltip in the console's colours.
import type { Palette } from '../theme';
import type { ChartOption } from './echarts';

export interface Line {
    name: string;
    colour: string;
    points: [number, number | null][]; // Milliseconds since 1970, value.
    filled?: boolean;
    stack?: string;
}

// Drawn on the canvas, not as HTML: names of tasks are in them.
const tooltip = (palette: Palette) => ({
    renderMode: 'richText' as const,
    backgroundColor: palette.card,
    borderColor: palette.line,
    textStyle: { color: palette.text, fontSize: 12 },
    confine: true,
});

const axisText = (palette: Palette) => ({ color: palette.muted, fontSize: 11 });

const valueAxis = (palette: Palette, format: (value: number) => string) => ({
    type: 'value' as const,
    minInterval: 1, // Parts of a millisecond or of a task would all get the same text.
    splitNumber: 3,
    axisLabel: { ...axisText(palette), formatter: format },
    splitLine: { lineStyle: { color: palette.line } },
});

// Of one moment alone ECharts would show the days around it.
const leastSpanMs = 60_000;

const timeAxis = (palette: Palette) => ({
    type: 'time' as const,
    min: ({ min, max }: { min: number; max: number }) => Math.min(min, max - leastSpanMs),
    // The last label ends at the edge instead of being cut by it.
    axisLabel: { ...axisText(palette), hideOverlap: true, alignMaxLabel: 'right' as const },
    axisLine: { lineStyle: { color: palette.line } },
    axisTick: { show: false },
});

const legend = (palette: Palette) => ({
    top: 0,
    right: 0,
    icon: 'roundRect',
    itemWidth: 10,
    itemHeight: 4,
    textStyle: axisText(palette),
});

// To the right there is room for half of the last label.
const grid = { left: 8, right: 28, top: 30, bottom: 4, containLabel: true };

// One that took five minutes must not make a line of zeros of those that took milliseconds.
const logAxis = (palette: Palette, format: (value: number) => string) => ({
    ...valueAxis(palette, format),
    type: 'log' as const,
    minInterval: undefined,
    // Fewer would be a line at each tenth power of ten: at the first and the last, which is far above all values.
    splitNumber: 8,
    min: 1,
});

const aboveZero = (points: Line['points']) =>
    points.map(([at, value]): [number, number | null] => [at, value === null ? null : Math.max(1, value)]);

export function timeChart(
    palette: Palette,
    lines: Line[],
    format: (value: number) => string,
    { logarithmic = false, utc = false }: { logarithmic?: boolean; utc?: boolean } = {},
): ChartOption {
    return {
        animation: false,
        useUTC: utc,
        grid,
        legend: legend(palette),
        tooltip: {
            ...tooltip(palette),
            trigger: 'axis',
            valueFormatter: (value: unknown) => format(Number(value)),
        },
        xAxis: timeAxis(palette),
        yAxis: logarithmic ? logAxis(palette, format) : valueAxis(palette, format),
        series: lines.map((line) => ({
            type: 'line',
            name: line.name,
            data: logarithmic ? aboveZero(line.points) : line.points,
            stack: line.stack,
            showSymbol: line.points.length === 1,
            smooth: 0.2,
            smoothMonotone: 'x' as const, // A curve that swings out would tell of values that nobody measured.
            lineStyle: { width: 1.8, color: line.colour },
            itemStyle: { color: line.colour },
            areaStyle: line.filled ? { color: line.colour, opacity: 0.12 } : undefined,
        })),
    };
}

export interface Bars {
    name: string;
    colour: string;
    values: number[];
}

export function barChart(
    palette: Palette,
    names: string[],
    bars: Bars[],
    format: (value: number) => string,
    { sideways = false }: { sideways?: boolean } = {},
): ChartOption {
    const nameAxis = {
        type: 'category' as const,
        data: names,
        inverse: sideways,
        axisLabel: { ...axisText(palette), width: sideways ? 130 : undefined, overflow: 'truncate' as const },
        axisLine: { lineStyle: { color: palette.line } },
        axisTick: { show: false },
    };
    const values = valueAxis(palette, format);
    return {
        animation: false,
        grid: bars.length > 1 ? grid : { ...grid, top: 8 },
        legend: bars.length > 1 ? legend(palette) : undefined,
        tooltip: {
            ...tooltip(palette),
            trigger: 'axis',
            axisPointer: { type: 'shadow' },
            valueFormatter: (value: unknown) => format(Number(value)),
        },
        xAxis: sideways ? values : nameAxis,
        yAxis: sideways ? nameAxis : values,
        series: bars.map((bar) => ({
            type: 'bar',
            name: bar.name,
            data: bar.values,
            stack: 'all',
            barMaxWidth: 26,
            itemStyle: { color: bar.colour },
        })),
    };
}

export interface Dot {
    at: number;
    value: number;
    colour: string;
    label: string;
}

export function dotChart(
    palette: Palette,
    dots: Dot[],
    format: (value: number) => string,
    { utc = false }: { utc?: boolean } = {},
): ChartOption {
    return {
        animation: false,
        useUTC: utc,
        grid: { ...grid, top: 12 },
        tooltip: {
            ...tooltip(palette),
            trigger: 'item',
            formatter: (item: { dataIndex: number }) => dots[item.dataIndex]?.label ?? '',
        },
        xAxis: timeAxis(palette),
        yAxis: valueAxis(palette, format),
        series: [
            {
                type: 'scatter',
                symbolSize: 8,
                data: dots.map((dot) => ({ value: [dot.at, dot.value], itemStyle: { color: dot.colour } })),
            },
        ],
    };
}
