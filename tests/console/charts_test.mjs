// Charts as they are asked of ECharts: what is drawn on a canvas no page can be asked about.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';

const { buildSync } = createRequire(join(resolve(process.env.TAKT_WEB ?? 'build/web'), 'package.json'))(
    'esbuild',
);
const sources = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'web', 'src');
const folder = mkdtempSync(join(tmpdir(), 'takt-charts-'));
const palette = { text: '', muted: '', line: '', card: '' };
const line = (points) => [{ name: 'run P99', colour: '#000', points }];
let charts;

before(async () => {
    const outfile = join(folder, 'charts.mjs');
    const entry = join(sources, 'components', 'chartOptions.ts');
    buildSync({ entryPoints: [entry], outfile, bundle: true, format: 'esm' });
    charts = await import(pathToFileURL(outfile));
});
after(() => rmSync(folder, { recursive: true }));

test('one run of five minutes does not flatten those of milliseconds', () => {
    const points = [
        [0, 0],
        [1, 300_000],
        [2, null],
    ];
    const { yAxis, series } = charts.timeChart(palette, line(points), String, { logarithmic: true });
    assert.equal(yAxis.type, 'log');
    // A logarithm of nothing would be drawn nowhere.
    assert.deepEqual(
        series[0].data.map(([, value]) => value),
        [1, 300_000, null],
    );
});

test('a single point is drawn, and the last label is not cut', () => {
    const one = charts.timeChart(palette, line([[0, 10_000]]), String);
    assert.equal(one.series[0].showSymbol, true);
    assert.equal(one.xAxis.axisLabel.alignMaxLabel, 'right');
    assert.equal(one.xAxis.axisLabel.hideOverlap, true);
    const span = one.xAxis.min({ min: 100_000, max: 100_000 });
    assert.ok(span < 100_000, 'a minute around one moment, not the days around it');
});
