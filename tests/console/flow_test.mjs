// A workflow and its runs: the graph, what happened when, and running a part of it again.
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

const nightly = {
    id: 'nightly',
    name: 'nightly',
    interval: '24h',
    steps: [
        { name: 'extract', type: 'log', payload: { lines: 3 } },
        {
            name: 'parts',
            type: 'sleep',
            shards: 4,
            parallel_max: 2,
            after: ['extract'],
            payload: { ms: 400 },
        },
        { name: 'load', type: 'fail', after: ['parts'], max_retry: 0 },
        { name: 'publish', type: 'noop', after: ['load'] },
        { name: 'tell', type: 'noop', after: ['load'], when: 'any_failed' },
    ],
};
const step = (name) => page.locator(`button[data-step="${name}"]`);
const stepIn = (name, state) => page.locator(`button[data-step="${name}"][data-status="${state}"]`);
const startRun = async () => (await call(scheduler.address, 'POST', 'tasks/nightly/trigger', {})).id;

test('the page of a workflow shows its steps as a graph', async () => {
    // Somebody who did not write it wants to know what it does.
    await call(scheduler.address, 'POST', 'tasks', nightly);
    await page.goto(`${scheduler.address}/tasks/nightly`);
    await page.getByTestId('flow-graph').waitFor();
    for (const { name } of nightly.steps) await step(name).waitFor();
    // What waits for another stands to the right of it.
    const left = async (name) => (await step(name).boundingBox()).x;
    assert.ok((await left('extract')) < (await left('parts')));
    assert.ok((await left('parts')) < (await left('load')));
    assert.equal(await page.locator('.react-flow__edge').count(), 4);

    await step('tell').click();
    await page.getByTestId('step-definition').getByText('when one before it has failed').waitFor();
});

test('a run is followed on its graph, without a reload', async () => {
    const run = await startRun();
    await page.goto(`${scheduler.address}/executions/${run}`);
    await stepIn('extract', 'success').waitFor();
    await stepIn('load', 'failed').waitFor();
    await stepIn('publish', 'skipped').waitFor();
    await stepIn('tell', 'success').waitFor();
    await step('parts').getByText('4 / 4').waitFor();
    await page.locator('.page-header .badge', { hasText: 'Failed' }).waitFor();
});

test('a click on a step shows its executions, what they wrote and why it was skipped', async () => {
    await step('extract').click();
    const panel = page.getByRole('dialog');
    await panel.getByTestId('log').getByText('line 3 of 3').waitFor();
    await panel.getByRole('button', { name: 'Close' }).click();

    await step('publish').click();
    await page.getByRole('dialog').getByText('Another step failed.').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();

    await step('parts').click();
    await page.getByRole('dialog').getByRole('link', { name: '3 / 4' }).click();
    // The execution of a part names the run that it belongs to, and leads back to it.
    await page.getByText('step “parts”, shard 3 of 4').waitFor();
    await page.getByTestId('parent').click();
    await page.getByRole('dialog').getByText('parts', { exact: true }).waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
});

test('the waterfall shows what happened when', async () => {
    await page.getByText('Waterfall', { exact: true }).click();
    const fall = page.getByTestId('waterfall');
    await fall.locator('[data-step="tell"]').waitFor();
    const names = await fall
        .locator('[data-step]')
        .evaluateAll((rows) => rows.map((row) => row.dataset.step));
    assert.deepEqual(names, ['extract', 'parts', 'load', 'tell', 'publish']);
    const bar = async (name) => fall.locator(`[data-step="${name}"] .fall-bar`).boundingBox();
    const [parts, load] = [await bar('parts'), await bar('load')];
    assert.ok(parts.x + parts.width <= load.x + 2, 'one begins where the other ends');
    await page.getByText('Graph', { exact: true }).click();
});

test('a run that is over is run again from one of its steps', async () => {
    // What went before is expensive and need not be done twice.
    const run = new URL(page.url()).pathname.split('/').pop();
    const before = await call(scheduler.address, 'GET', `executions/${run}/steps`);
    await step('load').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Run again from here' }).click();
    const sent = page.waitForRequest((request) => request.url().endsWith(`/executions/${run}/retry`));
    await page
        .getByRole('dialog')
        .filter({ hasText: 'Run again from “load”?' })
        .getByRole('button', { name: 'Run again', exact: true })
        .click();
    assert.deepEqual(JSON.parse((await sent).postData()), { steps: ['load'] });
    const later = await until('it has ended again', async () => {
        const steps = await call(scheduler.address, 'GET', `executions/${run}/steps`);
        return steps.round > before.round && steps.status === 'failed' && steps;
    });
    const startOf = (steps, name) => steps.items.find((each) => each.name === name).started_at;
    assert.equal(startOf(later, 'parts'), startOf(before, 'parts'));
    assert.notEqual(startOf(later, 'load'), startOf(before, 'load'));
});

