// Lists that hold still, and finding things in them: without a person's having to know ids.
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
const rows = () => page.locator('.ant-table-tbody tr.ant-table-row');
const firstRow = () => rows().first().textContent();

test('new executions are announced, and do not move what a person points at', async () => {
    await submit({ id: 'old-1', name: 'old one', type: 'echo' });
    await page.goto(`${scheduler.address}/executions`);
    await page.getByRole('link', { name: 'old one' }).waitFor();
    const before = await rows().count();
    for (const number of [1, 2, 3]) await submit({ id: `fresh-${number}`, name: 'fresh', type: 'echo' });
    await page.getByRole('button', { name: '3 new' }).waitFor();
    assert.equal(await rows().count(), before, 'no row was pushed');
    assert.match(await firstRow(), /old one/);
    await page.getByRole('button', { name: '3 new' }).click();
    await until('the new rows are shown', async () => /fresh/.test(await firstRow()));
    await page.getByRole('button', { name: /new$/ }).waitFor({ state: 'detached' });
});

test('what holds still is still kept up to date', async () => {
    await submit({ id: 'sleeper', name: 'sleeper', type: 'nobody-runs-this' });
    await page.goto(`${scheduler.address}/executions?task_id=sleeper`);
    await page.locator('tr', { hasText: 'sleeper' }).getByText('Pending').waitFor();
    await call(scheduler.address, 'POST', 'executions/sleeper/cancel');
    await page.locator('tr', { hasText: 'sleeper' }).locator('.badge', { hasText: 'Cancelled' }).waitFor();
});

test('executions are found by name without regard to case, by metadata and by error', async () => {
    await submit({ id: 'inv', name: 'Send Invoices', type: 'echo', metadata: { team: 'billing' } });
    await submit({ id: 'bad', name: 'import', type: 'fail', max_retry: 0 });
    await until('it failed', async () => {
        return (await call(scheduler.address, 'GET', 'executions/bad')).status === 'failed';
    });
    await page.goto(`${scheduler.address}/executions`);
    const field = page.getByPlaceholder('Name, id, parameters, error…');
    await field.fill('send inv');
    await field.press('Enter');
    await page.waitForURL(/search=send/);
    await until('one row is left', async () => (await rows().count()) === 1);
    await until('found by its name', async () => /Send Invoices/.test(await firstRow()));
    await field.fill('failing on purpose');
    await field.press('Enter');
    await until('found by its error', async () => /import/.test(await firstRow()));
    await page.getByRole('button', { name: 'Clear filters' }).click();
    // A filter that is chosen before that is done comes beside the old ones.
    await until('the filters are clear', async () => (await field.inputValue()) === '');
    await page.getByLabel('Metadata', { exact: true }).fill('team=billing');
    await page.getByLabel('Metadata', { exact: true }).press('Enter');
    // The row of the search before stays until this one is answered.
    await until('found by its metadata', async () => /Send Invoices/.test(await firstRow()));
    assert.equal(await rows().count(), 1);
    await page.getByRole('link', { name: 'Send Invoices' }).click();
    await page.getByText('team=billing').waitFor();
});

test('Ctrl K finds executions by words, and opens all of them', async () => {
    await page.goto(`${scheduler.address}/`);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.locator('.search input:focus').waitFor();
    await page.keyboard.type('invoices');
    await page.getByRole('option', { name: /Send Invoices.*inv/ }).waitFor();
    await page.getByRole('option', { name: /all executions with this text/ }).click();
    await page.waitForURL(/executions\?search=invoices/);
});

test('tabs tell how many there are in each state, and choose it', async () => {
    await page.goto(`${scheduler.address}/executions?search=sleeper`);
    const tab = (name) => page.locator('.state-tab', { hasText: name });
    await until('they are counted', async () => /1/.test(await tab('Cancelled').textContent()));
    assert.match(await tab('Pending').textContent(), /0/);
    await tab('Cancelled').click();
    await page.waitForURL(/status=cancelled/);
    await until('it is chosen', async () => (await tab('Cancelled').getAttribute('aria-pressed')) === 'true');
    await until('one row is left', async () => (await rows().count()) === 1);
});

test('filters offer what there is', async () => {
    await page.goto(`${scheduler.address}/executions`);
    await page.getByRole('combobox', { name: 'Type' }).click();
    await page.locator('.ant-select-item', { hasText: 'echo' }).first().click();
    await page.waitForURL(/type=echo/);
    await page.getByRole('combobox', { name: 'Worker' }).click();
    const { name } = (await call(scheduler.address, 'GET', 'workers')).items[0];
    await page.locator('.ant-select-item', { hasText: name }).first().click();
    await page.waitForURL(/worker_id=/);
});

