// Alerts by an operator who has nothing but the console: a channel, a rule for one task, what fired and with which value.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { call, openBrowser, openConsole, until } from './support.mjs';

let scheduler;
let browser;
let page;
let close;
let receiver;
const heard = []; // What the webhook was sent.

before(async () => {
    ({ scheduler, browser, page, close } = await openConsole());
    receiver = createServer((request, response) => {
        let body = '';
        request.on('data', (part) => (body += part));
        request.on('end', () => {
            heard.push({ headers: request.headers, body: JSON.parse(body) });
            response.end('{}');
        });
    });
    await new Promise((resolve) => receiver.listen(0, '127.0.0.1', resolve));
});
after(async () => {
    receiver?.close();
    await close?.();
});

const hook = () => `http://127.0.0.1:${receiver.address().port}/very-secret-path`;
const dialog = () => page.getByRole('dialog');
const rowOf = (name) => page.locator('tr.ant-table-row:visible', { hasText: name });

test('a channel is made and tested, and its secrets are never shown again', async () => {
    await page.goto(`${scheduler.address}/alerts?tab=channels`);
    await page.getByText('changed there').waitFor();
    // The configuration's own can be tested, not changed.
    assert.equal(await rowOf('log').getByRole('button', { name: 'Edit' }).count(), 0);
    await page.getByRole('button', { name: 'New channel' }).click();
    await dialog().getByLabel('Name').fill('ops');
    await dialog().getByLabel('URL').fill(hook());
    await dialog().getByLabel('Secret', { exact: true }).fill('s3cret');
    await dialog().getByRole('button', { name: 'Save and send a test' }).click();
    await page.getByText('A test was sent to “ops”').waitFor();
    await rowOf('ops').getByText('delivered', { exact: true }).waitFor();
    assert.equal(heard.length, 1);
    assert.equal(heard[0].body.test, true);
    assert.match(heard[0].headers['x-takt-signature'], /^sha256=/);
    // Neither on the page, nor in what it was sent.
    await rowOf('ops').getByRole('button', { name: 'Edit: ops' }).click();
    await dialog().getByText('Edit “ops”').waitFor();
    assert.equal(await dialog().getByLabel('URL').inputValue(), '');
    assert.equal(await dialog().getByLabel('Secret', { exact: true }).inputValue(), '');
    const sent = JSON.stringify(await call(scheduler.address, 'GET', 'alert-channels'));
    assert.doesNotMatch((await page.content()) + sent, /very-secret|s3cret/);
    // Saved without typing them they stay.
    await dialog().getByRole('button', { name: 'Save', exact: true }).click();
    await dialog().waitFor({ state: 'hidden' });
    await rowOf('ops').getByRole('button', { name: 'Send a test: ops' }).click();
    await until('it is told again', async () => heard.length === 2);
    assert.match(heard[1].headers['x-takt-signature'], /^sha256=/);
});

test('a rule for one task fires, tells the channel, and leads to the task', async () => {
    for (const id of ['bad', 'worse']) {
        const fields = { id, name: `The ${id} one`, type: 'fail', interval: '1h', max_retry: 0 };
        await call(scheduler.address, 'POST', 'tasks', fields);
    }
    await page.goto(`${scheduler.address}/alerts?tab=rules`);
    await page.getByRole('button', { name: 'New rule' }).first().click();
    await dialog().getByLabel('Name').fill('bad_fails');
    await dialog().getByLabel('Metric').fill('task_failed_runs');
    await page.keyboard.press('Enter');
    await dialog().getByRole('combobox', { name: 'each of them' }).fill('bad');
    await page.locator('.ant-select-item-option', { hasText: 'The bad one' }).click();
    await dialog().getByLabel('Threshold').fill('0');
    await dialog().getByLabel('For at least').fill('0s');
    await dialog().getByRole('button', { name: 'Save' }).click();
    await rowOf('bad_fails').getByText('bad: ').waitFor();
    for (const id of ['worse', 'bad']) await call(scheduler.address, 'POST', `tasks/${id}/trigger`, {});
    await page.getByRole('tab', { name: /Active/ }).click();
    const alert = rowOf('bad_fails');
    await alert.getByText('Firing').waitFor();
    assert.equal(await rowOf('bad_fails').count(), 1, 'the other task is none of its business');
    await until('the channel is told', async () =>
        heard.some(({ body }) => body.alert.rule === 'bad_fails' && body.alert.firing_value === 1),
    );
    await alert.getByRole('link', { name: 'Task: The bad one' }).click();
    await page.getByRole('heading', { name: 'The bad one' }).waitFor();
    // The overview says what is hit, too.
    await page.goto(scheduler.address);
    await page.getByTestId('firing').getByText('bad_fails (The bad one)').waitFor();
});

