// What the pages promise whatever happens around them: many tasks, slow networks, other zones, upgrades.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { call, openBrowser, openConsole, until } from './support.mjs';

let scheduler;
let browser;
let page;
let close;

before(async () => {
    ({ scheduler, browser, page, close } = await openConsole());
});
after(() => close?.());

const submit = (fields) => call(scheduler.address, 'POST', 'tasks', fields);

// For what the browser may complain about, or another kind of it.
async function withOwnBrowser(options, work) {
    const own = await openBrowser(options);
    try {
        await work(own.page);
    } finally {
        await own.close();
    }
}

test('the overview shows what could start now by priority, and what fires next', async () => {
    // Nobody runs this type, and some of it is urgent.
    for (const priority of [9, 9, 2]) await submit({ name: 'waits', type: 'nobody-runs-this', priority });
    await submit({ id: 'hourly', name: 'hourly', type: 'echo', interval: '1h' });
    const asked = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.goto(`${scheduler.address}/`);
    const next = page.locator('.ant-card', { hasText: 'Fires next' });
    await next.getByRole('link', { name: 'hourly' }).waitFor();
    await page.getByText('By priority').click();
    const waiting = page.locator('.ant-card', { hasText: 'What waits' });
    await waiting.locator('li', { hasText: 'Priority 9' }).getByText('2', { exact: true }).waitFor();
    await waiting.locator('li', { hasText: 'Priority 2' }).getByText('1', { exact: true }).waitFor();
    assert.deepEqual(
        asked.filter((url) => url.includes('limit=500')),
        [],
    );
});

test('by the hour only ranges are offered that have room', async () => {
    await page.goto(`${scheduler.address}/statistics?by=day&range=quarter`);
    await page.getByTitle('90 days').waitFor();
    await page.getByTitle('Hour', { exact: true }).click();
    await page.getByTitle('90 days').waitFor({ state: 'detached' });
    await page.getByTitle('30 days').click();
    await page.waitForURL(/range=month/);
});

test('an answer that comes late is not put over a newer one', async () => {
    // The network is slow: what the page asked for before the task was paused arrives after it.
    await submit({ id: 'slow', name: 'slow', type: 'echo', interval: '1h' });
    await page.goto(`${scheduler.address}/tasks/slow`);
    await page.locator('.page-header .badge', { hasText: 'Active' }).waitFor();
    let hold;
    let letGo;
    let answer;
    const held = new Promise((resolve) => (hold = resolve));
    const answered = new Promise((resolve) => (answer = resolve));
    const released = new Promise((resolve) => (letGo = resolve));
    await page.route(
        '**/api/v1/tasks/slow',
        async (route) => {
            const response = await route.fetch();
            hold();
            await released;
            await route.fulfill({ response });
            answer();
        },
        { times: 1 },
    );
    await call(scheduler.address, 'POST', 'tasks/slow/trigger', {});
    await held;
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
    await page.locator('.page-header .badge', { hasText: 'Paused' }).waitFor();

    letGo();
    await answered;
    // Another answer comes behind it, and two frames: time enough to show it. (That the body was read to its
    // end is not always told of an answer that nobody wants any more.)
    await page.evaluate(async () => {
        await (await fetch('/api/v1/tasks?limit=1')).text();
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    });
    assert.equal(await page.locator('.page-header .badge').textContent(), 'Paused');
});

test('search tells a screen reader what is chosen', async () => {
    await page.goto(`${scheduler.address}/`);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.mouse.move(0, 0); // What is under the mouse would be chosen.
    await page.keyboard.press('Control+k');
    const field = page.getByRole('combobox', { name: 'Pages, tasks' });
    const named = async () => page.locator(`[id="${await field.getAttribute('aria-activedescendant')}"]`);
    await field.waitFor();
    assert.equal(await (await named()).getAttribute('role'), 'option');
    const first = await (await named()).textContent();
    await field.press('ArrowDown');
    await until('another one is chosen', async () => (await (await named()).textContent()) !== first);
    assert.equal(await (await named()).getAttribute('aria-selected'), 'true');
    const list = page.locator(`[id="${await field.getAttribute('aria-controls')}"]`);
    assert.equal(await list.getAttribute('role'), 'listbox');
    await page.keyboard.press('Escape');
});

