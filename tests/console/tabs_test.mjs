// Many tabs, and a server that goes away: one stream serves all tabs, hidden ones cost nothing, and what was known
// stays until the server is back.
import assert from 'node:assert/strict';
import { createServer, request } from 'node:http';
import { after, before, test } from 'node:test';
import { call, freePort, makeFolder, openBrowser, startScheduler, until, whenLed } from './support.mjs';

let place;
let port;
let scheduler;
let browser;
let page;

const start = async () => {
    scheduler = await startScheduler(
        `file:${place.folder}/data`,
        '--with-worker',
        '--demo',
        '--listen',
        `127.0.0.1:${port}`,
    );
    await whenLed(scheduler.address);
};

before(async () => {
    place = makeFolder();
    port = await freePort();
    await start();
    browser = await openBrowser();
    page = browser.page;
});
after(async () => {
    await browser?.close();
    await scheduler?.stop();
    place?.remove();
});

test('twenty tabs load and are live, by one stream', async () => {
    const pages = [];
    // Those of a worker that tabs share are not of any page.
    const own = [];
    page.context().on('request', (request) => {
        if (request.url().includes('/events')) own.push(request.url());
    });
    for (let count = 0; count < 20; ++count) {
        const tab = await page.context().newPage();
        pages.push(tab);
        await tab.goto(`${scheduler.address}/tasks`);
        await tab.getByRole('heading', { name: 'Tasks' }).waitFor();
    }
    const last = pages[pages.length - 1];
    await last.getByText('Live', { exact: true }).waitFor();
    await call(scheduler.address, 'POST', 'tasks', {
        id: 'hour',
        name: 'hour',
        type: 'echo',
        interval: '1h',
    });
    await last.getByRole('link', { name: 'hour' }).waitFor();
    assert.deepEqual(own, [], 'no tab has a stream of its own');
    for (const tab of pages) await tab.close();
});

test('an outage is said once, what was known stays, and pages load after it', async () => {
    const rule = { metric: 'workers_online', operator: '>', threshold: 0, duration: '0s' };
    await call(scheduler.address, 'PUT', 'alert-rules/somebody', rule);
    await page.goto(scheduler.address);
    await page.getByTestId('firing').waitFor();
    await page.goto(`${scheduler.address}/tasks`);
    await page.getByRole('link', { name: 'hour' }).waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    await scheduler.stop('SIGKILL');
    await page.getByTestId('outage').waitFor();
    assert.equal(await page.locator('.stale').count(), 0, 'not once for each part of the page');
    assert.equal(await page.getByRole('link', { name: 'hour' }).count(), 1);
    // What was wrong before is hardly right now.
    await page.getByRole('navigation').locator('.ant-badge-count').getByText('1').waitFor();
    // A page whose files this tab has not fetched yet.
    await page.getByRole('link', { name: 'Statistics' }).click();
    await page.getByText('This page could not be shown').waitFor();
    await start();
    await page.getByRole('heading', { name: 'Statistics' }).waitFor();
    await page.getByTestId('outage').waitFor({ state: 'detached' });
});

// It is left while a slow server is asked, and the time to ask again comes before that has answered.
test('a hidden tab reads nothing', async () => {
    await page.goto(`${scheduler.address}/workers`);
    await page.getByRole('heading', { name: 'Workers' }).waitFor();
    const reading = /\/api\/.*\/workers(\?|$)/;
    const held = [];
    await page.route(reading, (route) => void held.push(route));
    // Workers are read every three seconds while somebody looks.
    await until('workers are read', async () => held.length > 0);
    await page.evaluate(() => {
        Object.defineProperty(document, 'hidden', { configurable: true, get: () => true });
        document.dispatchEvent(new window.Event('visibilitychange'));
    });
    const asked = [];
    page.on('request', (request) => asked.push(request.url()));
    await new Promise((resolve) => setTimeout(resolve, 4_000));
    for (const route of held) await route.continue();
    await page.unroute(reading);
    await new Promise((resolve) => setTimeout(resolve, 5_000));
    assert.deepEqual(asked, []);
    await page.evaluate(() => {
        Object.defineProperty(document, 'hidden', { configurable: true, get: () => false });
        document.dispatchEvent(new window.Event('visibilitychange'));
    });
    await until('it is read again', async () => asked.length > 0);
});

// A page that reaches the scheduler through what freezes: `answers` is given each answer before it goes to the
// page, and says whether it is held back there.
async function openThrough(answers) {
    const between = createServer((from, to) => {
        const url = new URL(from.url, scheduler.address);
        const headers = { ...from.headers, host: url.host };
        const call = request(url, { method: from.method, headers }, (answer) => {
            if (answers(url.pathname, to)) return answer.destroy();
            to.writeHead(answer.statusCode, answer.headers);
            return answer.pipe(to);
        });
        call.on('error', () => to.destroy());
        to.on('close', () => call.destroy());
        from.pipe(call);
    });
    await new Promise((resolve) => between.listen(0, '127.0.0.1', resolve));
    const tab = await page.context().newPage();
    await tab.clock.install();
    // Its clock is not that of the page.
    await tab.addInitScript(() => delete window.SharedWorker);
    const close = async () => {
        await tab.close();
        between.closeAllConnections();
        between.close();
    };
    return { tab, address: `http://127.0.0.1:${between.address().port}`, close };
}

// The scheduler's machine freezes in the middle of an answer, and is back later: the page must not wait for
// the rest of it for as long as it is open.
test('an answer that stops in its middle is given up, and asked for again', async () => {
    let stuck = false;
    const { tab, address, close } = await openThrough((path, to) => {
        if (stuck || !path.endsWith('/workers') || !path.startsWith('/api/')) return false;
        stuck = true;
        to.writeHead(200, { 'Content-Type': 'application/json' });
        to.write('{"items": [');
        return true;
    });
    try {
        await tab.goto(`${address}/workers`);
        await until('half of an answer came', async () => stuck);
        await tab.clock.fastForward(20_000);
        await tab
            .getByRole('cell', { name: /online/i })
            .first()
            .waitFor();
    } finally {
        await close();
    }
});

test('a stream that is never answered is given up, and asked for again', async () => {
    let asked = 0;
    const { tab, address, close } = await openThrough((path) => path.endsWith('/events') && ++asked === 1);
    try {
        await tab.goto(`${address}/workers`);
        await until('the stream is asked for', async () => asked === 1);
        await tab.clock.fastForward(40_000);
        await until('it is asked for again', async () => asked === 2);
    } finally {
        await close();
    }
});
