// What a newcomer does first: a task that fires by itself, and looking at what it does.
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

test('a cron task is created with a preview, fires by itself, and its log can be read', async () => {
    // A newcomer opens the console and wants to see something run.
    await page.goto(`${scheduler.address}/`);
    await page.getByRole('link', { name: 'Tasks' }).first().click();
    await page.getByRole('button', { name: 'New task' }).first().click();
    await page.getByRole('dialog').getByLabel('Name', { exact: true }).fill('heartbeat');
    await page.getByRole('dialog').getByLabel('Type', { exact: true }).fill('log');
    await page.getByLabel('Cron expression').fill('0 2 * * FOO');
    await page.getByRole('alert').filter({ hasText: "'FOO' is no name of a day" }).waitFor();
    await page.getByLabel('Cron expression').fill('* * * * * *');
    await page.getByTestId('preview').filter({ hasText: 'every second' }).waitFor();
    await page.getByLabel('Parameters').fill('{"lines": 4}');
    await page.getByRole('button', { name: 'Create' }).click();

    // The page of the new task, where runs appear without a reload.
    await page.getByRole('heading', { name: 'heartbeat' }).waitFor();
    await page.locator('.badge', { hasText: 'Success' }).first().waitFor();
    await page.locator('.ant-table-row a').first().click();
    await page.getByTestId('log').getByText('line 4 of 4').waitFor();
});