test('a threshold that says nothing is refused beside its field, in percent', async () => {
    await page.goto(`${scheduler.address}/alerts?tab=rules`);
    await rowOf('high_task_failure_rate').getByText('above 10.0 %').waitFor();
    await page.getByRole('button', { name: 'New rule' }).first().click();
    await dialog().getByLabel('Name').fill('nonsense');
    await dialog().getByLabel('Metric').fill('task_failure_rate');
    await page.keyboard.press('Enter');
    await dialog().getByLabel('Threshold').fill('100');
    await dialog().getByRole('button', { name: 'Save' }).click();
    await dialog().getByText('This can never happen').waitFor();
    await dialog().getByRole('button', { name: 'Cancel' }).click();
});

test('two people change a rule: who saves last undoes nothing, and is told', async () => {
    const body = { metric: 'tasks_pending', operator: '>', threshold: 10 };
    await call(scheduler.address, 'PUT', 'alert-rules/deep', body);
    await page.goto(`${scheduler.address}/alerts?tab=rules`);
    await rowOf('deep').getByRole('button', { name: 'More: deep' }).click();
    await page.getByRole('menuitem', { name: 'Edit' }).click();
    await dialog().getByLabel('Threshold').fill('20');
    await call(scheduler.address, 'PUT', 'alert-rules/deep', { ...body, threshold: 30 });
    await dialog().getByRole('button', { name: 'Save' }).click();
    await dialog().getByText('Somebody changed “deep” meanwhile').waitFor();
    assert.equal((await call(scheduler.address, 'GET', 'alert-rules/deep')).threshold, 30);
    await dialog().getByRole('button', { name: 'Cancel' }).click();
});

test('a channel is deleted once no rule needs it', async () => {
    const rule = { metric: 'tasks_pending', operator: '>', threshold: 10, channels: ['ops'] };
    await call(scheduler.address, 'PUT', 'alert-rules/deep', rule);
    await page.goto(`${scheduler.address}/alerts?tab=channels`);
    const remove = async () => {
        await rowOf('ops').getByRole('button', { name: 'Delete: ops' }).click();
        await dialog().getByRole('button', { name: 'Delete' }).click();
        // A question that is still going away takes the next click on its button, and does nothing.
        await dialog().waitFor({ state: 'hidden' });
    };
    await remove();
    await page.getByText('is named by rule').waitFor();
    await call(scheduler.address, 'DELETE', 'alert-rules/deep');
    await remove();
    await page.getByText('“ops” is deleted').waitFor();
    await rowOf('ops').waitFor({ state: 'detached' });
});

test('the page of channels can be read in Chinese, on a phone', async () => {
    const own = await openBrowser({ viewport: { width: 390, height: 844 }, locale: 'zh-CN' });
    try {
        await own.page.goto(`${scheduler.address}/alerts?tab=channels`);
        await own.page.getByRole('button', { name: '新建通道' }).click();
        const form = own.page.getByRole('dialog');
        await form.getByText('邮件').click();
        await form.getByLabel('邮件服务器').waitFor();
        assert.doesNotMatch((await form.innerText()).replace('Webhook', ''), /[A-Za-z]{4,}/);
    } finally {
        await own.close();
    }
});

test('the browser had nothing to complain about', () => {
    // The refusals that the tests ask for.
    const expected = /status of (409|412)/;
    assert.deepEqual(
        browser.complaints.filter((text) => !expected.test(text)),
        [],
    );
});
