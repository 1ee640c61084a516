// The parts of ECharts that the console uses, and nothing else of it.
import { BarChart, LineChart, ScatterChart } from 'echarts/charts';
import { GridComponent, LegendComponent, TooltipComponent } from 'echarts/components';
import * as core from 'echarts/core';
import { CanvasRenderer } from 'echarts/renderers';

core.use([
    BarChart,
    LineChart,
    ScatterChart,
    GridComponent,
    LegendComponent,
    TooltipComponent,
    CanvasRenderer,
]);

export const init = (place: HTMLElement) => core.init(place);
export type EChartsType = core.ECharts;
export type ChartOption = core.EChartsCoreOption;
