// What the console's tests share: real schedulers, a real browser, and waiting for what they show.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';

const binary = process.env.TAKT_BINARY ?? 'build/takt';
// Where npm has installed what the tests need: the folder that the console is built in.
const modules = process.env.TAKT_WEB ?? 'build/web';
const chromiumPath = process.env.TAKT_CHROMIUM ?? '/usr/bin/chromium';
const { chromium } = createRequire(join(resolve(modules), 'package.json'))('playwright-core');

// Long enough for a machine that does ten other things.
export const patienceMs = 30_000;

// The scheduler refuses variables of its own kind that it does not know.
export const environment = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith('TAKT_')),
);

export function makeFolder() {
    const folder = mkdtempSync(join(tmpdir(), 'takt-console-'));
    return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

export function freePort() {
    return new Promise((resolve, reject) => {
        const server = createServer();
        server.on('error', reject);
        server.listen(0, '127.0.0.1', () => {
            const { port } = server.address();
            server.close(() => resolve(port));
        });
    });
}

// Ends a process that was started here, and waits for its end.
function ender(child) {
    return (signal = 'SIGTERM') =>
        new Promise((resolve) => {
            if (child.exitCode !== null || child.signalCode !== null) return resolve();
            child.once('exit', () => resolve());
            child.kill(signal);
        });
}

// A scheduler; resolves when it listens. `arguments_` beside the store's.
export async function startScheduler(store, ...arguments_) {
    const listen = arguments_.includes('--listen') ? [] : ['--listen', '127.0.0.1:0'];
    const child = spawn(binary, ['serve', '--store', store, ...listen, ...arguments_], {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: environment,
    });
    const said = [];
    child.stderr.on('data', (text) => said.push(text.toString()));
    const address = await new Promise((resolve, reject) => {
        child.once('exit', (code) => reject(new Error(`takt serve ended with ${code}: ${said.join('')}`)));
        createInterface({ input: child.stdout }).on('line', (line) => {
            said.push(`${line}\n`);
            const found = / listens on (http:\S+)/.exec(line);
            if (found) resolve(found[1]);
        });
    });
    return { address, stop: ender(child), log: () => said.join('') };
}

// A worker with the demonstration's handlers; gives what ends it.
export function startWorker(address, ...arguments_) {
    const child = spawn(binary, ['worker', '--server', address, '--demo', ...arguments_], {
        stdio: 'ignore',
        env: environment,
    });
    return ender(child);
}

export async function startRedis(folder) {
    const port = await freePort();
    const child = spawn(
        'redis-server',
        [
            '--port',
            String(port),
            '--bind',
            '127.0.0.1',
            '--dir',
            folder,
            '--save',
            '',
            '--appendonly',
            'no',
            '--maxmemory-policy',
            'noeviction',
        ],
        { stdio: ['ignore', 'pipe', 'ignore'] },
    );
    await new Promise((resolve, reject) => {
        child.once('error', reject);
        child.once('exit', (code) => reject(new Error(`redis-server ended with ${code}`)));
        createInterface({ input: child.stdout }).on('line', (line) => {
            if (line.includes('Ready to accept connections')) resolve();
        });
    });
    return { url: `redis://127.0.0.1:${port}`, stop: ender(child) };
}

export async function call(address, method, path, body, headers = {}) {
    const response = await fetch(`${address}/api/v1/${path}`, {
        method,
        headers: { ...(body ? { 'Content-Type': 'application/json' } : {}), ...headers },
        body: body ? JSON.stringify(body) : undefined,
    });
    const answer = response.status === 204 ? undefined : await response.json();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer)}`);
    return answer;
}

// Asks again until `condition` gives something; fails with `what` if it never does.
export async function until(what, condition) {
    const deadline = Date.now() + patienceMs;
    for (;;) {
        const found = await condition().catch(() => undefined);
        if (found) return found;
        if (Date.now() > deadline) throw new Error(`waited in vain: ${what}`);
        await new Promise((resolve) => setTimeout(resolve, 50));
    }
}

export const whenLed = (address) =>
    until(
        'a scheduler leads and its worker is attached',
        async () => (await call(address, 'GET', 'workers')).items.length > 0,
    );

// A scheduler with a worker, and a page in a browser: what most tests begin with. `close` ends all of it.
export async function openConsole(options) {
    const ends = [];
    const close = async () => {
        while (ends.length > 0) await ends.pop()();
    };
    try {
        const place = makeFolder();
        ends.push(place.remove);
        const scheduler = await startScheduler(`file:${place.folder}/data`, '--with-worker', '--demo');
        ends.push(() => scheduler.stop());
        await whenLed(scheduler.address);
        const browser = await openBrowser(options);
        ends.push(browser.close);
        return { scheduler, browser, page: browser.page, close };
    } catch (error) {
        await close();
        throw error;
    }
}

// A page in a browser of its own. `complaints` are the errors that its console shows: a test ends with none.
export async function openBrowser(options = {}) {
    const browser = await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox'] });
    const context = await browser.newContext({
        viewport: { width: 1280, height: 900 },
        locale: 'en-GB',
        reducedMotion: 'reduce',
        ...options,
    });
    context.setDefaultTimeout(patienceMs);
    const page = await context.newPage();
    const complaints = [];
    page.on('pageerror', (error) => complaints.push(String(error)));
    page.on('console', (message) => {
        if (message.type() !== 'error') return;
        const { url } = message.location();
        complaints.push(`${message.text()} (${url})`);
    });
    page.on('request', (request) => {
        const { protocol, hostname } = new URL(request.url());
        if (protocol.startsWith('http') && hostname !== '127.0.0.1')
            complaints.push(`a request left the server: ${request.url()}`);
    });
    return { page, complaints, close: () => browser.close() };
}
