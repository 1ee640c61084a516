// What somebody stumbled over who used the console for the first time, or for the thousandth: each of these was so once.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { call, openBrowser, openConsole, startWorker, until } from './support.mjs';

const modules = createRequire(join(resolve(process.env.TAKT_WEB ?? 'build/web'), 'package.json'));
const axe = readFileSync(modules.resolve('axe-core/axe.min.js'), 'utf8');
const long = 'a-name-that-some-program-made-up-and-that-has-no-place-to-break-it-0123456789-0123456789';

const queue = `queue-${long.slice(0, 50)}`;

let scheduler;
let browser;
let page;
let close;
const stops = [];

before(async () => {
    ({ scheduler, browser, page, close } = await openConsole());
    for (const id of ['w10', 'w2'])
        stops.push(startWorker(scheduler.address, '--id', id, '--queues', 'own', '--labels', `only=${id}`));
    await submit({ id: 'tidy', name: 'tidy', type: 'echo', cron_expression: '30 9 5 12 *' });
    await submit({ id: 'long', name: long, type: long.slice(0, 60), interval: '1h', queue });
    await submit({ id: 'stuck', name: 'stuck', type: 'nobody-runs-this', queue: 'media' });
    await until('the workers are there', async () => {
        return (await call(scheduler.address, 'GET', 'workers')).items.length === 3;
    });
});
after(async () => {
    for (const stop of stops) await stop();
    await close?.();
});

const submit = (fields) => call(scheduler.address, 'POST', 'tasks', fields);

async function withBrowser(options, work) {
    const own = await openBrowser(options);
    try {
        await work(own.page);
    } finally {
        await own.close();
    }
}

async function isOnScreen(element, width) {
    const { x, width: wide } = await element.boundingBox();
    assert.ok(x >= 0 && x + wide <= width, `from ${x} to ${x + wide} of ${width}`);
}

test('the overview says why a queue stands still', async () => {
    await page.goto(scheduler.address);
    const waiting = page.locator('.ant-card', { hasText: 'What waits' });
    await waiting.getByTestId('queue-why').getByText('No worker').waitFor();
});

test('of a leader that tells no difference all that waits is ready', async () => {
    await withBrowser({}, async (own) => {
        await own.route('**/api/v1/queues/media', async (route) => {
            const json = await (await route.fetch()).json();
            delete json.ready;
            await route.fulfill({ json });
        });
        await own.goto(`${scheduler.address}/queues/media`);
        await own.getByText('1 wait for a worker').waitFor();
    });
});

test('what is for later, or in a paused queue, is not counted as ready', async () => {
    await submit({ name: 'later', type: 'echo', queue: 'mail', delay: '1h' });
    await call(scheduler.address, 'POST', 'queues/held/pause');
    await submit({ name: 'held', type: 'echo', queue: 'held' });
    await page.goto(scheduler.address);
    const row = (name) =>
        page.locator('.ant-card', { hasText: 'What waits' }).locator('li', { hasText: name });
    await row('mail').getByText('1 later').waitFor();
    await row('held').getByText('paused, 1 held').waitFor();
    await row('mail').locator('.backlog-count').getByText('0', { exact: true }).waitFor();
    await page.locator('.stat', { hasText: 'Waiting' }).getByText('1 wait for a worker').waitFor();
    // Bars and counts stand under each other, whatever is said behind them.
    const places = await page
        .locator('.backlog-count')
        .evaluateAll((counts) => counts.map((count) => Math.round(count.getBoundingClientRect().right)));
    assert.equal(new Set(places).size, 1, places.join(' '));
    await page.goto(`${scheduler.address}/queues/mail`);
    await page.locator('.stat', { hasText: 'Waiting' }).getByText('0 wait for a worker').waitFor();
});

test('who gives a new rule the name of another is told, and the other one stays', async () => {
    await page.goto(`${scheduler.address}/alerts?tab=rules`);
    await page.getByRole('button', { name: 'New rule' }).first().click();
    const form = page.getByRole('dialog');
    await form.getByLabel('Name').fill('no_online_workers');
    await form.getByText('There is a rule of this name').waitFor();
    await form.getByRole('button', { name: 'Cancel' }).click();
});