test('a task is edited, paused, run now with other parameters, and deleted', async () => {
    // Somebody looks after a job that is already there.
    await call(scheduler.address, 'POST', 'tasks', {
        id: 'nightly',
        name: 'nightly',
        type: 'echo',
        cron_expression: '0 2 * * *',
        parameters: { full: false },
    });
    await page.goto(`${scheduler.address}/tasks/nightly`);
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Cron expression').fill('0 3 * * *');
    await page.getByRole('button', { name: 'Save' }).click();
    await until(
        'the schedule is saved',
        async () => (await call(scheduler.address, 'GET', 'tasks/nightly')).cron_expression === '0 3 * * *',
    );

    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
    await page.locator('.page-header .badge', { hasText: 'Paused' }).waitFor();

    await page.getByRole('button', { name: 'Run now' }).click();
    await page.getByRole('dialog').getByLabel('Parameters').fill('{"full": true}');
    await page.getByRole('dialog').getByRole('button', { name: 'Run now' }).click();
    await page.waitForURL(/\/executions\//);
    await page.locator('.page-header .badge', { hasText: 'Success' }).waitFor();
    await page.getByText('"full": true').first().waitFor();

    await page.goto(`${scheduler.address}/tasks/nightly`);
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.waitForURL(/\/tasks$/);
    await until('it is gone', async () =>
        (await call(scheduler.address, 'GET', 'tasks')).items.every(({ id }) => id !== 'nightly'),
    );
});

test('a large number stays as it was written, shown, run and edited', async () => {
    // The id of a row in somebody's database; the nearest double is another row.
    const number = '9007199254740993';
    const send = (method, path, body) =>
        fetch(`${scheduler.address}/api/v1/${path}`, {
            method,
            headers: { 'Content-Type': 'application/json' },
            body,
        });
    const sent = (method) => page.waitForRequest((request) => request.method() === method);
    const fields = `{"id":"exact","name":"exact","type":"echo","interval":"1h","parameters":{"row":${number},"share":1.0}}`;
    assert.equal((await send('POST', 'tasks', fields)).status, 201);
    await page.goto(`${scheduler.address}/tasks/exact`);
    await page.locator('.code-box').getByText(number).waitFor();
    const run = async (change) => {
        await page.getByRole('button', { name: 'Run now' }).click();
        await change(page.getByRole('dialog').getByLabel('Parameters'));
        const request = sent('POST');
        await page.getByRole('dialog').getByRole('button', { name: 'Run now' }).click();
        const body = (await request).postData();
        await page.locator('.page-header .badge', { hasText: 'Success' }).waitFor();
        return body;
    };
    // As it is: nothing is sent that could differ from what the task has.
    assert.equal(await run(async () => {}), '{"force":false}');
    // The result, and below it the parameters.
    assert.equal(await page.locator('.code-box').getByText(`"row": ${number}`).count(), 2);

    await page.goto(`${scheduler.address}/tasks/exact`);
    await run((field) => field.fill(`{"row": ${number}, "twice": true}`));
    assert.equal(await page.locator('.code-box').getByText(`"row": ${number}`).count(), 2);

    await page.goto(`${scheduler.address}/tasks/exact`);
    await page.getByRole('button', { name: 'Edit' }).click();
    const field = page.getByRole('dialog').getByLabel('Parameters');
    await field.fill((await field.inputValue()).replace('1.0', '2.0'));
    await page.getByRole('button', { name: 'Save' }).click();
    await until('it is saved', async () => {
        const text = await (await fetch(`${scheduler.address}/api/v1/tasks/exact`)).text();
        return text.includes('2.0') && text.includes(number);
    });
});

test('two people edit a task: who saves last undoes nothing, and is told', async () => {
    // While one has the form open, another one makes the task urgent; the page itself reads that at once.
    const address = 'tasks/shared';
    await call(scheduler.address, 'POST', 'tasks', {
        id: 'shared',
        name: 'shared',
        type: 'echo',
        cron_expression: '0 2 * * *',
    });
    await page.goto(`${scheduler.address}/${address}`);
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Cron expression').fill('0 3 * * *');
    await call(scheduler.address, 'PATCH', address, { priority: 9 });
    await call(scheduler.address, 'POST', `${address}/trigger`, {});
    const told = page.getByRole('alert').filter({ hasText: 'Somebody changed this task' });
    await told.waitFor();
    const refused = page.waitForResponse((response) => response.request().method() === 'PATCH');
    await page.getByRole('button', { name: 'Save' }).click();
    assert.equal((await refused).status(), 412);
    await told.waitFor();
    const { priority, cron_expression } = await call(scheduler.address, 'GET', address);
    assert.deepEqual({ priority, cron_expression }, { priority: 9, cron_expression: '0 2 * * *' });

    // Opened again, it shows how the task is now, and can be saved.
    await page.getByRole('button', { name: 'Back', exact: true }).click();
    await page.getByRole('button', { name: 'Edit' }).click();
    assert.equal(await page.getByLabel('Priority').inputValue(), '9');
    await page.getByLabel('Cron expression').fill('0 4 * * *');
    await page.getByRole('button', { name: 'Save' }).click();
    await until(
        'it is saved',
        async () => (await call(scheduler.address, 'GET', address)).cron_expression === '0 4 * * *',
    );
    assert.equal((await call(scheduler.address, 'GET', address)).priority, 9);
});

test('the number of retries is emptied and is the default again; the rest of the policy stays', async () => {
    const address = 'tasks/patient';
    await call(scheduler.address, 'POST', 'tasks', {
        id: 'patient',
        name: 'patient',
        type: 'echo',
        interval: '1h',
        retry_policy: { max_retries: 42, delay: '20s', backoff_rate: 3 },
    });
    await page.goto(`${scheduler.address}/${address}`);
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByText('Retries, limits, placement').click();
    await page.getByLabel('Retries', { exact: true }).fill('');
    await page.getByRole('button', { name: 'Save' }).click();
    const { retry_policy } = await until('it is saved', async () => {
        const task = await call(scheduler.address, 'GET', address);
        return task.max_retry !== 42 && task;
    });
    assert.equal(retry_policy.max_retries, 3);
    assert.equal(retry_policy.delay, '20s');
    assert.equal(retry_policy.backoff_rate, 3);
});

test('names that are markup are shown as text', async () => {
    // Whoever may submit tasks must not get hold of an operator's browser.
    const hostile = '<img src=x onerror="document.title=\'taken\'"><script>alert(1)</script>';
    await call(scheduler.address, 'POST', 'tasks', {
        id: 'hostile',
        name: hostile,
        type: 'fail',
        interval: '1h',
        parameters: { text: hostile },
    });
    const { id } = await call(scheduler.address, 'POST', 'tasks/hostile/trigger', {});
    for (const path of ['/', '/tasks', '/tasks/hostile', '/executions', `/executions/${id}`]) {
        await page.goto(scheduler.address + path);
        await page.getByText('<img src=x').first().waitFor();
        assert.equal(await page.locator('img[src="x"]').count(), 0, path);
        assert.doesNotMatch(await page.title(), /^taken/, path);
    }
    await page.keyboard.press('Control+k');
    await page.getByPlaceholder('Pages, tasks').fill('<img');
    // The task and its run: both are there once the search has answered, which the first list need not have.
    await page.getByRole('option').filter({ hasText: '<img src=x' }).nth(1).waitFor();
    assert.equal(await page.locator('img[src="x"]').count(), 0, 'search');
    await page.keyboard.press('Escape');
});

test('the browser had nothing to complain about', () => {
    // But for the answers that were asked for: to a wrong cron expression, about a deleted task, and to who
    // was overtaken.
    const expected = /400 .*\/tasks\/preview|404 .*\/tasks\/nightly|412 .*\/tasks\/shared/;
    assert.deepEqual(
        browser.complaints.filter((text) => !expected.test(text)),
        [],
    );
});
