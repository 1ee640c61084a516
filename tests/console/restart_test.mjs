// A scheduler is restarted: its worker is the same one and is let in, and the overview has not forgotten the last hour.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { call, makeFolder, openBrowser, startScheduler, startWorker, until, whenLed } from './support.mjs';

let place;
let scheduler;
let browser;
let page;

const start = () => startScheduler(`file:${place.folder}/data`, '--with-worker', '--demo');

before(async () => {
    place = makeFolder();
    scheduler = await start();
    await whenLed(scheduler.address);
    browser = await openBrowser();
    page = browser.page;
});
after(async () => {
    await browser?.close();
    await scheduler?.stop();
    place?.remove();
});

const ended = async () => {
    const text = (await page.locator('.page-header').textContent()) ?? '';
    return Number(/(\d+) executions? ended in the last hour/.exec(text)?.[1] ?? 0);
};

test('the overview remembers the last hour, and the worker comes back as itself', async () => {
    const ids = [];
    for (let i = 0; i < 7; i += 1)
        ids.push((await call(scheduler.address, 'POST', 'tasks', { name: 'n', type: 'noop' })).id);
    await page.goto(scheduler.address);
    await until('they are counted', async () => (await ended()) === 7);
    const worker = (await call(scheduler.address, 'GET', 'workers')).items[0].id;
    await scheduler.stop();
    scheduler = await start();
    await whenLed(scheduler.address);
    await page.goto(scheduler.address);
    await until('they are still counted', async () => (await ended()) === 7);
    const workers = (await call(scheduler.address, 'GET', 'workers')).items;
    assert.deepEqual(
        workers.map(({ id }) => id),
        [worker],
        'no other one is left behind',
    );
});

test('a worker that went with the scheduler is not said to have been seen when it joined', async () => {
    const stopWorker = startWorker(scheduler.address, '--id', 'gone');
    const gone = () => call(scheduler.address, 'GET', 'workers/gone');
    await until('it is attached', async () => (await gone()).connected);
    await stopWorker('SIGKILL');
    await scheduler.stop('SIGKILL');
    scheduler = await start();
    await whenLed(scheduler.address);
    assert.equal((await gone()).seen_at, null);
    await page.goto(`${scheduler.address}/workers`);
    const row = page.locator('tr.ant-table-row', { hasText: 'gone' });
    await row.getByText('not heard yet').waitFor();
    // Once its lease is over.
    await row.locator('.badge', { hasText: 'Offline' }).waitFor({ timeout: 90_000 });
    await row.getByText('before the leader changed').waitFor();
    await call(scheduler.address, 'DELETE', 'workers/gone');
});

test('the first token says whom it shuts out, and that is not the worker of the scheduler', async () => {
    await page.goto(`${scheduler.address}/settings`);
    await page.getByRole('button', { name: 'New token' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('workers, executors and programs elsewhere are turned away').waitFor();
    await dialog.getByLabel('Name').fill('boss');
    await dialog.getByRole('button', { name: 'Create' }).click();
    const token = (await page.getByTestId('token').textContent()).trim();
    const headers = { Authorization: `Bearer ${token}` };
    await scheduler.stop();
    scheduler = await start();
    const task = { id: 'after', name: 'after', type: 'noop' };
    await until('it leads', () => call(scheduler.address, 'POST', 'tasks', task, headers));
    await until('its worker runs it', async () => {
        const run = await call(scheduler.address, 'GET', 'executions/after', undefined, headers);
        return run.status === 'success';
    });
});