test('search takes the keyboard at once, and opens what has an id', async () => {
    // Somebody has the id of something from a log, and does not know of what. With motion: most have it.
    await submit({ id: 'r1', name: 'every hour', type: 'echo', interval: '1h' });
    await submit({ id: 'o1', name: 'once', type: 'echo' });
    await withOwnBrowser({ reducedMotion: 'no-preference' }, async (own) => {
        // All in one go: Enter means what was typed, however late the server answers.
        const open = async (key, text) => {
            await own.keyboard.press(key);
            await own.locator('.search input:focus').waitFor();
            await own.keyboard.type(text);
            await own.keyboard.press('Enter');
        };
        await own.goto(`${scheduler.address}/workers`);
        await own.getByRole('heading', { name: 'Workers' }).waitFor();
        await open('Control+k', 'r1');
        await own.waitForURL(/\/tasks\/r1$/);
        await own.getByRole('heading', { name: 'every hour' }).waitFor();
        await open('/', 'o1');
        await own.waitForURL(/\/executions\/o1$/);
        await own.getByRole('heading', { name: 'once' }).waitFor();
    });
});

test('a worker that is searched for is opened, also on the page of workers', async () => {
    const { name } = (await call(scheduler.address, 'GET', 'workers')).items[0];
    await page.goto(`${scheduler.address}/workers`);
    await page.getByRole('row', { name }).waitFor();
    await page.keyboard.press('Control+k');
    await page.locator('.search input:focus').waitFor();
    await page.keyboard.type(name);
    await page.getByRole('option', { name }).filter({ hasText: 'worker' }).click();
    await page.getByRole('heading', { name }).waitFor();
    await page.getByText('Joined').waitFor();
});

test('every dialog puts the keyboard into its first field', async () => {
    // Who opens a form begins to type.
    const typed = async (path, button, label) => {
        await page.goto(scheduler.address + path);
        await page.getByRole('button', { name: button }).first().click();
        const field = page.getByRole('dialog').getByLabel(label, { exact: true });
        await until(`the field ${label} has the keyboard`, () =>
            field.evaluate((element) => element === document.activeElement),
        );
        await page.keyboard.type('7');
        assert.match(await field.inputValue(), /7/, button);
    };
    await submit({ id: 'dialogs', name: 'dialogs', type: 'echo', interval: '1h' });
    await typed('/tasks', 'New task', 'Name');
    await typed('/tasks/dialogs', 'Run now', 'Parameters');
    await typed('/alerts?tab=rules', 'New rule', 'Name');
    await typed('/settings', 'New token', 'Name');
    await typed('/queues', 'Limits', 'At most at once');
});

test('an execution that waits for its retry does not get longer', async () => {
    await submit({ id: 'again', name: 'again', type: 'fail', retry_policy: { max_retries: 1, delay: '1h' } });
    await page.goto(`${scheduler.address}/executions/again`);
    await page.locator('.page-header .badge', { hasText: 'Retrying' }).waitFor();
    const took = page.locator('.fields > div', { hasText: 'Duration' }).locator('dd');
    await until('its attempt is told', async () => (await took.textContent()) !== '–');
    const { attempts } = await call(scheduler.address, 'GET', 'executions/again');
    const ms = Date.parse(attempts[0].finished_at) - Date.parse(attempts[0].started_at);
    assert.equal(await took.textContent(), `${ms} ms`);
    await page.goto(`${scheduler.address}/executions?status=retrying`);
    await page
        .getByRole('row', { name: 'again' })
        .getByRole('cell', { name: '–', exact: true })
        .first()
        .waitFor();
    await call(scheduler.address, 'POST', 'executions/again/cancel');
});

test('a duration is rounded before it is split', async () => {
    await submit({ id: 'nearly', name: 'nearly', type: 'echo' });
    await page.route('**/api/v1/executions/nearly', async (route) => {
        const [started_at, finished_at] = ['2026-11-15T12:00:00.000Z', '2026-11-15T12:01:59.700Z'];
        const json = { ...(await (await route.fetch()).json()), status: 'success', started_at, finished_at };
        await route.fulfill({ json });
    });
    await page.goto(`${scheduler.address}/executions/nearly`);
    await page
        .locator('.fields > div', { hasText: 'Duration' })
        .getByText('2 min', { exact: true })
        .waitFor();
    await page.unroute('**/api/v1/executions/nearly');
});

