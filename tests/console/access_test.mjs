// A scheduler that asks for tokens.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { call, makeFolder, openBrowser, startScheduler, until } from './support.mjs';

let place;
let scheduler;
let browser;
let page;
let token;

before(async () => {
    place = makeFolder();
    scheduler = await startScheduler(`file:${place.folder}/data`);
    const made = await until('the first token is made', () =>
        call(scheduler.address, 'POST', 'tokens', { name: 'me', role: 'admin' }),
    );
    token = made.token;
    browser = await openBrowser();
    page = browser.page;
});

after(async () => {
    await browser?.close();
    await scheduler?.stop();
    place?.remove();
});

test('who has no token is asked for one, and a wrong one is refused', async () => {
    await page.goto(`${scheduler.address}/tasks`);
    await page.getByLabel('Access token').fill('takt_admin_wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').filter({ hasText: 'the token is not known' }).waitFor();
});

test('the right token opens the page that was asked for, and the live feed', async () => {
    await page.getByLabel('Access token').fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Tasks', exact: true }).waitFor();
    await page.locator('[data-live="live"]').waitFor();
    // A task that somebody else creates appears without a reload: the stream carries the token too.
    await call(
        scheduler.address,
        'POST',
        'tasks',
        { name: 'from elsewhere', type: 'echo', interval: '1s' },
        { Authorization: `Bearer ${token}` },
    );
    await page.getByRole('link', { name: 'from elsewhere' }).waitFor();
});

test('after signing out the token is gone from the browser', async () => {
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Access token').waitFor();
    const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]));
    assert.ok(!kept.includes(token));
});

test('a page of another site cannot change anything', async () => {
    const response = await fetch(`${scheduler.address}/api/v1/tasks`, {
        method: 'POST',
        headers: {
            'Content-Type': 'application/json',
            Origin: 'http://elsewhere.example',
            Authorization: `Bearer ${token}`,
        },
        body: JSON.stringify({ name: 'n' }),
    });
    assert.equal(response.status, 403);
    assert.equal((await response.json()).code, 'origin_refused');
});

test('the browser complained about nothing but the calls without a token', () => {
    assert.deepEqual(
        browser.complaints.filter((text) => !text.includes('401')),
        [],
    );
});
