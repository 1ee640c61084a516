// Every page in both languages, both themes and three widths: nothing is wider than the screen, no text is cut
// without a way to read it, nothing is too pale, nothing is English in Chinese.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { call, openBrowser, openConsole, until } from './support.mjs';

const modules = createRequire(join(resolve(process.env.TAKT_WEB ?? 'build/web'), 'package.json'));
const axe = readFileSync(modules.resolve('axe-core/axe.min.js'), 'utf8');
const long = 'a-name-that-some-program-made-up-and-that-has-no-place-to-break-it-0123456789-0123456789';

let scheduler;
let close;
let paths;

before(async () => {
    ({ scheduler, close } = await openConsole());
    const submit = (fields) => call(scheduler.address, 'POST', 'tasks', fields);
    await submit({ id: 'hourly', name: 'hourly', type: 'echo', interval: '1h', metadata: { team: 'x' } });
    await submit({ id: 'long', name: long, type: 'nobody', interval: '1h' });
    await submit({
        id: 'flow',
        name: 'flow',
        interval: '1h',
        steps: [
            { name: 'a', type: 'echo' },
            { name: 'b', type: 'echo', after: ['a'] },
        ],
    });
    await submit({ id: 'failed', name: 'failed', type: 'fail', max_retry: 0 });
    await submit({ id: 'waits', name: long, type: 'nobody', queue: 'media' });
    await until('one has failed', async () => {
        return (await call(scheduler.address, 'GET', 'executions/failed')).status === 'failed';
    });
    const worker = (await call(scheduler.address, 'GET', 'workers')).items[0].id;
    paths = [
        '/',
        '/tasks',
        '/tasks/hourly',
        '/tasks/flow',
        '/executions',
        '/executions/failed',
        '/executions/waits',
        '/workers',
        `/workers/${worker}`,
        '/queues',
        '/queues/media',
        '/locks',
        '/cluster',
        '/namespaces',
        '/alerts',
        '/alerts?tab=rules',
        '/alerts?tab=history',
        '/alerts?tab=channels',
        '/statistics',
        '/audit',
        '/settings',
        '/editor',
        '/help',
        '/help/cron',
        '/help/configuration',
    ];
});
after(() => close?.());

// Text that is wider than its box, is not meant to be cut, and cannot be scrolled to.
const cutTexts = () =>
    [...document.querySelectorAll('button, th, dt, dd, h1, label, .stat-value, .state-tab, .badge')]
        .filter((element) => {
            const style = getComputedStyle(element);
            if (!element.offsetParent || style.textOverflow === 'ellipsis') return false;
            if (element.closest('.ant-select, .ant-picker, .react-flow, .ant-table-measure-row'))
                return false;
            return style.overflowX === 'hidden' && element.scrollWidth > element.clientWidth + 1;
        })
        .map((element) => `${element.className}: ${element.textContent.slice(0, 60)}`);

async function shown(page, path) {
    await page.goto(scheduler.address + path);
    await page.locator('h1').first().waitFor();
    await page.locator('.ant-skeleton-active').first().waitFor({ state: 'detached' });
}

for (const width of [1440, 1024, 390]) {
    for (const language of ['en', 'zh']) {
        test(`nothing is wider than ${width} px, nor cut, in ${language}`, async () => {
            const own = await openBrowser({
                viewport: { width, height: 900 },
                locale: language === 'zh' ? 'zh-CN' : 'en-GB',
            });
            try {
                const faults = [];
                for (const path of paths) {
                    await shown(own.page, path);
                    const over = await own.page.evaluate(
                        () => document.documentElement.scrollWidth - window.innerWidth,
                    );
                    if (over > 0) faults.push(`${path} is ${over} px too wide`);
                    for (const cut of await own.page.evaluate(cutTexts)) faults.push(`${path} cuts ${cut}`);
                }
                assert.deepEqual(faults, []);
            } finally {
                await own.close();
            }
        });
    }
}

for (const theme of ['light', 'dark']) {
    test(`axe finds nothing in the ${theme} theme`, async () => {
        const own = await openBrowser({ viewport: { width: 1440, height: 900 }, colorScheme: theme });
        try {
            const faults = [];
            for (const path of paths) {
                await shown(own.page, path);
                await own.page.evaluate(axe);
                const { violations } = await own.page.evaluate(() =>
                    window.axe.run(document, {
                        runOnly: ['wcag2a', 'wcag2aa'],
                        // The pictures' own scrolling is by buttons and keys.
                        exclude: undefined,
                    }),
                );
                for (const { id, nodes } of violations) {
                    faults.push(
                        `${path} ${id}: ${nodes
                            .map(({ html }) => html.slice(0, 110))
                            .slice(0, 3)
                            .join(' | ')}`,
                    );
                }
            }
            assert.deepEqual(faults, []);
        } finally {
            await own.close();
        }
    });
}

test('the first page is less than 300 kB; charts come after it', async () => {
    const own = await openBrowser();
    try {
        await shown(own.page, '/');
        await own.page.locator('.chart canvas').first().waitFor();
        const files = await own.page.evaluate(() =>
            performance
                .getEntriesByType('resource')
                .filter(({ name }) => /\.(js|css)$/.test(name))
                .map(({ name, encodedBodySize, startTime }) => ({ name, encodedBodySize, startTime })),
        );
        const ofCharts = ({ name }) => /echarts/.test(name);
        assert.ok(files.some(ofCharts), 'there are charts');
        const others = files.filter((file) => !ofCharts(file));
        const bytes = others.reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0);
        assert.ok(bytes > 100_000, 'the sizes are known');
        assert.ok(bytes < 300_000, `${bytes} bytes`);
    } finally {
        await own.close();
    }
});