test('what fires is on the overview, and marked on the menu of a phone', async () => {
    await call(scheduler.address, 'PUT', 'alert-rules/too_many_workers', {
        metric: 'workers_online',
        operator: '>',
        threshold: 0,
        duration: '0s',
        severity: 'critical',
    });
    await page.goto(`${scheduler.address}/`);
    await page.getByRole('link', { name: 'Alerts firing: 1 too_many_workers' }).click();
    await page.getByRole('row', { name: 'too_many_workers' }).waitFor();
    await page.getByRole('tab', { name: 'Rules' }).click();
    const middleOf = async (element) => {
        const { y, height } = await element.boundingBox();
        return y + height / 2;
    };
    const rule = page.getByRole('row', { name: 'too_many_workers' });
    const apart = (await middleOf(rule.getByRole('switch'))) - (await middleOf(rule.getByRole('button')));
    assert.ok(Math.abs(apart) < 8, 'the switch and the menu of a rule are in one line');
    await page.setViewportSize({ width: 390, height: 844 });
    await page.getByRole('button', { name: 'Menu · Alerts firing: 1' }).waitFor();

    // Once it is over, the history does not say that it fired because of the value which ended it.
    await call(scheduler.address, 'DELETE', 'alert-rules/too_many_workers');
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.goto(`${scheduler.address}/alerts?tab=history`);
    await page.getByRole('columnheader', { name: 'Value when it fired' }).waitFor();
    await page.getByRole('columnheader', { name: 'Resolved' }).waitFor();
    await page.getByRole('row', { name: /too_many_workers .*alerts when/ }).waitFor();
});

test('a page whose files are gone loads itself anew, once, and then says what happened', async () => {
    // The scheduler was upgraded while the console was open: its files have other names now.
    await withOwnBrowser({}, async (own) => {
        await own.goto(`${scheduler.address}/`);
        await own.getByRole('heading', { name: 'Overview' }).waitFor();
        let refused = 0;
        await own.route('**/assets/Queues-*.js', (route) => {
            refused += 1;
            return route.fulfill({ status: 404, body: '' });
        });
        await own.getByRole('link', { name: 'Queues' }).click();
        await until('it has loaded itself anew', async () => refused === 2);
        await own.getByText('This page could not be shown').waitFor();
        // The rest of the console is there, and other pages open.
        await own.getByRole('link', { name: 'Cluster' }).click();
        await own.getByRole('heading', { name: 'Cluster' }).waitFor();
        await own.getByRole('link', { name: 'Queues' }).click();
        await own.getByText('This page could not be shown').waitFor();
        assert.equal(refused, 2, 'once as asked, once more by itself');

        await own.unroute('**/assets/Queues-*.js');
        await own.getByRole('button', { name: 'Reload' }).click();
        await own.getByRole('heading', { name: 'Queues' }).waitFor();
    });
});

test('the calendar of a task is in UTC, also where it is another day', async () => {
    // An operator half around the world from the server looks for the run of a day, and follows it.
    await submit({ id: 'far', name: 'far', type: 'echo', interval: '1h' });
    const { id } = await call(scheduler.address, 'POST', 'tasks/far/trigger', {});
    const { finished_at } = await until('it has run', async () => {
        const run = await call(scheduler.address, 'GET', `executions/${id}`);
        return run.finished_at && run;
    });
    const from = `from=${finished_at.slice(0, 10)}T00%3A00%3A00.000Z`;
    for (const timezoneId of ['Pacific/Kiritimati', 'Pacific/Pago_Pago']) {
        await withOwnBrowser({ timezoneId }, async (own) => {
            await own.goto(`${scheduler.address}/tasks/far`);
            await own.getByText('days in UTC').waitFor();
            await own.locator(`.calendar a.day-past[href*="${from}"]`).click();
            await own.getByRole('heading', { name: 'Executions' }).waitFor();
            await own.getByRole('link', { name: 'far' }).first().waitFor();
        });
    }
    // Where nothing is counted yet, the runs are counted here.
    await withOwnBrowser({}, async (own) => {
        await own.route('**/api/v1/statistics?*', (route) =>
            route.fulfill({ json: { items: [], next_cursor: null } }),
        );
        await own.goto(`${scheduler.address}/tasks/far`);
        await own.locator(`.calendar a.day-past[href*="${from}"]`).waitFor();
    });
});

