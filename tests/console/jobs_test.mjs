// Jobs of every day, each begun at the overview by somebody who knows the words of the page and nothing else.
// Clicks are counted, typing is not; each job has the number of clicks that it may take.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { call, openConsole, startWorker, until } from './support.mjs';

let scheduler;
let browser;
let page;
let close;
let stopWorker;
let receiver;
let clicks;
const heard = []; // What the webhook was sent.

before(async () => {
    ({ scheduler, browser, page, close } = await openConsole());
    // The only one that has what tasks with this label ask for.
    stopWorker = startWorker(
        scheduler.address,
        '--id',
        'old-machine',
        '--queues',
        'slow',
        '--labels',
        'disk=old',
    );
    receiver = createServer((request, response) => {
        let body = '';
        request.on('data', (part) => (body += part));
        request.on('end', () => {
            heard.push(JSON.parse(body));
            response.end('{}');
        });
    });
    await new Promise((resolve) => receiver.listen(0, '127.0.0.1', resolve));
});
after(async () => {
    receiver?.close();
    await stopWorker?.();
    await close?.();
});

const submit = (fields) => call(scheduler.address, 'POST', 'tasks', fields);
const dialog = () => page.getByRole('dialog');
const menu = (name) => page.getByRole('navigation').getByRole('link', { name });

async function click(element) {
    await element.click();
    clicks += 1;
}

function job(name, most, work) {
    test(`${name}: at most ${most} clicks`, async () => {
        await page.goto(`${scheduler.address}/`);
        await page.getByRole('heading', { name: 'Overview' }).waitFor();
        clicks = 0;
        await work();
        assert.ok(clicks <= most, `${clicks} clicks`);
    });
}

job('a task on workdays at 09:30 in Shanghai but for two holidays', 9, async () => {
    await click(menu('Tasks'));
    await click(page.getByRole('button', { name: 'New task' }).first());
    await dialog().getByLabel('Name', { exact: true }).fill('Open the market');
    await dialog().getByLabel('Type', { exact: true }).fill('echo');
    await dialog().getByLabel('Cron expression').fill('30 9 * * MON-FRI');
    await click(dialog().locator('.ant-form-item', { hasText: 'Time zone' }).locator('.ant-select'));
    await page.keyboard.type('shanghai');
    await page.keyboard.press('Enter');
    await click(page.getByText('Start, end, holidays'));
    await click(page.locator('.ant-form-item', { hasText: 'Days without fires' }).locator('.ant-picker'));
    const days = page.locator('.ant-picker-cell-in-view');
    await click(days.nth(-1));
    await click(days.nth(-2));
    await click(page.getByRole('button', { name: 'Create' }));
    await page.getByRole('heading', { name: 'Open the market' }).waitFor();
    const [task] = (await call(scheduler.address, 'GET', 'tasks?search=market')).items;
    assert.equal(task.timezone, 'Asia/Shanghai');
    assert.equal(task.excluded_dates.length, 2);
    const [fire] = (await call(scheduler.address, 'GET', `tasks/${task.id}/fires?count=1`)).fires;
    assert.match(fire, /T01:30:00/);
});

job('why a task does not run', 2, async () => {
    await submit({ id: 'stuck', name: 'Stuck one', type: 'nobody-runs-this', interval: '1s' });
    await click(menu('Tasks'));
    await click(page.getByRole('link', { name: 'Stuck one' }));
    await page.getByTestId('task-why').getByText('No worker runs tasks of the type').waitFor();
    await call(scheduler.address, 'DELETE', 'tasks/stuck');
});

job('the last failure, its log, and once more with other parameters', 3, async () => {
    await submit({ id: 'broken', name: 'Broken one', type: 'fail', max_retry: 0, parameters: { times: 99 } });
    await click(page.getByRole('link', { name: 'Broken one' }));
    await page.getByTestId('error').getByText('failing on purpose').waitFor();
    await page.getByText('Nothing was written').waitFor();
    await click(page.getByRole('button', { name: 'Run with other input' }));
    await dialog().getByLabel('Parameters').fill('{"times": 0}');
    await click(dialog().getByRole('button', { name: 'Run now' }));
    await page.waitForURL((url) => !url.pathname.endsWith('broken'));
    await page.locator('.page-header .badge', { hasText: 'Success' }).waitFor();
});

job('a queue is paused', 2, async () => {
    await submit({ name: 'any', type: 'noop', queue: 'mail' });
    await click(menu('Queues'));
    await click(page.getByRole('button', { name: 'Pause: mail' }));
    await page.getByRole('row', { name: 'mail' }).locator('.badge', { hasText: 'Paused' }).waitFor();
});

