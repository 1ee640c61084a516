// Two schedulers over one Redis; the page is open at the follower when the leader dies.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { call, makeFolder, openBrowser, startRedis, startScheduler, until } from './support.mjs';

// Elections take four seconds, not ten.
const quick = ['--set', 'scheduler.leader_ttl=4s', '--set', 'scheduler.leader_renew_interval=1s'];

let place;
let redis;
let first;
let second;
let browser;

before(async () => {
    place = makeFolder();
    redis = await startRedis(place.folder);
    first = await startScheduler(redis.url, '--node-id', 'first', ...quick);
    await until(
        'the first one leads',
        async () => (await call(first.address, 'GET', 'scheduler/status')).is_leader,
    );
    second = await startScheduler(redis.url, '--node-id', 'second', ...quick);
    await until(
        'the second one knows its leader',
        async () => (await call(second.address, 'GET', 'scheduler/status')).leader?.node_id === 'first',
    );
    browser = await openBrowser();
});

after(async () => {
    await browser?.close();
    await second?.stop();
    await first?.stop();
    await redis?.stop();
    place?.remove();
});

test('the console follows to the new leader without a reload', async () => {
    const { page, complaints } = browser;
    await page.goto(`${second.address}/cluster`);
    await page.getByTestId('leader').filter({ hasText: 'first' }).waitFor();
    // The follower writes nothing; the page does not let it look as if nobody did.
    await page
        .locator('.fields > div', { hasText: 'Commits by this node' })
        .getByText('0', { exact: true })
        .waitFor();
    await page.evaluate(() => {
        window.notReloaded = true;
    });
    const before = complaints.length;

    await first.stop('SIGKILL');

    // This scheduler answers; whoever reads that it does not looks in the wrong place.
    await page.getByTestId('outage').getByText('No leader can be reached').waitFor();
    await page.getByTestId('leader').filter({ hasText: 'second' }).waitFor();
    await page.locator('[data-leader="second"]').waitFor();
    // From then on events come by the stream, and the page says so.
    await page.locator('[data-live="live"]').waitFor();
    assert.equal(await page.evaluate(() => window.notReloaded), true);

    // What is done at the new leader is seen at once.
    await page.getByRole('link', { name: 'Executions' }).click();
    await call(second.address, 'POST', 'tasks', { name: 'after the change', type: 'nobody' });
    await page.getByRole('link', { name: 'after the change' }).waitFor();

    // While nobody led, calls were refused with 503; nothing else went wrong.
    assert.equal(before, 0);
    assert.deepEqual(
        complaints.filter((text) => !text.includes('503')),
        [],
    );
});