test('Escape closes what a field offers, a click beside the form does nothing, and what was typed stays', async () => {
    await page.goto(`${scheduler.address}/tasks?new=1`);
    const form = page.getByRole('dialog');
    await form.getByLabel('Name', { exact: true }).fill('half');
    await form.getByLabel('Type', { exact: true }).fill('ec');
    await page.locator('.ant-select-item-option', { hasText: 'echo' }).waitFor();
    await page.keyboard.press('Escape');
    assert.equal(await form.getByLabel('Type', { exact: true }).inputValue(), 'ec');
    await page.mouse.click(200, 600);
    assert.equal(await form.getByLabel('Name', { exact: true }).inputValue(), 'half');
    // Schedules that many have are buttons, for those without a mouse too.
    await form.getByRole('button', { name: 'on workdays' }).focus();
    await page.keyboard.press('Enter');
    assert.notEqual(await form.getByLabel('Cron expression').inputValue(), '');
    await page.evaluate(() => sessionStorage.clear());
});

test('an empty field of a task tells what counts instead, as this scheduler is set', async () => {
    // A scheduler that is configured otherwise.
    await withBrowser({}, async (own) => {
        await own.route('**/api/v1/scheduler/defaults', async (route) => {
            const json = await (await route.fetch()).json();
            json.timeout = '7m';
            json.retry_policy.max_retries = 9;
            await route.fulfill({ json });
        });
        await own.goto(`${scheduler.address}/tasks/tidy`);
        const field = (name) => own.locator('.fields > div', { has: own.getByText(name, { exact: true }) });
        await field('Retries').getByText('9 (default)').waitFor();
        await field('Time limit of an attempt').getByText('7m (default)').waitFor();
        await own.getByRole('button', { name: 'Edit' }).click();
        await own.getByText('Retries, limits, placement').click();
        const limit = own.getByRole('dialog').getByLabel('Time limit of an attempt');
        assert.match(await limit.getAttribute('placeholder'), /^7m/);
        // Whoever wonders how long an execution may take looks at its page.
        await own.goto(`${scheduler.address}/executions/stuck`);
        await field('Time limit of an attempt').getByText(/^7m/).waitFor();
    });
});

test('one long name leaves the buttons of all rows where they can be reached', async () => {
    for (const width of [1440, 1024, 390]) {
        await withBrowser({ viewport: { width, height: 900 } }, async (own) => {
            await own.goto(`${scheduler.address}/tasks`);
            const row = own.locator('tr.ant-table-row', { hasText: 'tidy' });
            await isOnScreen(row.getByRole('button').last(), width);
            await own.goto(`${scheduler.address}/workers`);
            await isOnScreen(own.getByRole('button', { name: 'Drain: w2' }), width);
        });
    }
    await withBrowser({ viewport: { width: 1440, height: 900 }, locale: 'zh-CN' }, async (own) => {
        await submit({ id: 'long-1', name: long, type: 'nobody' });
        await own.goto(`${scheduler.address}/executions`);
        const { height } = await own.locator('tr', { hasText: 'stuck' }).last().boundingBox();
        assert.ok(height < 90, `a row of ${height} px`);
    });
});

test('a phone shows when an execution was made, and says in words what can be done about an alert', async () => {
    const rule = { metric: 'workers_online', operator: '>', threshold: 0, duration: '0s', severity: 'info' };
    await call(scheduler.address, 'PUT', 'alert-rules/somebody', rule);
    await withBrowser({ viewport: { width: 390, height: 844 } }, async (own) => {
        await own.goto(`${scheduler.address}/executions`);
        await own.getByTestId('when').first().getByText('ago').waitFor();
        await own.goto(`${scheduler.address}/alerts`);
        const row = own.locator('tr.ant-table-row', { hasText: 'somebody' });
        for (const word of ['Acknowledge', 'Silence']) {
            const button = row.getByRole('button', { name: word });
            await button.getByText(word).waitFor();
            await isOnScreen(button, 390);
        }
        // There is no Ctrl on it.
        assert.equal(await own.locator('kbd:visible').count(), 0);
    });
    await call(scheduler.address, 'DELETE', 'alert-rules/somebody');
});

test('what is chosen can be read, in a list and among options', async () => {
    for (const colorScheme of ['light', 'dark']) {
        await withBrowser({ colorScheme }, async (own) => {
            await own.goto(`${scheduler.address}/executions?queue=media`);
            await own.locator('tr', { hasText: 'stuck' }).getByRole('checkbox').check();
            await own.getByRole('combobox', { name: 'Queue' }).click({ force: true });
            await own.locator('.ant-select-item-option-selected').waitFor();
            await own.mouse.move(0, 0);
            await own.evaluate(axe);
            const { violations } = await own.evaluate(() =>
                window.axe.run(document, { runOnly: ['color-contrast'] }),
            );
            assert.deepEqual(
                violations.flatMap(({ nodes }) => nodes.map(({ html }) => html)),
                [],
                colorScheme,
            );
        });
    }
});