test('a step that waits says what it waits for', async () => {
    await call(scheduler.address, 'POST', 'tasks', {
        id: 'slow',
        name: 'slow',
        steps: [
            { name: 'nobody', type: 'nobody-runs-this' },
            { name: 'later', type: 'noop', after: ['nobody'] },
        ],
    });
    await page.goto(`${scheduler.address}/executions/slow?step=later`);
    await page.getByRole('dialog').getByText('It waits for: nobody').waitFor();
    await page.goto(`${scheduler.address}/executions/slow?step=nobody`);
    await page
        .getByRole('dialog')
        .getByText('No worker runs tasks of the type “nobody-runs-this”.')
        .waitFor();
});

test('the names of a hundred steps can be read', async () => {
    const steps = [{ name: 'begin', type: 'noop' }];
    for (let number = 0; number < 99; ++number)
        steps.push({
            name: `step-${number}`,
            type: 'noop',
            after: [steps[Math.max(0, number - 7)].name],
        });
    await call(scheduler.address, 'POST', 'tasks', {
        id: 'large',
        name: 'large',
        interval: '24h',
        steps,
    });
    await page.goto(`${scheduler.address}/tasks/large`);
    await step('begin').waitFor();
    assert.equal(await page.locator('button[data-step]').count(), 100);
    const { height } = await step('begin').boundingBox();
    assert.ok(height >= 36, `a step is ${height} pixels high`);
    await page.locator('.react-flow__minimap').waitFor();
    // A page is not wider than its window because of it.
    assert.equal(
        await page.evaluate(
            () => document.documentElement.scrollWidth > document.documentElement.clientWidth,
        ),
        false,
    );
});

test('past due times are made up for: what would run is shown, then how far it is', async () => {
    // Yesterday the machines were down.
    const begin = new Date(Date.now() - 5 * 3_600_000).toISOString();
    await call(scheduler.address, 'POST', 'tasks', {
        id: 'hourly',
        name: 'hourly',
        type: 'echo',
        cron_expression: '0 * * * *',
        execution_mode: 'parallel',
    });
    const asked = await call(scheduler.address, 'POST', 'tasks/hourly/backfill', {
        from: begin,
        dry_run: true,
    });
    assert.equal(asked.count, 5);
    await page.goto(`${scheduler.address}/tasks/hourly`);
    await page.getByRole('button', { name: 'Backfill' }).click();
    const dialog = page.getByRole('dialog', { name: 'Backfill' });
    const preview = dialog.getByTestId('backfill-preview');
    await preview.getByText(/\d+ would run/).waitFor();
    const count = Number(/(\d+) would run/.exec(await preview.textContent())[1]);
    assert.equal(
        (await call(scheduler.address, 'GET', 'executions?task_id=hourly')).items.length,
        0,
        'a preview runs nothing',
    );
    await dialog.getByRole('button', { name: `Run ${count}` }).click();
    await dialog.getByTestId('backfill-progress').getByText(`Success ${count}`).waitFor();
    await dialog.getByRole('link', { name: 'Open its page' }).click();
    await page.locator('.page-header .badge', { hasText: 'Success' }).waitFor();
    const { items } = await call(
        scheduler.address,
        'GET',
        'executions?task_id=hourly&children=true&limit=200',
    );
    assert.equal(items.filter(({ origin }) => origin === 'backfill').length, count);
});

test('the first page does not load what draws graphs', async () => {
    // The page before this one may be at it still.
    await page.goto('about:blank');
    const asked = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.goto(`${scheduler.address}/tasks`);
    await page.getByRole('link', { name: 'large' }).waitFor();
    assert.deepEqual(
        asked.filter((url) => url.includes('FlowGraph')),
        [],
    );
});

test('the browser had nothing to complain about', () => {
    assert.deepEqual(browser.complaints, []);
});
