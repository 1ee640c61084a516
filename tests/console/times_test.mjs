// Times as their reader wants them, and what goes on while nobody looks: zones, calendars, progress, plurals.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { call, openBrowser, openConsole, until } from './support.mjs';

let scheduler;
let browser;
let page;
let close;

before(async () => {
    ({ scheduler, browser, page, close } = await openConsole({ timezoneId: 'America/New_York' }));
    const submit = (fields) => call(scheduler.address, 'POST', 'tasks', fields);
    await submit({
        id: 'shanghai',
        name: 'shanghai',
        type: 'echo',
        cron_expression: '30 9 * * *',
        timezone: 'Asia/Shanghai',
    });
    await submit({ id: 'often', name: 'often', type: 'noop', interval: '5s' });
    await submit({ id: 'fails', name: 'fails', type: 'fail', max_retry: 0 });
    await submit({ id: 'asleep', name: 'asleep', type: 'sleep', parameters: { ms: 3_600_000 } });
});
after(() => close?.());

const nextFire = () => page.locator('.fields > div', { has: page.getByText('Next fire') }).locator('time');

test('times are told in the zone of the reader, of the task, or in UTC, and that is remembered', async () => {
    const choose = async (name) => {
        await page.getByRole('button', { name: 'Time zone' }).click();
        await page.getByRole('menuitem', { name }).click();
    };
    await page.goto(`${scheduler.address}/tasks/shanghai`);
    // New York is 12 or 13 hours behind Shanghai; UTC is 8.
    await until('mine', async () => /(20|21):30:00$/.test(await nextFire().textContent()));
    await choose(/The task's/);
    await until("the task's", async () => /09:30:00 Asia\/Shanghai$/.test(await nextFire().textContent()));
    await choose('UTC');
    await until('UTC', async () => /01:30:00$/.test(await nextFire().textContent()));
    await page.reload();
    await until('it is remembered', async () => /01:30:00$/.test(await nextFire().textContent()));
    await choose(/Mine \(America\/New_York\)/);
    await until('mine again', async () => /(20|21):30:00$/.test(await nextFire().textContent()));
});

test('the calendar of a task that fires often does not look as if it stopped', async () => {
    await page.goto(`${scheduler.address}/tasks/often`);
    const coming = page.locator('.calendar .day-coming');
    await coming.first().waitFor();
    const last = page.locator('.calendar a.day').last();
    await until('the last day is marked too', async () =>
        /day-coming/.test(await last.getAttribute('class')),
    );
    assert.match(await last.textContent(), /…/);
});

test('what counts where nothing was said is told by its value', async () => {
    await page.goto(`${scheduler.address}/tasks/often`);
    const field = (name) => page.locator('.fields > div', { has: page.getByText(name, { exact: true }) });
    await field('Load balancing')
        .getByText(/least_tasks/)
        .waitFor();
    await field('Retries').getByText('3').waitFor();
    await field('Time limit of an attempt').getByText('5m').waitFor();
});

test('one failure is one failed attempt, and how long all of it took is told', async () => {
    await until('it has failed', async () => {
        return (await call(scheduler.address, 'GET', 'executions/fails')).status === 'failed';
    });
    await page.goto(`${scheduler.address}/executions/fails`);
    await page.getByText('1 failed attempt', { exact: true }).waitFor();
    await page.getByText('From created to finished').waitFor();
});

test('an execution that runs is no riddle, its progress is followed, and a cancelled one is no error', async () => {
    let reads = 0;
    await page.route('**/api/v1/executions/asleep', async (route) => {
        reads += 1;
        const response = await route.fetch();
        const json = await response.json();
        const progress = { percent: Math.min(99, 10 * reads), message: `page ${reads}` };
        await route.fulfill({ response, json: { ...json, progress } });
    });
    await page.goto(`${scheduler.address}/executions/asleep`);
    await page.getByText('It runs on worker').waitFor();
    assert.equal(await page.getByText('Why it is not finished').count(), 0);
    await page.getByText('page 3').waitFor();
    await page.unroute('**/api/v1/executions/asleep');
    await call(scheduler.address, 'POST', 'executions/asleep/cancel');
    await page.getByTestId('error').getByText('It was cancelled').waitFor();
    assert.equal(await page.locator('.outcome-error').count(), 0);
});

test('what was said of a success is shown, and a limit while it counts', async () => {
    const id = 'by-hand';
    const limit = page.locator('.fields > div', { hasText: 'Time limit of an attempt' });
    await call(scheduler.address, 'POST', 'tasks', {
        id,
        name: id,
        type: 'sleep',
        parameters: { ms: 3_600_000 },
    });
    await page.goto(`${scheduler.address}/executions/${id}`);
    await page.getByText('It runs on worker').waitFor();
    await limit.waitFor();
    const said = { status: 'success', message: 'settled by phone' };
    await call(scheduler.address, 'PUT', `executions/${id}/status`, said);
    await page.getByTestId('said').getByText('settled by phone').waitFor();
    // Its task may have another one by now.
    assert.equal(await limit.count(), 0);
});

test('what waits is listed, and what does not is not', async () => {
    const task = { name: 'done', type: 'noop', queue: 'idle' };
    const { id } = await call(scheduler.address, 'POST', 'tasks', task);
    await until('it ran', async () => {
        return (await call(scheduler.address, 'GET', `executions/${id}`)).status === 'success';
    });
    await call(scheduler.address, 'POST', 'tasks', { name: 'waits', type: 'nobody', queue: 'busy' });
    await page.goto(scheduler.address);
    const waiting = page.locator('.ant-card', { hasText: 'What waits' });
    await waiting.locator('li', { hasText: 'busy' }).waitFor();
    assert.equal(await waiting.locator('li', { hasText: 'idle' }).count(), 0);
});

test('the capacity of a worker is shown, set and given back; a viewer cannot', async () => {
    const { id, capacity_own: own } = (await call(scheduler.address, 'GET', 'workers')).items[0];
    await page.goto(`${scheduler.address}/workers/${id}`);
    await page.getByText(`${own}, as it says itself`).waitFor();
    const dialog = page.getByRole('dialog');
    const change = async (text) => {
        await page.getByRole('button', { name: 'Change: Capacity' }).click();
        await dialog.getByLabel('Capacity').fill(text);
        await dialog.getByRole('button', { name: 'Save' }).click();
        await dialog.waitFor({ state: 'hidden' });
    };
    await change('3');
    await page.getByText(`3, set here; it says ${own} itself`).first().waitFor();
    assert.equal((await call(scheduler.address, 'GET', `workers/${id}`)).capacity_set, 3);
    await change('');
    await page.getByText(`${own}, as it says itself`).waitFor();
    const viewer = await openBrowser();
    try {
        const me = { name: 'guest', role: 'viewer', anonymous: false };
        await viewer.page.route('**/api/v1/me', (route) => route.fulfill({ json: me }));
        await viewer.page.goto(`${scheduler.address}/workers/${id}`);
        const button = viewer.page.getByRole('button', { name: 'Change: Capacity' });
        await until('it is disabled', () => button.isDisabled());
    } finally {
        await viewer.close();
    }
});

test('the browser had nothing to complain about', () => {
    assert.deepEqual(browser.complaints, []);
});
