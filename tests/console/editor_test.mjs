// The editor of workflows: form, YAML and graph are one, and mistakes are shown where they are.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { call, openConsole, until } from './support.mjs';

let scheduler;
let browser;
let page;
let close;

before(async () => {
    ({ scheduler, browser, page, close } = await openConsole({ viewport: { width: 1440, height: 900 } }));
});
after(() => close?.());

const yaml = () => page.getByLabel('YAML', { exact: true });
const step = (name) => page.locator(`[data-step="${name}"]`);
const mistakes = () => page.getByTestId('mistakes');

async function open() {
    await page.goto(`${scheduler.address}/editor`);
    await step('extract').waitFor();
}

test('a step that is added in the form is in the YAML and on the graph', async () => {
    await open();
    await step('load').click();
    await page.getByRole('button', { name: 'Add a step' }).click();
    await step('step-4').waitFor();
    assert.match(await yaml().inputValue(), /- name: step-4\n\s+after: \[ ?load ?\]/);
    const name = page.getByTestId('step-form').getByLabel('Name of the step');
    await name.fill('tell');
    await name.press('Enter');
    await step('tell').waitFor();
    await step('step-4').waitFor({ state: 'detached' });
});

test('comments and what the form does not know stay when the form changes something', async () => {
    await open();
    await yaml().fill(
        'name: kept # why it is there\nparameters: {big: 9007199254740993}\nsteps:\n  - name: a\n    locks: [ledger]\n',
    );
    await step('a').click();
    const queue = page.getByTestId('step-form').getByLabel('Queue');
    await queue.fill('media');
    await queue.press('Enter');
    await until('the YAML has it', async () => /queue: media/.test(await yaml().inputValue()));
    const text = await yaml().inputValue();
    assert.match(text, /# why it is there/);
    assert.match(text, /9007199254740993/);
    assert.match(text, /ledger/);
});

test('a mistake is told with its line, on its step and in its field', async () => {
    await open();
    await yaml().fill(
        'name: wrong\nsteps:\n  - name: a\n    type: echo\n  - name: b\n    after: [nowhere]\n',
    );
    await mistakes().getByText('There is no step “nowhere”').waitFor();
    await mistakes().getByRole('button', { name: 'line 6' }).waitFor();
    await until('the step is marked', async () =>
        /step-wrong/.test((await step('b').getAttribute('class')) ?? ''),
    );
    assert.doesNotMatch((await step('a').getAttribute('class')) ?? '', /step-wrong/);
    await step('b').click();
    await page.getByTestId('step-form').getByText('There is no step “nowhere”').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Create' }).isDisabled(), true);
    // Half a line, as it is while somebody types: the graph stays.
    await yaml().fill('name: wrong\nsteps:\n  - name: [a\n');
    await until('it is no YAML', async () => (await mistakes().locator('li').count()) > 0);
    assert.equal(await step('b').count(), 1);
});

test('what only the scheduler knows to be wrong is shown at its place too', async () => {
    await open();
    await yaml().fill(
        'name: never\nsteps:\n  - name: a\n    type: echo\n    timeout_seconds: soon\n  - name: b\n    type: echo\n',
    );
    await mistakes().getByRole('button', { name: 'line 5' }).waitFor();
    await until('the step is marked', async () =>
        /step-wrong/.test((await step('a').getAttribute('class')) ?? ''),
    );
});

test('a workflow is made from the editor, opened in it again, and changed', async () => {
    await open();
    await yaml().fill(
        'name: made\ninterval: 1h\nparameters: {big: 9007199254740993}\nsteps:\n  - name: a\n    type: echo\n',
    );
    await until('nothing is wrong', async () => (await mistakes().locator('li').count()) === 0);
    await page.getByRole('button', { name: 'Create' }).click();
    await page.waitForURL(/\/tasks\//);
    const id = new URL(page.url()).pathname.split('/').pop();
    const made = await (await fetch(`${scheduler.address}/api/v1/tasks/${id}`)).text();
    assert.match(made, /"parameters":\{"big":9007199254740993\}/);
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.waitForURL(/\/editor\//);
    // The page of the task has a graph of its own, and stays until the editor is there.
    await page.getByTestId('editor').waitFor();
    await step('a').click();
    await page.getByRole('button', { name: 'Add a step' }).click();
    await step('step-2').waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.waitForURL(/\/tasks\//);
    const changed = await call(scheduler.address, 'GET', `tasks/${id}`);
    assert.deepEqual(
        changed.steps.map(({ name }) => name),
        ['a', 'step-2'],
    );
    assert.deepEqual(changed.steps[1].after, ['a']);
});

test('the pages complain of nothing', () => {
    assert.deepEqual(browser.complaints, []);
});
