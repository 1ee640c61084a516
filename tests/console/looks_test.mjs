// Every page in both languages, both themes and three widths: nothing is wider than the screen, no text is cut
// without a way to read it, nothing is too pale, nothing is English in Chinese.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { call, openBrowser, openConsole, startWorker, until } from './support.mjs';

const modules = createRequire(join(resolve(process.env.TAKT_WEB ?? 'build/web'), 'package.json'));
const axe = readFileSync(modules.resolve('axe-core/axe.min.js'), 'utf8');
const long = 'a-name-that-some-program-made-up-and-that-has-no-place-to-break-it-0123456789-0123456789';

let scheduler;
let close;
let endWorker;
let paths;

before(async () => {
    ({ scheduler, close } = await openConsole());
    const submit = (fields) => call(scheduler.address, 'POST', 'tasks', fields);
    await submit({ id: 'hourly', name: 'hourly', type: 'echo', interval: '1h', metadata: { team: 'x' } });
    // No word of it can be broken.
    const word = long.slice(0, 62);
    await submit({ id: 'long', name: long, type: long, queue: word, interval: '1h' });
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
    await submit({ id: 'waits', name: long, type: long, queue: 'media' });
    await call(scheduler.address, 'PUT', 'queues/media', { concurrency_max: 30, rate_limit: '200/10s' });
    await until('one has failed', async () => {
        return (await call(scheduler.address, 'GET', 'executions/failed')).status === 'failed';
    });
    const worker = (await call(scheduler.address, 'GET', 'workers')).items[0].id;
    await call(scheduler.address, 'POST', 'namespaces', { name: 'billing-and-invoices' });
    await call(scheduler.address, 'PATCH', 'namespaces/billing-and-invoices', {
        quotas: { executions_waiting: 100_000, payload_bytes: 1 << 20, retention: '30d' },
    });
    await call(scheduler.address, 'POST', 'executors/register', {
        name: 'data-processor',
        instance_id: 'data-processor-001',
        base_url: 'http://127.0.0.1:9',
        tasks: [{ task_name: 'daily_report' }, { task_name: 'weekly_report' }],
    });
    await call(scheduler.address, 'PUT', 'executors/data-processor-001/status', {
        status: 'maintenance',
        reason: 'the machine gets more memory',
    });
    endWorker = startWorker(scheduler.address, '--id', 'warehouse-worker-0001');
    await until('a second worker is there', async () =>
        (await call(scheduler.address, 'GET', 'workers')).items.some(
            ({ id }) => id === 'warehouse-worker-0001',
        ),
    );
    await call(scheduler.address, 'POST', 'workers/warehouse-worker-0001/drain', {
        reason: 'the machine gets more memory',
    });
    paths = [
        '/',
        '/tasks',
        '/tasks/hourly',
        '/tasks/flow',
        '/executions',
        '/executions/failed',
        '/executions/waits',
        '/workers',
        '/workers?tab=executors',
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
after(async () => {
    await endWorker?.();
    await close?.();
});

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

const hiddenOfTables = () =>
    [...document.querySelectorAll('.ant-table-content')]
        .map((element) => element.scrollWidth - element.clientWidth)
        .filter((pixels) => pixels > 1);

async function shown(page, path) {
    await page.goto(scheduler.address + path);
    await page.locator('h1').first().waitFor();
    await page.locator('.ant-skeleton-active').first().waitFor({ state: 'detached' });
}

// What web browsers call good is a tenth; a page that moves after it was read is clicked at the wrong place.
const shiftMax = 0.1;
const watchShifts = () => {
    window.shifted = 0;
    new window.PerformanceObserver((list) => {
        for (const { value, hadRecentInput } of list.getEntries())
            if (!hadRecentInput) window.shifted += value;
    }).observe({ type: 'layout-shift', buffered: true });
};

for (const width of [1440, 1024, 390]) {
    for (const language of ['en', 'zh']) {
        test(`nothing is wider than ${width} px, nor cut, nor moves as it comes, in ${language}`, async () => {
            const own = await openBrowser({
                viewport: { width, height: 900 },
                locale: language === 'zh' ? 'zh-CN' : 'en-GB',
            });
            try {
                const faults = [];
                await own.page.addInitScript(watchShifts);
                for (const path of paths) {
                    await shown(own.page, path);
                    const moved = await own.page.evaluate(() => window.shifted);
                    if (moved > shiftMax) faults.push(`${path} moves by ${moved.toFixed(2)}`);
                    const over = await own.page.evaluate(
                        () => document.documentElement.scrollWidth - window.innerWidth,
                    );
                    if (over > 0) faults.push(`${path} is ${over} px too wide`);
                    // Buttons at the end of rows that nobody sees.
                    for (const hidden of await own.page.evaluate(hiddenOfTables))
                        faults.push(`${path} hides ${hidden} px of a table`);
                    for (const cut of await own.page.evaluate(cutTexts)) faults.push(`${path} cuts ${cut}`);
                }
                assert.deepEqual(faults, []);
            } finally {
                await own.close();
            }
        });
    }
}

test('how long something waited is shown whole', async () => {
    for (const width of [1440, 1024, 390]) {
        const own = await openBrowser({ viewport: { width, height: 900 } });
        try {
            await shown(own.page, '/queues/media');
            const cut = await own.page.evaluate(() => {
                const values = [...document.querySelectorAll('.stat-value')];
                for (const value of values) value.textContent = '47 h 59 min';
                return values.filter((value) => value.scrollWidth > value.clientWidth).length;
            });
            assert.equal(cut, 0, `of ${width} px`);
        } finally {
            await own.close();
        }
    }
});

async function axeFaults(page, path) {
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() =>
        window.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa'] }),
    );
    return violations.map(
        ({ id, nodes }) =>
            `${path} ${id}: ${nodes
                .map(({ html }) => html.slice(0, 110))
                .slice(0, 3)
                .join(' | ')}`,
    );
}

for (const theme of ['light', 'dark']) {
    test(`axe finds nothing in the ${theme} theme`, async () => {
        const own = await openBrowser({ viewport: { width: 1440, height: 900 }, colorScheme: theme });
        try {
            const faults = [];
            for (const path of paths) {
                await shown(own.page, path);
                faults.push(...(await axeFaults(own.page, path)));
            }
            assert.deepEqual(faults, []);
        } finally {
            await own.close();
        }
    });
}

// What is open in a page is looked at too.
const opened = {
    '/tasks?new=1': ['Start, end, holidays', 'Retries, limits, placement'],
    '/alerts?tab=rules': ['New rule'],
    '/alerts?tab=channels': ['New channel'],
    '/queues/media': ['Limits'],
    '/executions/failed': ['Run with other input'],
    '/tasks/hourly': ['Backfill'],
};
for (const theme of ['light', 'dark']) {
    test(`axe finds nothing in forms in the ${theme} theme`, async () => {
        const own = await openBrowser({ viewport: { width: 1440, height: 900 }, colorScheme: theme });
        try {
            const faults = [];
            for (const [path, names] of Object.entries(opened)) {
                await own.page.goto(scheduler.address + path);
                for (const name of names) await own.page.getByRole('button', { name }).first().click();
                await own.page.getByRole('dialog').waitFor();
                faults.push(...(await axeFaults(own.page, path)));
            }
            assert.deepEqual(faults, []);
        } finally {
            await own.close();
        }
    });
}

test('the first page is less than 300 kB; charts come after it', async () => {
    // Of a scheduler with one namespace: the switch between several comes after it, too.
    const own = await openConsole();
    try {
        await own.page.goto(own.scheduler.address);
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