test('a refused filter shows no rows of another one', async () => {
    // Somebody types a name where an id belongs; what is shown then must not be acted upon.
    await page.goto(`${scheduler.address}/executions`);
    await rows().first().waitFor();
    const complaints = browser.complaints.length;
    // Without loading the page anew: what it has shown before is still there.
    await page.evaluate(() => {
        window.history.pushState({}, '', '/executions?task_id=Send%20invoices');
        window.dispatchEvent(new window.PopStateEvent('popstate'));
    });
    await page.getByText('is not right').first().waitFor();
    assert.equal(await rows().count(), 0);
    browser.complaints.length = complaints; // The browser tells of the refusal.
});

test('older pages lead back to newer ones, and Back to the same place', async () => {
    const tasks = Array.from({ length: 120 }, (_, index) => ({
        id: `many-${String(index).padStart(3, '0')}`,
        name: 'many',
        type: 'nobody-runs-this',
    }));
    await call(scheduler.address, 'POST', 'tasks/bulk', tasks);
    await page.goto(`${scheduler.address}/executions?search=many-`);
    await until('the first page', async () => /many-119/.test(await firstRow()));
    await page.getByRole('button', { name: 'Older' }).click();
    await until('the second page', async () => /many-069/.test(await firstRow()));
    assert.equal(await page.evaluate(() => window.scrollY), 0, 'a page begins at its top');
    await page.getByRole('button', { name: 'Newer' }).click();
    await until('the first page again', async () => /many-119/.test(await firstRow()));

    await page.evaluate(() => window.scrollTo(0, 900));
    await until('it is scrolled', async () => (await page.evaluate(() => window.scrollY)) > 800);
    await page.locator('tr', { hasText: 'many-100' }).getByRole('link').first().click();
    await page.waitForURL(/executions\/many-100/);
    await page.goBack();
    await until('Back leads to where it was', async () => {
        return (await page.evaluate(() => window.scrollY)) > 800;
    });
    await call(scheduler.address, 'POST', 'executions/cancel', { search: 'many-' });
});

