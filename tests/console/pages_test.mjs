// What the pages promise whatever happens around them: many tasks, slow networks, other zones, upgrades.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { call, openBrowser, openConsole, until } from './support.mjs';

let scheduler;
let browser;
let page;
let close;

before(async () => {
    ({ scheduler, browser, page, close } = await openConsole());
});
after(() => close?.());

const submit = (fields) => call(scheduler.address, 'POST', 'tasks', fields);

// For what the browser may complain about, or another kind of it.
async function withOwnBrowser(options, work) {
    const own = await openBrowser(options);
    try {
        await work(own.page);
    } finally {
        await own.close();
    }
}

test('the overview shows what could start now by priority, and what fires next', async () => {
    // Nobody runs this type, and some of it is urgent.
    for (const priority of [9, 9, 2]) await submit({ name: 'waits', type: 'nobody-runs-this', priority });
    await submit({ id: 'hourly', name: 'hourly', type: 'echo', interval: '1h' });
    const asked = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.goto(`${scheduler.address}/`);
    const next = page.locator('.ant-card', { hasText: 'Fires next' });
    await next.getByRole('link', { name: 'hourly' }).waitFor();
    await page.getByText('By priority').click();
    const waiting = page.locator('.ant-card', { hasText: 'What waits' });
    await waiting.locator('li', { hasText: 'Priority 9' }).getByText('2', { exact: true }).waitFor();
    await waiting.locator('li', { hasText: 'Priority 2' }).getByText('1', { exact: true }).waitFor();
    assert.deepEqual(
        asked.filter((url) => url.includes('limit=500')),
        [],
    );
});

test('by the hour only ranges are offered that have room', async () => {
    await page.goto(`${scheduler.address}/statistics?by=day&range=quarter`);
    await page.getByTitle('90 days').waitFor();
    await page.getByTitle('Hour', { exact: true }).click();
    await page.getByTitle('90 days').waitFor({ state: 'detached' });
    await page.getByTitle('30 days').click();
    await page.waitForURL(/range=month/);
});

test('an answer that comes late is not put over a newer one', async () => {
    // The network is slow: what the page asked for before the task was paused arrives after it.
    await submit({ id: 'slow', name: 'slow', type: 'echo', interval: '1h' });
    await page.goto(`${scheduler.address}/tasks/slow`);
    await page.locator('.page-header .badge', { hasText: 'Active' }).waitFor();
    let hold;
    let letGo;
    const held = new Promise((resolve) => (hold = resolve)); // With the request that waits.
    const released = new Promise((resolve) => (letGo = resolve));
    await page.route(
        '**/api/v1/tasks/slow',
        async (route) => {
            const response = await route.fetch();
            hold(route.request());
            await released;
            await route.fulfill({ response });
        },
        { times: 1 },
    );
    await call(scheduler.address, 'POST', 'tasks/slow/trigger', {});
    const request = await held;
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
    await page.locator('.page-header .badge', { hasText: 'Paused' }).waitFor();

    const late = page.waitForResponse((response) => response.request() === request);
    letGo();
    await (await late).finished();
    // Two frames: time enough to show it.
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    assert.equal(await page.locator('.page-header .badge').textContent(), 'Paused');
});

test('search tells a screen reader what is chosen', async () => {
    await page.goto(`${scheduler.address}/`);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.mouse.move(0, 0); // What is under the mouse would be chosen.
    await page.keyboard.press('Control+k');
    const field = page.getByRole('combobox', { name: 'Pages, tasks' });
    const named = async () => page.locator(`[id="${await field.getAttribute('aria-activedescendant')}"]`);
    await field.waitFor();
    assert.equal(await (await named()).getAttribute('role'), 'option');
    const first = await (await named()).textContent();
    await field.press('ArrowDown');
    await until('another one is chosen', async () => (await (await named()).textContent()) !== first);
    assert.equal(await (await named()).getAttribute('aria-selected'), 'true');
    const list = page.locator(`[id="${await field.getAttribute('aria-controls')}"]`);
    assert.equal(await list.getAttribute('role'), 'listbox');
    await page.keyboard.press('Escape');
});