test('a log that could not be read for a moment goes on as if nothing had been', async () => {
    // A proxy in between lets no stream through, and the leader has just changed.
    await submit({ id: 'talks', name: 'talks', type: 'sleep', parameters: { ms: 3_600_000 } });
    await withOwnBrowser({}, async (own) => {
        await own.route('**/talks/log?follow=true', (route) => route.fulfill({ status: 404, json: {} }));
        await own.route('**/talks/log?limit=*', (route) => route.fulfill({ status: 503, json: {} }), {
            times: 1,
        });
        await own.goto(`${scheduler.address}/executions/talks`);
        const problem = own.getByText('The server answered 503');
        await problem.waitFor();
        await problem.waitFor({ state: 'hidden' });
        await own.getByText('Nothing was written').waitFor();
    });
    await call(scheduler.address, 'POST', 'executions/talks/cancel');
});

test('every page opens, also on a phone and in the dark', async () => {
    const pages = {
        '/': 'Overview',
        '/tasks': 'Tasks',
        '/executions': 'Executions',
        '/workers': 'Workers',
        '/queues': 'Queues',
        '/locks': 'Locks',
        '/cluster': 'Cluster',
        '/alerts': 'Alerts',
        '/statistics': 'Statistics',
        '/settings': 'Settings',
    };
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.setViewportSize({ width: 390, height: 844 });
    for (const [path, name] of Object.entries(pages)) {
        await page.goto(scheduler.address + path);
        await page.getByRole('heading', { name, exact: true }).waitFor();
        // Tables may scroll inside their card, the page must not.
        const wider = await page.evaluate(
            () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
        );
        assert.ok(wider <= 0, `${path} is ${wider} pixels wider than the phone`);
        // One is enough for a page: what is in it is not a second one.
        assert.equal(await page.locator('main').count(), 1);
    }
    // What an operator must reach at night is on the screen, not behind its edge.
    const onScreen = async (element) => {
        const { x, width } = await element.boundingBox();
        assert.ok(x >= 0 && x + width <= 390, `from ${x} to ${x + width}`);
    };
    await page.goto(`${scheduler.address}/workers`);
    await onScreen(page.getByRole('button', { name: 'Drain' }));
    await page.locator('tr.ant-table-row').getByRole('link').first().click();
    await page.getByRole('meter', { name: 'Memory' }).waitFor();
    await page.goto(`${scheduler.address}/queues`);
    await onScreen(page.getByRole('button', { name: 'Pause' }));
    await page.goto(`${scheduler.address}/alerts?tab=channels`);
    await onScreen(page.getByRole('button', { name: 'Send a test' }));
    await page.goto(`${scheduler.address}/executions`);
    await page.getByLabel('From').click();
    await onScreen(page.locator('.ant-picker-dropdown'));
    await page.locator('.ant-picker-cell-today').click();
    await page.waitForURL(/from=/);
    // The title of an empty table can be read: it is the text's colour.
    await page.goto(`${scheduler.address}/executions?type=there-is-none`);
    const colours = await page
        .locator('.note-title')
        .evaluate((title) => [getComputedStyle(title).color, getComputedStyle(document.body).color]);
    assert.equal(colours[0], colours[1]);
    assert.equal(await page.locator('html').getAttribute('data-theme'), 'dark');
});

test('the browser had nothing to complain about', () => {
    assert.deepEqual(browser.complaints, []);
});

test('the calendar of a task has the days of its zone', async () => {
    // At 01:30 on workdays in Shanghai it is still the day before in UTC, and Sunday is no workday.
    await submit({
        id: 'shanghai',
        name: 'shanghai',
        type: 'echo',
        cron_expression: '30 1 * * MON-FRI',
        timezone: 'Asia/Shanghai',
    });
    await withOwnBrowser({ timezoneId: 'America/New_York' }, async (own) => {
        await own.goto(`${scheduler.address}/tasks/shanghai`);
        await own.getByText('days in Asia/Shanghai').waitFor();
        await own.locator('.day-coming').first().waitFor();
        const cells = await own
            .locator('.calendar a.day')
            .evaluateAll((days) => days.map((day) => day.className.includes('day-coming')));
        const weekend = cells.filter((_, index) => index % 7 >= 5);
        assert.equal(weekend.some(Boolean), false, 'no fire on Saturday or Sunday');
        assert.equal(cells.filter((_, index) => index % 7 === 4).some(Boolean), true, 'but on Fridays');
    });
});
