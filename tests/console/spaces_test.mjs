// Namespaces: the pages of each, the way from one to another, and looking after them.
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

const led = (name) =>
    until(
        `${name} has a leader`,
        async () => (await call(scheduler.address, 'GET', `namespaces/${name}`)).leader,
    );

test('who has one namespace sees nothing of them', async () => {
    await page.goto(`${scheduler.address}/tasks`);
    await page.getByText('There are no recurring tasks yet').waitFor();
    assert.equal(await page.getByRole('combobox', { name: 'Namespace' }).count(), 0);
});

test('a namespace is made, with quotas; a name that cannot be is refused beside its field', async () => {
    await page.goto(`${scheduler.address}/namespaces`);
    await page.getByRole('button', { name: 'New namespace' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Namespace').fill('Not This');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.locator('.ant-form-item-explain-error').first().waitFor();
    await dialog.getByLabel('Namespace').fill('billing');
    await dialog.getByLabel('Workers').fill('20');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.locator('.ant-table-row', { hasText: 'billing' }).getByText('20').waitFor();
    const { quotas } = await call(scheduler.address, 'GET', 'namespaces/billing');
    assert.deepEqual(
        { workers: quotas.workers, retention: quotas.retention },
        { workers: 20, retention: null },
    );
});

test('quotas are changed, and taken away by emptying the field', async () => {
    await page.getByRole('button', { name: 'Quotas: billing' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Workers').fill('');
    await dialog.getByLabel('Submits per second').fill('500');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await until('they are changed', async () => {
        const { quotas } = await call(scheduler.address, 'GET', 'namespaces/billing');
        return quotas.workers === null && quotas.submits_per_second === 500;
    });
});

test('each namespace has its own pages, at addresses that can be sent to somebody', async () => {
    await led('billing');
    await call(scheduler.address, 'POST', 'tasks', { name: 'of default', type: 'echo', interval: '1h' });
    await call(scheduler.address, 'POST', 'namespaces/billing/tasks', {
        id: 'invoices',
        name: 'of billing',
        type: 'echo',
        interval: '1h',
    });
    await page.goto(`${scheduler.address}/tasks`);
    await page.getByRole('link', { name: 'of default' }).waitFor();
    await page.locator('.space-switch').click();
    await page.locator('.ant-select-item-option', { hasText: 'billing' }).click();
    await page.waitForURL(/\/ns\/billing\//);
    await page.getByRole('link', { name: 'Tasks' }).first().click();
    await page.getByRole('link', { name: 'of billing' }).click();
    await page.waitForURL(/\/ns\/billing\/tasks\/invoices$/);
    await page.getByRole('heading', { name: 'of billing' }).waitFor();
    assert.match(await page.title(), /billing/);

    // What happens there arrives by its own stream, without a reload.
    await page.goto(`${scheduler.address}/ns/billing/executions`);
    await page.locator('[data-live="live"]').waitFor();
    const run = await call(scheduler.address, 'POST', 'namespaces/billing/tasks/invoices/trigger', {});
    await page.getByRole('link', { name: 'of billing' }).waitFor();
    assert.equal(await page.getByText('of default').count(), 0);
    await page.goto(`${scheduler.address}/ns/billing/executions/${run.id}`);
    await page.getByText('No worker is connected').waitFor();
});

test('a namespace is deleted only after its name was typed', async () => {
    await page.goto(`${scheduler.address}/namespaces`);
    await page.getByRole('button', { name: 'Delete: billing' }).click();
    const dialog = page.getByRole('dialog');
    const go = dialog.getByRole('button', { name: 'Delete' });
    await dialog.getByLabel('Type billing to go on').fill('billin');
    assert.equal(await go.isDisabled(), true);
    await dialog.getByLabel('Type billing to go on').fill('billing');
    await go.click();
    await until('it is gone', async () =>
        (await call(scheduler.address, 'GET', 'namespaces')).items.every(({ name }) => name !== 'billing'),
    );
    await page.locator('.ant-table-row', { hasText: 'billing' }).waitFor({ state: 'detached' });
    assert.equal(await page.getByRole('button', { name: 'Delete: default' }).count(), 0);
});

test('the browser had nothing to complain about', () => {
    // But for the name that was refused, and what is asked of a namespace while it is made or goes.
    const expected = /400 .*\/namespaces\)|(404|503) .*\/namespaces\/billing\//;
    assert.deepEqual(
        browser.complaints.filter((text) => !expected.test(text)),
        [],
    );
});