test('tasks tell how they fare, are put in order, and are paused together', async () => {
    await submit({ id: 'a-good', name: 'Alpha', type: 'echo', interval: '1h' });
    await submit({ id: 'b-bad', name: 'beta', type: 'fail', interval: '1h', max_retry: 0 });
    await submit({ id: 'c-lost', name: 'Gamma', type: 'nobody-runs-this', interval: '1h', queue: 'odd' });
    for (const id of ['a-good', 'b-bad', 'c-lost'])
        await call(scheduler.address, 'POST', `tasks/${id}/trigger`, {});
    await page.goto(`${scheduler.address}/tasks`);
    const row = (name) => page.locator('tr.ant-table-row', { hasText: name });
    await row('Alpha').getByText('Success').waitFor();
    await row('beta').getByText('Failed').waitFor();
    await row('Gamma').getByText('no worker runs it').waitFor();
    await until('it is by name', async () => /Alpha/.test(await firstRow()));
    await page.getByRole('columnheader', { name: 'Name' }).click();
    await page.waitForURL(/sort=-name/);
    await until('the order is turned', async () => /Gamma/.test(await firstRow()));

    await page.getByRole('combobox', { name: 'Queue' }).click();
    await page.locator('.ant-select-item', { hasText: 'odd' }).first().click();
    await until('one task is left', async () => (await rows().count()) === 1);
    await page.goto(`${scheduler.address}/tasks?search=ALPHA`);
    await until('found without regard to case', async () => (await rows().count()) === 1);

    await page.goto(`${scheduler.address}/tasks`);
    await row('beta').getByRole('checkbox').check();
    await row('Gamma').getByRole('checkbox').check();
    await page.getByRole('button', { name: 'Pause 2' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Pause 2' }).click();
    await row('beta').getByText('Paused').waitFor();
    await row('Gamma').getByText('Paused').waitFor();
    assert.equal((await call(scheduler.address, 'GET', 'tasks/c-lost')).enabled, false);
    assert.equal((await call(scheduler.address, 'GET', 'tasks/a-good')).enabled, true);
});

test('an execution that succeeded is run with other input, also if its task runs once', async () => {
    await submit({
        id: 'once-1',
        name: 'once with input',
        type: 'echo',
        parameters: { day: 9007199254740993n.toString() },
        metadata: { team: 'x' },
    });
    await until('it is over', async () => {
        return (await call(scheduler.address, 'GET', 'executions/once-1')).status === 'success';
    });
    await page.goto(`${scheduler.address}/executions/once-1`);
    await page.getByRole('button', { name: 'Run with other input' }).click();
    await page.getByRole('dialog').getByLabel('Parameters').fill('{"day": 9007199254740995}');
    await page.getByRole('dialog').getByRole('button', { name: 'Run now' }).click();
    await page.waitForURL((url) => !url.pathname.endsWith('once-1'));
    const id = new URL(page.url()).pathname.split('/').pop();
    const response = await fetch(`${scheduler.address}/api/v1/executions/${id}`);
    const text = await response.text();
    assert.match(text, /"parameters":\{"day": 9007199254740995\}/, 'letter by letter');
    assert.match(text, /"metadata":\{"team":"x"\}/, 'the rest as it was');
});

test('a worker and a queue have pages that say what runs there and why not', async () => {
    const { id, name } = (await call(scheduler.address, 'GET', 'workers')).items[0];
    await page.goto(`${scheduler.address}/workers/${id}`);
    await page.getByRole('heading', { name }).waitFor();
    await page.locator('.stat', { hasText: 'Duration P95' }).waitFor();
    await page.goto(`${scheduler.address}/workers/long-gone`);
    await page.getByText('This worker is not there any more').waitFor();

    await submit({ id: 'waits', name: 'waits', type: 'echo', queue: 'held' });
    await call(scheduler.address, 'POST', 'queues/held/pause');
    await page.goto(`${scheduler.address}/queues/held`);
    await page
        .getByTestId('why')
        .getByText(/paused/i)
        .waitFor();
    await page.locator('.ant-card', { hasText: 'Who serves it' }).getByRole('link', { name }).waitFor();
    await page
        .locator('.ant-card', { hasText: 'Newest executions' })
        .getByRole('link', { name: 'waits' })
        .waitFor();
});

// The canvas of a chart cannot be asked; what it is drawn from can.
test('the charts of a queue begin before the page was opened, and go back as far as is asked', async () => {
    await submit({ name: 'any', type: 'noop', queue: 'charted' });
    const asked = [];
    await page.route('**/api/v1/queues/charted/history*', async (route) => {
        asked.push(new URL(route.request().url()).searchParams.get('minutes'));
        const answer = await route.fetch();
        assert.equal(answer.status(), 200);
        await route.fulfill({ json: { ...(await answer.json()), kept: asked.at(-1) !== '15' } });
    });
    await page.goto(`${scheduler.address}/queues/charted`);
    for (const label of ['Waiting and running', 'Waiting time', 'Ended per minute'])
        await page.getByRole('img', { name: label }).locator('canvas').waitFor();
    assert.equal(asked[0], '60');
    await page.getByText('6 hours', { exact: true }).click();
    await until('six hours are read', async () => asked.includes('360'));
    assert.match(page.url(), /minutes=360/);
    await page.reload();
    await page.locator('.ant-segmented-item-selected', { hasText: '6 hours' }).waitFor();
    await page.getByText('15 min', { exact: true }).click();
    await page.getByText('Too many queues are at work').waitFor();
    await page.unroute('**/api/v1/queues/charted/history*');
});

test('an execution is found by a value in its parameters, also by its path', async () => {
    await submit({ id: 'o-1', name: 'Order', type: 'echo', parameters: { order: { id: 4711 } } });
    await submit({ id: 'o-2', name: 'Order', type: 'echo', parameters: { order: { id: 4712 } } });
    await page.goto(`${scheduler.address}/executions`);
    const rows = page.locator('tr.ant-table-row');
    await page.getByLabel('Parameters', { exact: true }).fill('order.id=4711');
    await page.keyboard.press('Enter');
    await until('one is left', async () => (await rows.count()) === 1);
    assert.match(await rows.first().textContent(), /o-1/);
    assert.match(page.url(), /parameters=order.id%3D4711/);
    await page.goto(`${scheduler.address}/executions?search=4712`);
    await until('the other one', async () => /o-2/.test(await rows.first().textContent()));
    assert.equal(await rows.count(), 1);
});

test('the pages complain of nothing', () => {
    const expected = /400 .*|404 .*workers\/long-gone/;
    assert.deepEqual(
        browser.complaints.filter((text) => !expected.test(text)),
        [],
    );
});
