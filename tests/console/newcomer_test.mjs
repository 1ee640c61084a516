// The first minutes: a task that fires every five seconds is seen to run, fail, be tried again and raise an
// alert, in both languages, with nothing but the console.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { call, openConsole } from './support.mjs';

let scheduler;
let browser;
let page;
let close;
// Pictures of what was seen, for whoever wants to look: SCREENS=folder.
const screens = process.env.SCREENS;

before(async () => {
    ({ scheduler, browser, page, close } = await openConsole());
});
after(() => close?.());

async function picture(name) {
    if (screens) await page.screenshot({ path: `${screens}/${name}.png`, fullPage: true });
}

// `words` are those of the language: the same walk is made in each.
async function walk(words, name) {
    await page.goto(`${scheduler.address}/`);
    await page.getByRole('link', { name: words.tasks }).first().click();
    await page.getByRole('button', { name: words.newTask }).first().click();
    await page.getByRole('dialog').getByLabel(words.name, { exact: true }).fill(name);
    await page.getByRole('dialog').getByLabel(words.type, { exact: true }).fill('fail');
    await page.getByRole('dialog').getByLabel(words.cron).fill('*/5 * * * * *');
    await page.getByText(words.more).click();
    await page.getByRole('dialog').getByLabel(words.retries).fill('1');
    await page.getByRole('dialog').getByLabel(words.retryDelay).fill('1s');
    await picture(`${name}-1-form`);
    await page.getByRole('button', { name: words.create }).click();

    await page.getByRole('heading', { name }).waitFor();
    await page.locator('.badge', { hasText: words.retrying }).first().waitFor();
    await page.locator('.badge', { hasText: words.failed }).first().waitFor();
    await picture(`${name}-2-task`);
    await page.locator('.ant-table-row', { hasText: words.failed }).locator('a').first().click();
    await page.locator('.page-header .badge', { hasText: words.failed }).waitFor();
    await page.locator('.attempts').getByText(words.second).waitFor();
    await picture(`${name}-3-execution`);

    await page.getByRole('link', { name: words.alerts }).first().click();
    await page.getByRole('tab', { name: words.rules }).click();
    await page.getByRole('button', { name: words.newRule }).first().click();
    const form = page.getByRole('dialog');
    await form.getByLabel(words.name, { exact: true }).fill(`${name}_fails`);
    await form.getByLabel(words.metric).fill('tasks_failed');
    await page.locator('.ant-select-dropdown:visible .ant-select-item-option').first().waitFor();
    await page.keyboard.press('Enter');
    await form.locator('code', { hasText: 'tasks_failed' }).waitFor();
    await form.getByLabel(words.threshold).fill('0');
    await form.getByLabel(words.duration).fill('0s');
    await form.getByRole('button', { name: words.save }).click();
    await form.waitFor({ state: 'hidden' });
    await page.getByRole('tab', { name: words.active }).click();
    await page
        .locator('.ant-table-row', { hasText: `${name}_fails` })
        .filter({ hasText: words.firing })
        .first()
        .waitFor();
    await picture(`${name}-4-alert`);
    await page.goto(`${scheduler.address}/`);
    await page.getByRole('link', { name }).first().waitFor();
    await picture(`${name}-5-overview`);
}

test('a failing task is created, watched and alerted about in English', () =>
    walk(
        {
            tasks: 'Tasks',
            newTask: 'New task',
            name: 'Name',
            type: 'Type',
            cron: 'Cron expression',
            more: 'Retries, limits, placement',
            retries: 'Retries',
            retryDelay: 'First retry after',
            create: 'Create',
            retrying: 'Retrying',
            failed: 'Failed',
            second: 'Attempt 2: Failed',
            alerts: 'Alerts',
            rules: 'Rules',
            active: 'Active',
            newRule: 'New rule',
            metric: 'Metric',
            threshold: 'Threshold',
            duration: 'For at least',
            save: 'Save',
            firing: 'Firing',
        },
        'shaky',
    ));

test('and in Chinese', async () => {
    await page.getByRole('button', { name: '切换到中文' }).click();
    await walk(
        {
            tasks: '任务',
            newTask: '新建任务',
            name: '名称',
            type: '类型',
            cron: 'Cron 表达式',
            more: '重试、限制与调度选项',
            retries: '重试次数',
            retryDelay: '首次重试间隔',
            create: '创建',
            retrying: '待重试',
            failed: '失败',
            second: '第 2 次尝试：失败',
            alerts: '告警',
            rules: '规则',
            active: '当前',
            newRule: '新建规则',
            metric: '指标',
            threshold: '阈值',
            duration: '持续时间',
            save: '保存',
            firing: '告警中',
        },
        'shaky_zh',
    );
});

// What an element says, but for the scheduler's own words, which are marked as English.
const said = (element) =>
    element.evaluate((node) => {
        const copy = node.cloneNode(true);
        for (const own of copy.querySelectorAll('[lang="en"]')) own.remove();
        return copy.textContent;
    });

// Waits for the text, and looks that no English sentence stands beside it: names have no spaces.
async function assertChinese(element, text) {
    await element.filter({ hasText: text }).first().waitFor();
    assert.doesNotMatch(await said(element.first()), /[a-z]+ [a-z]+/i);
}

test('what the scheduler says is said in Chinese too', async () => {
    // It waits, and the person who submitted it wonders why.
    await call(scheduler.address, 'POST', 'tasks', {
        id: 'lonely',
        name: 'lonely',
        type: 'nobody-runs-this',
    });
    await page.goto(`${scheduler.address}/executions/lonely`);
    await assertChinese(page.locator('.why'), '没有工作节点能运行类型为“nobody-runs-this”的任务。');

    // A wrong cron expression, and an address that somebody copied only in part.
    await page.goto(`${scheduler.address}/tasks`);
    await page.getByRole('button', { name: '新建任务' }).first().click();
    await page.getByRole('dialog').getByLabel('Cron 表达式').fill('0 2 * * FOO');
    await assertChinese(page.locator('.preview[role="alert"]'), 'Cron 表达式不正确');
    await picture('zh-6-refused');
    await page.goto(`${scheduler.address}/executions/lone`);
    await assertChinese(page.locator('.note'), '找不到该编号的内容');

    // The alert of the walk before, and a rule that comes with the program.
    await page.goto(`${scheduler.address}/alerts`);
    await assertChinese(
        page.locator('.ant-table-row', { hasText: 'shaky_zh_fails' }),
        /最近五分钟最终失败的执行数：\d+（高于 0 时告警）/,
    );
    await page.getByRole('tab', { name: '规则' }).click();
    await page.getByText('没有工作节点可以运行任务。').waitFor();
    await picture('zh-7-rules');
});

test('nothing was complained about in the browser', () => {
    // But for the answers that were asked for.
    const expected = /400 .*\/tasks\/preview|404 .*\/executions\/lone\)/;
    assert.deepEqual(
        browser.complaints.filter((text) => !expected.test(text)),
        [],
    );
});
