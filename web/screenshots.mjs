// Takes the pictures of docs/images: starts schedulers and workers, gives them believable work, and looks.
// Run by ./dev screenshots.
import { spawn } from 'node:child_process';
import { mkdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
    call,
    environment,
    makeFolder,
    openBrowser,
    startScheduler,
    until,
} from '../tests/console/support.mjs';

const images = join(dirname(fileURLToPath(import.meta.url)), '..', 'docs', 'images');
const imageBytesMax = 250_000;
const binary = process.env.TAKT_BINARY ?? 'build/takt';
// How long the work goes on before the pictures: a chart needs a past.
const workSeconds = Number(process.env.TAKT_WORK_SECONDS ?? 150);

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const recurring = [
    {
        id: 'invoice-mail',
        name: 'Send invoices',
        type: 'sleep',
        queue: 'mail',
        interval: '2s',
        execution_mode: 'parallel',
        parameters: { ms: 900 },
    },
    {
        id: 'thumbnails',
        name: 'Make thumbnails',
        type: 'sleep',
        queue: 'media',
        interval: '1s',
        execution_mode: 'parallel',
        parameters: { ms: 1700 },
    },
    {
        id: 'sync-stock',
        name: 'Sync stock levels',
        type: 'log',
        cron_expression: '*/5 * * * * *',
        priority: 7,
        parameters: { lines: 40 },
    },
    { id: 'heartbeat', name: 'Ping partners', type: 'echo', interval: '1s', parameters: { timeout: 3 } },
    {
        id: 'exchange-rates',
        name: 'Fetch exchange rates',
        type: 'fail',
        interval: '9s',
        max_retry: 1,
        execution_mode: 'parallel',
        parameters: { times: 1_000_000 },
        retry_policy: { max_retries: 1, delay: '2s' },
    },
    {
        id: 'nightly-report',
        name: 'Nightly report',
        type: 'sleep',
        cron_expression: '0 2 * * *',
        timezone: 'Europe/Berlin',
        parameters: { ms: 20 },
    },
    {
        id: 'payroll',
        name: 'Payroll',
        type: 'echo',
        cron_expression: '0 6 L * *',
        timezone: 'Asia/Shanghai',
        priority: 9,
    },
    {
        id: 'backup',
        name: 'Back up the catalogue',
        type: 'sleep',
        cron_expression: '30 3 * * MON-FRI',
        parameters: { ms: 60000 },
    },
    {
        id: 'catalogue',
        name: 'Build the catalogue',
        interval: '30m',
        steps: [
            { name: 'fetch-prices', type: 'sleep', payload: { ms: 700 } },
            { name: 'fetch-stock', type: 'sleep', payload: { ms: 1_200 } },
            { name: 'merge', type: 'echo', after: ['fetch-prices', 'fetch-stock'] },
            { name: 'render-pages', type: 'sleep', payload: { ms: 900 }, after: ['merge'], shards: 24 },
            { name: 'warm-caches', type: 'sleep', payload: { ms: 600 }, after: ['render-pages'] },
            { name: 'tell-search', type: 'echo', after: ['render-pages'] },
        ],
    },
    { id: 'cleanup', name: 'Clean up uploads', type: 'noop', interval: '30s', enabled: true },
];
const workers = [
    ['eu-west-1a', 12, 'zone=eu-west'],
    ['eu-west-1b', 12, 'zone=eu-west'],
    ['us-east-1a', 8, 'zone=us-east'],
    ['media-gpu-1', 4, 'gpu=yes'],
];

function startWorker(address, [name, capacity, labels]) {
    const child = spawn(
        binary,
        [
            'worker',
            '--server',
            address,
            '--demo',
            '--id',
            name,
            '--name',
            name,
            '--capacity',
            String(capacity),
            '--labels',
            labels,
        ],
        { stdio: 'ignore', env: environment },
    );
    return () => child.kill('SIGTERM');
}

async function fill(address) {
    for (const task of recurring) await call(address, 'POST', 'tasks', task);
    // Something that takes a while, something that nobody can do, and something that went wrong.
    await call(address, 'POST', 'tasks', {
        id: 'import-2026-11',
        name: 'Import catalogue',
        type: 'log',
        queue: 'batch',
        parameters: { lines: 60 },
    });
    for (let i = 0; i < 14; ++i) {
        await call(address, 'POST', 'tasks', {
            name: 'Render video',
            type: 'render',
            queue: 'media',
            priority: [2, 5, 5, 7, 9][i % 5],
            parameters: { clip: i },
        });
    }
    for (let i = 0; i < 9; ++i)
        await call(address, 'POST', 'tasks', {
            name: 'Remind customer',
            type: 'echo',
            queue: 'mail',
            delay: '3h',
        });
    await call(address, 'POST', 'queues/exports/pause');
    for (let i = 0; i < 5; ++i)
        await call(address, 'POST', 'tasks', { name: 'Export ledger', type: 'echo', queue: 'exports' });
    await call(address, 'POST', 'tasks/catalogue/trigger', {});
    for (let i = 0; i < 5; ++i)
        await call(address, 'POST', 'tasks', {
            name: 'Reindex shop',
            type: 'sleep',
            queue: 'batch',
            parameters: { ms: 600_000 },
        });
}

async function take(address, shots, options) {
    const { page, close } = await openBrowser(options);
    if (options.language)
        await page.addInitScript(
            (language) => localStorage.setItem('takt.language', language),
            options.language,
        );
    for (const [path, file] of shots) {
        await page.goto(address + path);
        await page.locator('h1').first().waitFor();
        await page.locator('[data-live="live"]').waitFor();
        await wait(3_500); // Charts draw, first readings arrive.
        const target = join(images, `${file}.png`);
        await page.screenshot({ path: target });
        const { size } = statSync(target);
        console.log(`${file}.png ${Math.round(size / 1000)} kB`);
        if (size > imageBytesMax) throw new Error(`${file}.png is larger than ${imageBytesMax} bytes`);
    }
    await close();
}

mkdirSync(images, { recursive: true });
const place = makeFolder();
const scheduler = await startScheduler(`file:${place.folder}/data`, '--node-id', 'scheduler-1');
const { address } = scheduler;
const stopWorkers = workers.map((worker) => startWorker(address, worker));
try {
    await until(
        'the workers are attached',
        async () => (await call(address, 'GET', 'workers')).items.length === workers.length,
    );
    await fill(address);
    await call(address, 'POST', 'tasks/cleanup/pause');
    await call(address, 'POST', 'workers/us-east-1a/drain', { reason: 'kernel update' });
    console.log(`working for ${workSeconds} seconds`);
    await wait(workSeconds * 1_000);
    const [log] = (await call(address, 'GET', 'executions?task_id=sync-stock&status=success&limit=1')).items;
    const [run] = (await call(address, 'GET', 'executions?task_id=catalogue&status=success&limit=1')).items;
    await take(
        address,
        [
            ['/', 'overview'],
            ['/tasks', 'tasks'],
            ['/tasks/sync-stock', 'task'],
            [`/executions/${log.id}`, 'execution'],
            [`/executions/${run.id}`, 'run'],
            ['/editor/catalogue', 'editor'],
            ['/workers', 'workers'],
            ['/alerts?tab=rules', 'alerts'],
        ],
        {},
    );
    await take(address, [['/', 'overview-dark']], { colorScheme: 'dark' });
    await take(address, [['/', 'overview-zh']], { language: 'zh' });
    await take(address, [['/', 'overview-phone']], { viewport: { width: 390, height: 844 } });
} finally {
    for (const stop of stopWorkers) stop();
    await scheduler.stop();
    place.remove();
}
