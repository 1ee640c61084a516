// Charts as they are asked of ECharts: what is drawn on a canvas no page can be asked about. And what numbers
// and times are written as.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';

const modules = createRequire(join(resolve(process.env.TAKT_WEB ?? 'build/web'), 'package.json'));
const { buildSync } = modules('esbuild');
const sources = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'web', 'src');
const folder = mkdtempSync(join(tmpdir(), 'takt-charts-'));
const palette = { text: '', muted: '', line: '', card: '' };
const line = (points) => [{ name: 'run P99', colour: '#000', points }];
let charts;
let formats;

before(async () => {
    const bundled = (entry, name) => {
        const outfile = join(folder, name);
        buildSync({ entryPoints: [join(sources, entry)], outfile, bundle: true, format: 'esm' });
        return import(pathToFileURL(outfile));
    };
    charts = await bundled(join('components', 'chartOptions.ts'), 'charts.mjs');
    formats = await bundled('format.ts', 'formats.mjs');
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

test('between milliseconds and hours each power of ten has its label', () => {
    const { init } = modules('echarts');
    for (const longest of [5, 40_000, 1_500_000, 90_000_000]) {
        const chart = init(null, null, { renderer: 'svg', ssr: true, width: 600, height: 220 });
        const points = [
            [0, 1],
            [60_000, longest],
        ];
        chart.setOption(
            charts.timeChart(palette, line(points), (value) => `${value} ms`, { logarithmic: true }),
        );
        const labels = [...chart.renderToSVGString().matchAll(/>(\d+) ms</g)].map(([, value]) =>
            Number(value),
        );
        chart.dispose();
        const top = Math.max(...labels);
        assert.ok(top >= longest && top < longest * 10, `${top} of ${longest}`);
        assert.equal(labels.length, Math.log10(top) + 1, String(labels));
    }
});

test('a date of another year says which', () => {
    const now = new Date();
    const year = now.getUTCFullYear();
    const fire = (of) => formats.formatFire(`${of}-06-15T10:00:00Z`, 'en-GB', 'UTC');
    assert.ok(!fire(year).includes(String(year)), fire(year));
    assert.ok(fire(year + 1).includes(String(year + 1)), fire(year + 1));
    // It is the year of the zone that counts: New Year's Eve in Auckland is a day early.
    const eve = formats.formatFire(`${year}-12-31T20:00:00Z`, 'en-GB', 'Pacific/Auckland');
    assert.ok(eve.includes(String(year + 1)), eve);
});

test('a single point is drawn, and the last label is not cut', () => {
    const one = charts.timeChart(palette, line([[0, 10_000]]), String);
    assert.equal(one.series[0].showSymbol, true);
    assert.equal(one.xAxis.axisLabel.alignMaxLabel, 'right');
    assert.equal(one.xAxis.axisLabel.hideOverlap, true);
    const span = one.xAxis.min({ min: 100_000, max: 100_000 });
    assert.ok(span < 100_000, 'a minute around one moment, not the days around it');
});
