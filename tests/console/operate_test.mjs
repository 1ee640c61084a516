// What an operator does: stop something, take a worker out, and use the console in their own language.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { call, openConsole, until } from './support.mjs';

let scheduler;
let browser;
let page;
let close;

before(async () => {
    ({ scheduler, browser, page, close } = await openConsole());
});
after(() => close?.());

const submit = (fields) => call(scheduler.address, 'POST', 'tasks', fields);
const submitAll = (tasks) => call(scheduler.address, 'POST', 'tasks/bulk', tasks);

// Does something with all that the filters match; `asked` is how many the question says it is about.
async function allMatching(what, ok, asked) {
    await page.getByRole('button', { name: /^All (that match|executions)/ }).click();
    await page.getByRole('menuitem', { name: what }).click();
    if (!asked) return;
    await page.getByRole('dialog').getByText(asked, { exact: true }).waitFor();
    await page.getByRole('dialog').getByRole('button', { name: ok }).click();
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
}

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

test('cancelling all that match reaches every one of them, however many', async () => {
    // A script went wild and submitted far more than one page shows.
    const tasks = Array.from({ length: 2_500 }, () => ({ name: 'flood', type: 'flood' }));
    assert.equal((await submitAll(tasks)).created, tasks.length);
    await page.goto(`${scheduler.address}/executions?type=flood`);
    await allMatching('Cancel all unfinished…', 'Cancel them', '1,000 or more match.');
    await page.getByText('2500 executions cancelled').waitFor();
    const left = await call(scheduler.address, 'GET', 'executions?type=flood&status=pending&limit=1');
    assert.deepEqual(left.items, []);

    // Once more: there is nothing left, and nothing is asked or claimed.
    await allMatching('Cancel all unfinished…');
    await page.getByText('Nothing matches, nothing was changed').waitFor();
});

test('all that is unfinished is cancelled without any filter', async () => {
    // The place is to be emptied. The API takes a call without a filter for the slip of a script.
    await submitAll(Array.from({ length: 3 }, () => ({ name: 'anything', type: 'nobody-has-it' })));
    await page.goto(`${scheduler.address}/executions`);
    await allMatching('Cancel all unfinished…', 'Cancel them', /^\d+ match\.$/);
    await until('nothing is left', async () => {
        const left = await call(scheduler.address, 'GET', 'executions?status=pending,running&limit=1');
        return left.items.length === 0;
    });
});

test('what cannot be run again is not asked about', async () => {
    // Somebody asks for all that match to be run again, and the filter matches what succeeded.
    await submit({ id: 'good', name: 'good', type: 'echo' });
    await until(
        'it has succeeded',
        async () => (await call(scheduler.address, 'GET', 'executions/good')).status === 'success',
    );
    await page.goto(`${scheduler.address}/executions?task_id=good&status=success`);
    await allMatching('Run all failed again…');
    await page.getByText('Nothing matches, nothing was changed').waitFor();
});

test('a worker is drained and put back', async () => {
    // Its machine is to be restarted.
    const { id } = (await call(scheduler.address, 'GET', 'workers')).items[0];
    await page.goto(`${scheduler.address}/workers`);
    await page.getByRole('button', { name: 'Drain' }).click();
    await page.getByRole('dialog').getByRole('textbox').fill('kernel upgrade');
    await page.getByRole('dialog').getByRole('button', { name: 'Drain' }).click();
    await page.locator('.badge', { hasText: 'Draining' }).waitFor();
    assert.equal((await call(scheduler.address, 'GET', `workers/${id}`)).status, 'draining');
    await page.goto(`${scheduler.address}/`);
    await page.getByText('1 worker draining').waitFor();
    await page.goto(`${scheduler.address}/workers/${id}`);
    await page.getByTestId('why').getByText('kernel upgrade').waitFor();
    await page.goto(`${scheduler.address}/workers`);
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.locator('.badge', { hasText: 'Online' }).waitFor();
});

test('an executor in maintenance says why', async () => {
    await call(scheduler.address, 'POST', 'executors/register', {
        name: 'billing',
        instance_id: 'billing-1',
        base_url: 'http://127.0.0.1:9',
        tasks: [{ task_name: 'invoice' }],
    });
    const put = (fields) => call(scheduler.address, 'PUT', 'executors/billing-1/status', fields);
    await put({ status: 'maintenance', reason: 'kernel upgrade' });
    await page.goto(`${scheduler.address}/workers/billing-1`);
    const why = page.getByTestId('why');
    await why.getByText('puts it back. kernel upgrade').waitFor();
    await put({ status: 'maintenance' });
    await page.reload();
    await why.getByText(/puts it back\.$/).waitFor();
    await call(scheduler.address, 'DELETE', 'executors/billing-1');
});

test('a queue is paused and resumed', async () => {
    await page.goto(`${scheduler.address}/queues`);
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.locator('.badge', { hasText: 'Paused' }).waitFor();
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.locator('.badge', { hasText: 'Open' }).waitFor();
});

test('a lock is taken away from its holder, and the next in line has it', async () => {
    const given = await call(scheduler.address, 'POST', 'locks/ledger/acquire', {
        owner: 'host-a',
        ttl: '1h',
    });
    const waiter = call(scheduler.address, 'POST', 'locks/ledger/acquire', { owner: 'host-b', wait: '50s' });
    await page.goto(`${scheduler.address}/locks`);
    await page.getByRole('cell', { name: 'host-a' }).waitFor();
    await page.getByText('host-b').waitFor();
    await page.getByText(String(given.token)).waitFor();
    await page.getByRole('button', { name: 'Take away' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Take away' }).click();
    assert.ok((await waiter).token > given.token);
    await page.getByRole('cell', { name: 'host-b' }).waitFor();
    await call(scheduler.address, 'DELETE', 'locks/ledger');
    await page.getByText('Nobody holds a lock').waitFor();
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

test('the browser had nothing to complain about', () => {
    assert.deepEqual(browser.complaints, []);
});
