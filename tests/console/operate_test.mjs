// What an operator does: stop something, take a worker out, and use the console in their own language.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { call, makeFolder, openBrowser, startScheduler, until, whenLed } from './support.mjs';

let place;
let scheduler;
let browser;
let page;

before(async () => {
    place = makeFolder();
    scheduler = await startScheduler(`file:${place.folder}/data`, '--with-worker', '--demo');
    await whenLed(scheduler.address);
    browser = await openBrowser();
    page = browser.page;
});

after(async () => {
    await browser?.close();
    await scheduler?.stop();
    place?.remove();
});

const submit = (fields) => call(scheduler.address, 'POST', 'tasks', fields);

test('a run that would take an hour is cancelled, after a question', async () => {
    // It was submitted by mistake.
    await submit({ id: 'long', name: 'long', type: 'sleep', parameters: { ms: 3_600_000 } });
    await page.goto(`${scheduler.address}/executions/long`);
    await page.locator('.page-header .badge', { hasText: 'Running' }).waitFor();
    const cancel = page.locator('.page-actions').getByRole('button', { name: 'Cancel it' });
    const question = page.getByRole('dialog');
    await cancel.click();
    await question.getByRole('button', { name: 'Back' }).click();
    await question.waitFor({ state: 'hidden' });
    assert.equal((await call(scheduler.address, 'GET', 'executions/long')).status, 'running');
    await cancel.click();
    await question.getByRole('button', { name: 'Cancel it' }).click();
    await page.locator('.page-header .badge', { hasText: 'Cancelled' }).waitFor();
});

test('an execution that waits says why', async () => {
    // Nobody runs this type, and the person who submitted it wonders.
    await submit({ id: 'lonely', name: 'lonely', type: 'nobody-runs-this' });
    await page.goto(`${scheduler.address}/executions/lonely`);
    await page.getByText('no worker runs tasks of the type').waitFor();
});

test('failed executions are found by a filter in the address, chosen, and run again', async () => {
    await submit({ id: 'broken', name: 'broken', type: 'fail', max_retry: 0 });
    await until(
        'it has failed',
        async () => (await call(scheduler.address, 'GET', 'executions/broken')).status === 'failed',
    );
    await page.goto(`${scheduler.address}/executions?status=failed&type=fail`);
    await page.getByRole('row', { name: 'broken' }).getByRole('checkbox').check();
    await page.getByRole('button', { name: 'Run 1 again' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Run again' }).click();
    await until(
        'it ran a second time',
        async () => (await call(scheduler.address, 'GET', 'executions/broken')).attempt >= 2,
    );
});

test('a worker is drained and put back', async () => {
    // Its machine is to be restarted.
    const { id } = (await call(scheduler.address, 'GET', 'workers')).items[0];
    await page.goto(`${scheduler.address}/workers`);
    await page.getByRole('button', { name: 'Drain' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Drain' }).click();
    await page.locator('.badge', { hasText: 'Draining' }).waitFor();
    assert.equal((await call(scheduler.address, 'GET', `workers/${id}`)).status, 'draining');
    await page.goto(`${scheduler.address}/`);
    await page.getByText('1 get nothing new').waitFor();
    await page.goto(`${scheduler.address}/workers`);
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.locator('.badge', { hasText: 'Online' }).waitFor();
});

test('a queue is paused and resumed', async () => {
    await page.goto(`${scheduler.address}/queues`);
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
    await page.locator('.badge', { hasText: 'Paused' }).waitFor();
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.locator('.badge', { hasText: 'Open' }).waitFor();
});

test('the language is switched and remembered', async () => {
    await page.goto(`${scheduler.address}/`);
    await page.getByRole('button', { name: '切换到中文' }).click();
    await page.getByRole('heading', { name: '总览' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: '总览' }).waitFor();
    assert.equal(await page.locator('html').getAttribute('lang'), 'zh-CN');
    await page.getByRole('button', { name: 'Switch to English' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
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
