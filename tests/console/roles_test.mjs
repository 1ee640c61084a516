// What somebody may do, said before it is tried; and who did what.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { call, makeFolder, openBrowser, startScheduler, until } from './support.mjs';

let place;
let scheduler;
let browser;
let page;
const tokens = {};

before(async () => {
    place = makeFolder();
    scheduler = await startScheduler(`file:${place.folder}/data`);
    const first = await until('the first token is made', () =>
        call(scheduler.address, 'POST', 'tokens', { name: 'boss', role: 'admin' }),
    );
    tokens.admin = { Authorization: `Bearer ${first.token}` };
    tokens.text = { admin: first.token };
    const guest = { name: 'guest', role: 'viewer' };
    tokens.text.viewer = (await call(scheduler.address, 'POST', 'tokens', guest, tokens.admin)).token;
    const task = { id: 'nightly', name: 'nightly', type: 'echo', cron_expression: '0 2 * * *' };
    await call(scheduler.address, 'POST', 'tasks', task, tokens.admin);
    await call(scheduler.address, 'PATCH', 'tasks/nightly', { priority: 9 }, tokens.admin);
    browser = await openBrowser();
    page = browser.page;
});

after(async () => {
    await browser?.close();
    await scheduler?.stop();
    place?.remove();
});

async function signIn(role) {
    await page.goto(`${scheduler.address}/tasks`);
    await page.getByLabel('Access token').fill(tokens.text[role]);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Tasks', exact: true }).waitFor();
}

test('a viewer sees who is signed in, and that nothing can be changed', async () => {
    await signIn('viewer');
    await page.getByTestId('who').getByText('guest · viewer').waitFor();
    const create = page.getByRole('button', { name: 'New task' }).first();
    assert.equal(await create.isDisabled(), true);
    assert.equal(await create.getAttribute('title'), 'Needs the role operator');
    assert.equal(await page.getByRole('link', { name: 'Audit' }).count(), 0);
    await page.getByRole('link', { name: 'nightly' }).click();
    for (const name of ['Run now', 'Edit', 'Pause', 'Delete'])
        assert.equal(await page.getByRole('button', { name }).isDisabled(), true, name);
});

test('a viewer changes no settings, and takes no audit away', async () => {
    await page.goto(`${scheduler.address}/settings`);
    const reset = page.getByRole('button', { name: 'Reset' });
    await reset.waitFor();
    await page.getByTestId('who').getByText('guest · viewer').waitFor();
    assert.equal(await reset.isDisabled(), true);
    assert.equal(await reset.getAttribute('title'), 'Needs the role operator');
    const strategy = page.getByRole('combobox', { name: 'Load balancing' });
    await strategy.waitFor();
    assert.equal(await strategy.isDisabled(), true);
    await page.getByTitle('Needs the role operator').and(page.locator('.ant-select')).waitFor();
    await page.goto(`${scheduler.address}/audit`);
    const save = page.getByRole('button', { name: 'Export as JSON lines' });
    await save.waitFor();
    await page.getByTestId('who').getByText('guest · viewer').waitFor();
    assert.equal(await save.isDisabled(), true);
    assert.equal(await save.getAttribute('title'), 'Needs the role admin');
    // It leaves for another page: one that is opened before that has come would be given up.
    const left = page.waitForEvent('load');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await left;
});

test('an administrator reads who changed what, as it was and as it is', async () => {
    await signIn('admin');
    assert.equal(await page.getByRole('button', { name: 'New task' }).first().isDisabled(), false);
    await page.getByRole('link', { name: 'Audit' }).click();
    await page.getByRole('searchbox', { name: 'Target' }).fill('nightly');
    await page.keyboard.press('Enter');
    await page.waitForURL(/target=nightly/);
    const row = page.locator('.ant-table-row', { hasText: 'patch_v1_tasks_id' });
    await row.getByText('boss').waitFor();
    await row.locator('.ant-table-row-expand-icon').click();
    const priority = page.getByTestId('changed').getByRole('row', { name: /priority/ });
    assert.deepEqual(await priority.getByRole('cell').allTextContents(), ['5', '9']);
});

test('the audit is exported as lines, by the filters that are set', async () => {
    const waiting = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export as JSON lines' }).click();
    const lines = readFileSync(await (await waiting).path(), 'utf8')
        .trim()
        .split('\n');
    const entries = lines.map((line) => JSON.parse(line));
    assert.ok(entries.length >= 2);
    assert.ok(entries.every(({ target }) => target.id === 'nightly'));
});

test('the browser complained about nothing but the calls without a token, or without the role', () => {
    assert.deepEqual(
        browser.complaints.filter((text) => !/40[13]/.test(text)),
        [],
    );
});