test('a page whose files are gone loads itself anew, once, and then says what happened', async () => {
    // The scheduler was upgraded while the console was open: its files have other names now.
    await withOwnBrowser({}, async (own) => {
        await own.goto(`${scheduler.address}/`);
        await own.getByRole('heading', { name: 'Overview' }).waitFor();
        let refused = 0;
        await own.route('**/assets/Queues-*.js', (route) => {
            refused += 1;
            return route.fulfill({ status: 404, body: '' });
        });
        await own.getByRole('link', { name: 'Queues' }).click();
        await until('it has loaded itself anew', async () => refused === 2);
        await own.getByText('This page could not be shown').waitFor();
        // The rest of the console is there, and other pages open.
        await own.getByRole('link', { name: 'Cluster' }).click();
        await own.getByRole('heading', { name: 'Cluster' }).waitFor();
        await own.getByRole('link', { name: 'Queues' }).click();
        await own.getByText('This page could not be shown').waitFor();
        assert.equal(refused, 2, 'once as asked, once more by itself');

        await own.unroute('**/assets/Queues-*.js');
        await own.getByRole('button', { name: 'Reload' }).click();
        await own.getByRole('heading', { name: 'Queues' }).waitFor();
    });
});

test('the calendar of a task is in UTC, also where it is another day', async () => {
    // An operator half around the world from the server looks for the run of a day, and follows it.
    await submit({ id: 'far', name: 'far', type: 'echo', interval: '1h' });
    const { id } = await call(scheduler.address, 'POST', 'tasks/far/trigger', {});
    const { finished_at } = await until('it has run', async () => {
        const run = await call(scheduler.address, 'GET', `executions/${id}`);
        return run.finished_at && run;
    });
    const from = `from=${finished_at.slice(0, 10)}T00%3A00%3A00.000Z`;
    for (const timezoneId of ['Pacific/Kiritimati', 'Pacific/Pago_Pago']) {
        await withOwnBrowser({ timezoneId }, async (own) => {
            await own.goto(`${scheduler.address}/tasks/far`);
            await own.getByText('days in UTC').waitFor();
            await own.locator(`.calendar a.day-past[href*="${from}"]`).click();
            await own.getByRole('heading', { name: 'Executions' }).waitFor();
            await own.getByRole('link', { name: 'far' }).first().waitFor();
        });
    }
});

test('a log that could not be read for a moment goes on as if nothing had been', async () => {
    // A proxy in between lets no stream through, and the leader has just changed.
    await submit({ id: 'talks', name: 'talks', type: 'sleep', parameters: { ms: 3_600_000 } });
    await withOwnBrowser({}, async (own) => {
        await own.route('**/talks/log?follow=true', (route) => route.fulfill({ status: 404, json: {} }));
        await own.route('**/talks/log?limit=*', (route) => route.fulfill({ status: 503, json: {} }), { times: 1 });
        await own.goto(`${scheduler.address}/executions/talks`);
        const problem = own.getByText('The server answered 503');
        await problem.waitFor();
        await problem.waitFor({ state: 'hidden' });
        await own.getByText('Nothing was written').waitFor();
    });
    await call(scheduler.address, 'POST', 'executions/talks/cancel');
});

test('every page opens, also on a phone and in the dark', async () => {
    const pages = {
        '/': 'Overview',
        '/tasks': 'Tasks',
        '/executions': 'Executions',
        '/workers': 'Workers',
        '/queues': 'Queues',
        '/cluster': 'Cluster',
        '/alerts': 'Alerts',
        '/statistics': 'Statistics',
        '/settings': 'Settings',
    };
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.setViewportSize({ width: 390, height: 844 });
    for (const [path, name] of Object.entries(pages)) {
        await page.goto(scheduler.address + path);
        await page.getByRole('heading', { name, exact: true }).waitFor();
        // Tables may scroll inside their card, the page must not.
        const wider = await page.evaluate(
            () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
        );
        assert.ok(wider <= 0, `${path} is ${wider} pixels wider than the phone`);
    }
    assert.equal(await page.locator('html').getAttribute('data-theme'), 'dark');
});

test('the browser had nothing to complain about', () => {
    assert.deepEqual(browser.complaints, []);
});
