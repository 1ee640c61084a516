// The form of a task, as somebody meets it who knows neither workers nor types.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { call, openConsole, until } from './support.mjs';

let scheduler;
let browser;
let page;
let close;

before(async () => {
    ({ scheduler, browser, page, close } = await openConsole({ timezoneId: 'Europe/Berlin' }));
});
after(() => close?.());

const openForm = async () => {
    await page.goto(`${scheduler.address}/tasks?new=1`);
    await page.getByRole('dialog').getByLabel('Name', { exact: true }).waitFor();
};
const discard = () => page.evaluate(() => sessionStorage.clear());

test('a zone is looked for letter by letter, and nothing that was filled in is lost', async () => {
    await openForm();
    await page.getByRole('dialog').getByLabel('Name', { exact: true }).fill('report');
    await page.getByRole('button', { name: 'on workdays' }).click();
    const preview = page.getByTestId('preview');
    await preview.waitFor();
    // It begins with the reader's own, and says each time once.
    await page.locator('.ant-select-selection-item', { hasText: 'Europe/Berlin' }).waitFor();
    assert.equal(await preview.getByText('Europe/Berlin', { exact: false }).count(), 1);
    await page.getByRole('combobox', { name: 'Time zone' }).click({ force: true });
    await page.keyboard.type('shang', { delay: 30 });
    await page.locator('.ant-select-item-option', { hasText: 'Asia/Shanghai' }).click();
    await preview.getByText('Asia/Shanghai').first().waitFor();
    assert.equal(await page.getByRole('dialog').getByLabel('Name', { exact: true }).inputValue(), 'report');
});

test('who names a type that nobody runs is told so, and is offered those that are there', async () => {
    const warning = page.getByTestId('nobody-runs');
    await warning.getByText('No worker runs tasks of the type “report” now.').waitFor();
    await warning.getByRole('button', { name: 'echo' }).click();
    await warning.waitFor({ state: 'detached' });
    assert.equal(await page.getByRole('dialog').getByLabel('Type', { exact: true }).inputValue(), 'echo');
});

test('a half-filled form is there again after the page was left', async () => {
    await page.goto(`${scheduler.address}/queues`);
    await openForm();
    await page.getByText('What you had filled in is here again.').waitFor();
    assert.equal(await page.getByRole('dialog').getByLabel('Name', { exact: true }).inputValue(), 'report');
    await page.getByRole('button', { name: 'Start anew' }).click();
    assert.equal(await page.getByRole('dialog').getByLabel('Name', { exact: true }).inputValue(), '');
    assert.equal(await page.getByLabel('Cron expression').inputValue(), '');
});

test('Enter sends the form; a task that nobody runs says why on its page', async () => {
    await page.getByRole('dialog').getByLabel('Name', { exact: true }).fill('nobodys');
    await page.getByLabel('Cron expression').fill('* * * * * *');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'nobodys' }).waitFor();
    await page.getByTestId('task-why').getByText('No worker runs tasks of the type “nobodys”.').waitFor();
    await page.getByTestId('task-why').getByRole('link', { name: 'Open the run' }).click();
    await page.waitForURL(/\/executions\//);
    await openForm();
    assert.equal(await page.getByText('What you had filled in is here again.').count(), 0);
});

test('the preview of a task with holidays leaves them out', async () => {
    await discard();
    const day = (offset) => new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10);
    await call(scheduler.address, 'POST', 'tasks', {
        id: 'holidays',
        name: 'holidays',
        type: 'echo',
        cron_expression: '0 12 * * *',
        timezone: 'UTC',
        excluded_dates: [day(1), day(2)],
        metadata: { team: 'billing' },
        labels: { disk: 'ssd' },
    });
    await page.goto(`${scheduler.address}/tasks/holidays`);
    // The page shows all that was said of the task.
    await page.getByText('team=billing').waitFor();
    await page.getByText('disk=ssd').waitFor();
    await page.getByText(`${day(1)}, ${day(2)}`).waitFor();
    const asked = page.waitForRequest((request) => request.url().endsWith('/tasks/preview'));
    await page.getByRole('button', { name: 'Edit' }).click();
    assert.deepEqual(JSON.parse((await asked).postData()).excluded_dates, [day(1), day(2)]);
    await page.getByTestId('preview').waitFor();
});

test('every field that the form has arrives', async () => {
    await call(scheduler.address, 'PUT', 'locks/gpu', { permits: 4 });
    await openForm();
    await page.getByRole('dialog').getByLabel('Name', { exact: true }).fill('full');
    await page.getByRole('dialog').getByLabel('Type', { exact: true }).fill('echo');
    await page.getByLabel('Cron expression').fill('0 3 * * *');
    await page.getByText('Start, end, holidays').click();
    await page.getByLabel('At most so many fires').fill('7');
    await page.getByLabel('Spread by up to').fill('30s');
    await page.locator('.ant-form-item', { hasText: 'Days without fires' }).locator('.ant-picker').click();
    await page.locator('.ant-picker-cell-in-view').last().click();
    await page.getByLabel('Spread by up to').click();
    await page.getByText('Retries, limits, placement').click();
    for (const [label, value] of [
        ['Id', 'full-1'],
        ['First retry after', '5s'],
        ['Each later delay is longer by', '3'],
        ['No delay longer than', '10m'],
        ['Missed if later than', '1h'],
        ['Labels', 'disk=ssd'],
        ['Metadata', 'team=billing'],
        ['Locks', 'ledger, gpu=2'],
        ['Starts at most', '5'],
        ['in', '1m'],
        ['Shared with', 'db'],
        ['At most at once', '2'],
    ])
        await page.getByRole('dialog').getByLabel(label, { exact: true }).fill(value);
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'full' }).waitFor();
    const task = await until('it is there', () => call(scheduler.address, 'GET', 'tasks/full-1'));
    assert.equal(task.fires_max, 7);
    assert.equal(task.jitter, '30s');
    assert.equal(task.excluded_dates.length, 1);
    assert.equal(task.timezone, 'Europe/Berlin');
    assert.deepEqual(
        [task.retry_policy.delay, task.retry_policy.backoff_rate, task.retry_policy.delay_max],
        ['5s', 3, '10m'],
    );
    assert.equal(task.start_deadline, '1h');
    assert.deepEqual(task.labels, { disk: 'ssd' });
    assert.deepEqual(task.metadata, { team: 'billing' });
    assert.deepEqual(task.locks, ['ledger', { name: 'gpu', permits: 2 }]);
    assert.deepEqual(task.rate_limit, { count: 5, per: '1m' });
    assert.deepEqual([task.concurrency_key, task.concurrency_max], ['db', 2]);
});

test('the browser had nothing to complain about', () => {
    assert.deepEqual(browser.complaints, []);
});