test('hours are told as the clock of the reader tells them, dates as the reader writes them', async () => {
    await withBrowser({ locale: 'en-US', timezoneId: 'America/New_York' }, async (own) => {
        const line = (key, total) => ({ key, name: '', total, success: total, failed: 0, retries: 0 });
        await own.route('**/api/v1/statistics?*', async (route) => {
            const answer = await (await route.fetch()).json();
            const rest = { cancelled: 0, skipped: 0, missed: 0, success_rate: 1, duration: {}, wait: {} };
            const items = [line('2026-03-01T15:00:00.000Z', 3), line('2026-03-01T20:00:00.000Z', 4)];
            await route.fulfill({ json: { ...answer, items: items.map((each) => ({ ...rest, ...each })) } });
        });
        await own.goto(`${scheduler.address}/statistics?by=hour`);
        await own.getByRole('cell', { name: '03/01, 10:00' }).waitFor();
        await own.goto(`${scheduler.address}/tasks/tidy`);
        await own
            .getByText(/^12\/05\/\d{4}, /)
            .first()
            .waitFor();
    });
});

test('today has no end: what comes is in it', async () => {
    await page.goto(`${scheduler.address}/executions`);
    await page.getByPlaceholder('Start date').click();
    await page.locator('.ant-picker-presets').getByText('Today').click();
    await page.waitForURL(/from=/);
    assert.equal(new URL(page.url()).searchParams.get('to'), null);
});

test('workers are in an order that people have, with their ids, and are found', async () => {
    await page.goto(`${scheduler.address}/workers?sort=name`);
    const names = () => page.locator('tr.ant-table-row .cell-main').allTextContents();
    await until('2 is before 10', async () => (await names()).join(' ').endsWith('w2 w10'));
    await page.getByPlaceholder(/^Name, id/).fill('w10');
    await page.keyboard.press('Enter');
    await until('one is left', async () => (await names()).join(' ') === 'w10');
});

test('a full worker is busy, not broken; what was drained says nothing in another language', async () => {
    const { id, capacity } = (await call(scheduler.address, 'GET', 'workers')).items.find(
        ({ id }) => id === 'w2',
    );
    const place = { queue: 'own', labels: { only: id } };
    for (let i = 0; i < capacity; i += 1)
        await submit({ name: 'fill', type: 'sleep', ...place, parameters: { ms: 3_600_000 } });
    await withBrowser({ locale: 'zh-CN' }, async (own) => {
        await own.goto(`${scheduler.address}/workers`);
        const row = own.locator('tr.ant-table-row', { hasText: 'w2' });
        await row.getByText(`${capacity}/${capacity}`).waitFor();
        const red = await own.evaluate(() => {
            const probe = document.createElement('i');
            probe.style.color = '#c03939';
            return probe.style.color;
        });
        const fill = row.locator('.load-fill').first();
        assert.notEqual(await fill.evaluate((element) => element.style.backgroundColor), red);
        await row.getByRole('button', { name: `排空: ${id}` }).click();
        await own.getByRole('dialog').getByRole('button', { name: '排空' }).click();
        await row.getByText(`剩余 ${capacity} 个`).waitFor();
    });
    await call(scheduler.address, 'POST', 'executions/cancel', { queue: 'own' });
});

test('addresses that lead nowhere say so', async () => {
    await page.goto(`${scheduler.address}/no-such-page`);
    await page.locator('.note').waitFor();
    assert.equal(await page.locator('.ant-menu-item-selected').count(), 0);
    await page.goto(`${scheduler.address}/alerts?tab=x`);
    await page.locator('.ant-tabs-tab-active').getByText('Active').waitFor();
});

test('the description of the API is one click away', async () => {
    await page.goto(scheduler.address);
    const [opened] = await Promise.all([
        page.context().waitForEvent('page'),
        page.getByRole('link', { name: 'API' }).click(),
    ]);
    await opened.getByRole('heading', { name: 'Takt API' }).waitFor();
    await opened.close();
});

test('the audit says in words what was done, in the language of the reader', async () => {
    await call(scheduler.address, 'POST', 'queues/audited/pause');
    await withBrowser({ locale: 'zh-CN' }, async (own) => {
        await own.goto(`${scheduler.address}/audit`);
        const row = own.locator('tr.ant-table-row', { hasText: 'audited' }).first();
        await row.getByText('暂停', { exact: true }).waitFor();
        await row.getByText('队列', { exact: true }).waitFor();
    });
});

test('how full the store is is told in percent', async () => {
    await page.goto(`${scheduler.address}/alerts?tab=rules`);
    await page.getByRole('row', { name: 'store_nearly_full' }).getByText('above 85.0 %').waitFor();
});

test('the browser had nothing to complain about', () => {
    assert.deepEqual(browser.complaints, []);
});
