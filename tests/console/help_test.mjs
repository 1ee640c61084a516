// The documentation in the console: opened from the menu, read by its links, in the reader's language.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { call, makeFolder, openBrowser, openConsole, startScheduler, until } from './support.mjs';

const docs = fileURLToPath(new URL('../../docs/', import.meta.url));

let scheduler;
let browser;
let page;
let close;

before(async () => {
    ({ scheduler, browser, page, close } = await openConsole());
});
after(() => close?.());

const heading = (name, level) => page.getByRole('heading', { name, level, exact: true });

test('the menu leads to all pages, and their links lead on to the heading that is meant', async () => {
    await page.goto(scheduler.address);
    await page.getByRole('link', { name: 'Documentation' }).click();
    await heading('Documentation', 1).waitFor();
    const all = page.locator('.help-all');
    // Each page of docs/ is there, also one that somebody adds.
    const names = ['', 'stores/'].flatMap((folder) =>
        readdirSync(docs + folder)
            .filter((name) => name.endsWith('.md'))
            .map((name) => `/help/${folder}${name.slice(0, -3)}`),
    );
    assert.ok(names.length > 30, 'there are pages');
    const links = await all
        .getByRole('link')
        .evaluateAll((found) => found.map((each) => each.getAttribute('href')));
    assert.deepEqual(links.sort(), names.sort());

    await all.getByRole('link', { name: 'Console', exact: true }).click();
    await heading('Console', 1).waitFor();
    await page.locator('article').getByRole('link', { name: 'events', exact: true }).click();
    await page.waitForURL(/\/help\/api#events$/);
    const events = page.locator('#events');
    await until('its heading is in sight', async () => {
        const { y } = await events.boundingBox();
        return y >= 0 && y < 900;
    });
    assert.ok(await page.evaluate(() => window.scrollY > 500), 'which is far down');
    await page.locator('.ant-menu-item-selected').getByText('Documentation').waitFor();
    assert.equal(await page.title(), `${await page.locator('h1').textContent()} · Takt`);

    await page.goBack();
    await heading('Console', 1).waitFor();
});

test('every link of every page leads to a page and a heading that are there', async () => {
    await page.goto(`${scheduler.address}/help`);
    await heading('Documentation', 1).waitFor();
    const paths = await page
        .locator('.help-all')
        .getByRole('link')
        .evaluateAll((found) => found.map((each) => each.getAttribute('href')));
    const ids = new Map();
    const wanted = [];
    for (const language of ['English', '中文']) {
        for (const path of paths) {
            await page.locator(`.help-list a[href="${path}"]`).click();
            await page.locator(`.help-beside a[href="${path}"][aria-current]`).waitFor();
            await page.locator('article').waitFor();
            const found = await page.locator('article').evaluate((article) => ({
                ids: [...article.querySelectorAll('[id]')].map(({ id }) => id),
                links: [...article.querySelectorAll('a[href^="/"], a[href^="#"]')].map((each) =>
                    each.getAttribute('href'),
                ),
            }));
            ids.set(path + language, new Set(found.ids));
            for (const link of found.links) wanted.push({ language, from: path, to: link });
        }
        await page.getByRole('button', { name: language === 'English' ? '切换到中文' : 'English' }).click();
    }
    assert.ok(wanted.length > 200, `${wanted.length} links`);
    const lost = wanted.filter(({ language, from, to }) => {
        const [path, hash] = to.split('#');
        // A page that has no translation names English headings; those of a translation are found by them.
        return !['English', language].some((each) => {
            const there = ids.get((path || from) + each);
            return there && (!hash || there.has(decodeURIComponent(hash)));
        });
    });
    assert.deepEqual(lost, []);
});

test('code, tables and what looks like HTML are shown as they are written', async () => {
    await page.goto(`${scheduler.address}/help/cron`);
    await page.locator('article table').first().waitFor();
    await page.goto(`${scheduler.address}/help/worker_protocol`);
    await page.locator('pre', { hasText: 'Authorization: Bearer <token>' }).first().waitFor();
    // Remarks for those who write the pages are for nobody else, and there are no pictures to show.
    await page.goto(`${scheduler.address}/help/alerts`);
    await page.locator('article table').first().waitFor();
    const text = await page.locator('article').textContent();
    assert.doesNotMatch(text, /<!--/);
    await page.goto(`${scheduler.address}/help/console`);
    await page.locator('article table').first().waitFor();
    assert.equal(await page.locator('article img').count(), 0);
});

test('a page is in the language of the reader, or says that it is not', async () => {
    const chinese = /^# (.+)$/m.exec(readFileSync(`${docs}zh/workflows.md`, 'utf8'))[1];
    await page.goto(`${scheduler.address}/help/workflows`);
    await page.locator('article[lang="en"]').waitFor();
    await page.getByRole('button', { name: '切换到中文' }).click();
    await heading(chinese, 1).waitFor();
    await page.locator('article[lang="zh-CN"]').waitFor();
    await page.goto(`${scheduler.address}/help/cron`);
    await page.getByText('此页只有英文版').waitFor();
    await page.locator('article[lang="en"]').waitFor();
    // From English into a translation: the same heading has another name there.
    await page.goto(`${scheduler.address}/help/cli`);
    await page.locator('article a[href="/help/definitions#export"]').first().click();
    const sections = /^## (.+)$/gm;
    const at = [...readFileSync(`${docs}definitions.md`, 'utf8').matchAll(sections)].findIndex(
        ([, title]) => title === 'Export',
    );
    const exported = page.locator('article h2').nth(at);
    await until('its heading is in sight', async () => {
        const { y } = await exported.boundingBox();
        return y >= 0 && y < 200;
    });
    assert.doesNotMatch(await exported.textContent(), /Export/);
    await page.getByRole('button', { name: 'Switch to English' }).click();
    await heading('Export', 2).waitFor();
});

test('an address without a page says so, and offers those that there are', async () => {
    await page.goto(`${scheduler.address}/help/no-such-page`);
    await page.getByText('The documentation has no such page').waitFor();
    await page.locator('.help-all').getByRole('link', { name: 'Console', exact: true }).waitFor();
});

test('who wonders what to write into a field is one click away from its page', async () => {
    const opened = async (click) => {
        const [tab] = await Promise.all([page.context().waitForEvent('page'), click()]);
        await tab.locator('article').waitFor();
        const { pathname } = new URL(tab.url());
        await tab.close();
        return pathname;
    };
    const link = page.getByRole('dialog').getByRole('link', { name: 'Documentation' });
    await page.goto(`${scheduler.address}/tasks?new=1`);
    assert.equal(await opened(() => link.click()), '/help/cron');
    await page.goto(`${scheduler.address}/alerts?tab=rules`);
    await page.getByRole('button', { name: 'New rule' }).first().click();
    assert.equal(await opened(() => link.click()), '/help/alerts');
    await page.goto(`${scheduler.address}/workers?tab=executors`);
    const empty = page.locator('.note').getByRole('link', { name: 'Documentation' });
    assert.equal(await opened(() => empty.click()), '/help/executors');
});

test('a token that is kept for one tab opens the page in its own tab too', async () => {
    const place = makeFolder();
    const guarded = await startScheduler(`file:${place.folder}/data`);
    const own = await openBrowser();
    try {
        const { token } = await until('the first token is made', () =>
            call(guarded.address, 'POST', 'tokens', { name: 'me', role: 'admin' }),
        );
        await own.page.goto(`${guarded.address}/workers`);
        await own.page.getByLabel('Access token').fill(token);
        await own.page.getByRole('button', { name: 'Sign in' }).click();
        const [tab] = await Promise.all([
            own.page.context().waitForEvent('page'),
            own.page.getByRole('link', { name: 'Python' }).click(),
        ]);
        await tab.locator('article').waitFor();
        await tab.locator('[data-live="live"]').waitFor();
        assert.equal(await tab.getByLabel('Access token').count(), 0);
    } finally {
        await own.close();
        await guarded.stop();
        place.remove();
    }
});

test('the browser had nothing to complain about', () => {
    assert.deepEqual(browser.complaints, []);
});