job('which worker is slow', 1, async () => {
    const runs = (queue, ms) =>
        Array.from({ length: 12 }, () => ({
            name: 'same',
            type: 'sleep',
            queue,
            labels: queue === 'slow' ? { disk: 'old' } : {},
            parameters: { ms },
        }));
    await call(scheduler.address, 'POST', 'tasks/bulk', [...runs('default', 1), ...runs('slow', 400)]);
    await until('they are over', async () => {
        const { items } = await call(scheduler.address, 'GET', 'statistics?by=worker');
        return items.length === 2 && items.every(({ total }) => total >= 12);
    });
    await click(menu('Workers'));
    await page.getByRole('row', { name: 'old-machine' }).getByText('× the others').waitFor();
});

job('a worker is drained', 3, async () => {
    const place = { queue: 'slow', labels: { disk: 'old' } };
    await submit({ id: 'long', name: 'long', type: 'sleep', ...place, parameters: { ms: 3_600_000 } });
    await until('it runs', async () => {
        return (await call(scheduler.address, 'GET', 'executions/long')).status === 'running';
    });
    await click(menu('Workers'));
    await click(page.getByRole('button', { name: 'Drain: old-machine' }));
    await dialog()
        .getByLabel(/Reason/)
        .fill('kernel update');
    await click(dialog().getByRole('button', { name: 'Drain' }));
    // Who did it says why; how much is left is told.
    await page.getByRole('row', { name: 'old-machine' }).getByText('1 left · kernel update').waitFor();
    await call(scheduler.address, 'POST', 'executions/long/cancel');
});

job('an alert above 5 % for a minute to a webhook', 9, async () => {
    await click(menu('Alerts'));
    await click(page.getByRole('tab', { name: 'Channels' }));
    await click(page.getByRole('button', { name: 'New channel' }));
    await dialog().getByLabel('Name').fill('ops');
    await dialog().getByLabel('URL').fill(`http://127.0.0.1:${receiver.address().port}/hook`);
    await click(dialog().getByRole('button', { name: 'Save and send a test' }));
    await until('the test has come', async () => heard.length === 1);
    await click(page.getByRole('tab', { name: 'Rules' }));
    await click(page.getByRole('button', { name: 'New rule' }).first());
    await dialog().getByLabel('Name').fill('too_many_failures');
    await click(dialog().getByLabel('Metric'));
    await click(page.locator('.ant-select-item', { hasText: 'Share of executions that failed' }));
    await dialog().getByLabel('Threshold').fill('5');
    await dialog().getByLabel('For at least').fill('1m');
    // Unless said otherwise, every channel is told.
    await click(dialog().getByRole('button', { name: 'Save' }));
    await page.getByRole('row', { name: 'too_many_failures' }).getByText('above 5.0 %').waitFor();
});

job('an execution is found by its metadata', 1, async () => {
    await submit({ id: 'o-4711', name: 'Ship order', type: 'noop', metadata: { order: 'A-4711' } });
    await page.keyboard.press('Control+k');
    await page.locator('.search input:focus').waitFor();
    await page.keyboard.type('a-4711');
    await click(page.getByRole('option', { name: /Ship order/ }));
    await page.getByText('order=A-4711').waitFor();
});

job('an execution is found by a value in its parameters', 1, async () => {
    const parameters = { order: { number: 'B-0815', lines: 3 } };
    await submit({ id: 'p-1', name: 'Pack order', type: 'echo', parameters });
    await page.keyboard.press('Control+k');
    await page.locator('.search input:focus').waitFor();
    await page.keyboard.type('b-0815');
    await click(page.getByRole('option', { name: /Pack order/ }));
    await page.getByText('"B-0815"').first().waitFor();
});

job('today beside yesterday', 1, async () => {
    await click(menu('Statistics'));
    // In its first hour a day has nothing to show yet: then it is yesterday beside the day before.
    await page
        .getByTestId('today')
        .getByText(/yesterday|the day before/)
        .first()
        .waitFor();
});

job('two hundred that wait are cancelled', 3, async () => {
    const tasks = Array.from({ length: 200 }, () => ({ name: 'Flood', type: 'nobody', queue: 'flood' }));
    await call(scheduler.address, 'POST', 'tasks/bulk', tasks);
    await click(page.locator('.ant-card', { hasText: 'What waits' }).getByRole('link', { name: 'flood' }));
    await click(page.getByRole('button', { name: 'Cancel what waits' }));
    await dialog().getByText('200 match.').waitFor();
    await click(dialog().getByRole('button', { name: 'Cancel them' }));
    await page.getByText('200 executions cancelled').waitFor();
});

test('the browser had nothing to complain about', () => {
    // The page of the task that was deleted may have looked once more.
    const expected = /404 .*\/tasks\/stuck\)/;
    assert.deepEqual(
        browser.complaints.filter((text) => !expected.test(text)),
        [],
    );
});
