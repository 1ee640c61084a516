// What tests/packages/node_test.py runs in Node: node node_scenarios.mjs SCENARIO FOLDER URL…
import assert from "node:assert/strict";
import fs, { appendFileSync, existsSync } from "node:fs";
import http from "node:http";
import { syncBuiltinESMExports } from "node:module";
import os from "node:os";
import { setTimeout as sleep } from "node:timers/promises";

const takt = await import(`${process.env.TAKT_NODE_PACKAGE}/dist/index.js`);
const [scenario, folder, ...urls] = process.argv.slice(2);
const client = new takt.Client(urls, { patience: 30 });

async function until(isSo, what) {
  for (const end = performance.now() + 30_000; performance.now() < end; await sleep(20)) {
    const value = await isSo();
    if (value) return value;
  }
  assert.fail(`not in time: ${what}`);
}
const rejects = async (promise, kind, check = () => {}) => {
  const error = await promise.then(() => assert.fail("it was not refused"), (thrown) => thrown);
  assert.ok(error instanceof kind, `${error.name} instead of ${kind.name}: ${error.stack}`);
  check(error);
};

const scenarios = {
  // Behind a network that swallows packets each of several servers is waited for. Others have the lock by then.
  async silent() {
    const servers = await Promise.all(Array.from({ length: 5 }, async () => {
      const server = http.createServer(({ url }, answer) => {
        if (url.endsWith("/acquire")) answer.end(JSON.stringify({ lock_id: "l1", token: 7 }));
      });
      await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
      return server;
    }));
    const all = new takt.Client(servers.map((one) => `http://127.0.0.1:${one.address().port}`));
    const lock = await all.lock("far", { ttl: 2 });
    const asked = performance.now();
    await until(() => lock.signal.aborted, "the loss is told");
    assert.ok(performance.now() - asked < 2300, `told after ${performance.now() - asked} ms`);
    all.close();
    for (const one of servers) one.closeAllConnections(), one.close();
  },

  // A name stands for very many servers. What is left of a lease, divided by them, is less than any answer takes.
  async many() {
    const server = http.createServer(({ url }, answer) => {
      const given = url.endsWith("/acquire") ? { lock_id: "l1", token: 7 } : {};
      setTimeout(() => answer.end(JSON.stringify(given)), 3);
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    const all = new takt.Client(Array(2000).fill(`http://127.0.0.1:${server.address().port}`));
    const ttl = 1.5;
    const lock = await all.lock("near", { ttl });
    const taken = performance.now();
    await until(() => lock.signal.aborted || performance.now() - taken > 2 * ttl * 1000, "it is lost, or has outlived its lease");
    lock.check();
    await lock.release();
    all.close();
    server.closeAllConnections(), server.close();
  },

  // The scheduler is played here: it gives everything out again that a Hello does not name.
  async late() {
    const { WebSocketServer } = await import(`${process.env.TAKT_NODE_PACKAGE}/node_modules/ws/wrapper.mjs`);
    const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
    await new Promise((resolve) => server.on("listening", resolve));
    const lease_ms = 1000;
    const ran = [];
    let sessions = 0;
    let blockedIn = 0;
    server.on("connection", (socket) => {
      const own = ++sessions;
      socket.on("message", (text) => {
        const frame = JSON.parse(text);
        if (frame.heartbeat) socket.send(JSON.stringify({ beat: { sent_at_ms: frame.heartbeat.sent_at_ms } }));
        if (!frame.hello) return;
        const named = new Set(frame.hello.holding.map((one) => one.execution_id));
        const ids = ["block", "pay-1", "pay-2"].filter((id) => !named.has(id) && !ran.some((one) => one.id === id));
        const assigns = ids.map((id) => ({
          attempt: { execution_id: id, attempt: own, token: "a" }, epoch: "1", type: id.split("-")[0], payload: "",
        }));
        socket.send(JSON.stringify({ welcome: { epoch: "1", heartbeat_ms: 100, lease_ms } }));
        socket.send(JSON.stringify({ assigns }));
      });
    });
    const worker = new takt.Worker(`http://127.0.0.1:${server.address().port}`, { onEvent: () => {} });
    worker.handle("block", (task) => {
      ran.push({ id: "block", session: (blockedIn = task.attempt) });
      for (const end = performance.now() + lease_ms + 1; performance.now() < end; );
    });
    worker.handle("pay", (task) => void ran.push({ id: task.executionId, session: task.attempt }));
    worker.start();
    await until(() => ran.length >= 3, "both were run in a later session");
    assert.deepEqual(ran.map((one) => one.id).sort(), ["block", "pay-1", "pay-2"]);
    for (const one of ran.slice(1)) assert.ok(one.session > blockedIn, `${one.id} was begun after the lease`);
    process.exit(0);
  },
  // Until it is killed; nothing is listened to.
  async trust() {
    new takt.Worker(urls, { caFile: `${folder}/ca.pem` }).handle("echo", (task) => task.payload).start();
    const other = new takt.Client(urls, { caFile: `${folder}/ca.pem`, patience: 0 });
    for (;;) {
      await other.submit("echo").catch((error) => console.log(error.message));
      await sleep(200);
    }
  },
  // Read when it was replaced, not for every question; one that is away is told of once.
  async trust_file() {
    const { Trust } = await import(`${process.env.TAKT_NODE_PACKAGE}/dist/trust.js`);
    const { readFileSync } = fs;
    const warnings = [];
    process.on("warning", (warning) => warnings.push(warning.message));
    let reads = 0;
    fs.readFileSync = (...given) => {
      if (given[0] === `${folder}/ca.pem`) ++reads;
      return readFileSync(...given);
    };
    syncBuiltinESMExports();
    const trust = new Trust(`${folder}/ca.pem`);
    const first = trust.ca;
    assert.equal(trust.ca, first);
    assert.equal(reads, 1);
    for (const times of [1, 2]) {
      fs.renameSync(`${folder}/ca.pem`, `${folder}/ca.away`);
      for (let i = 0; i < 5; ++i) assert.equal(trust.ca, first);
      await sleep(10);
      assert.equal(warnings.length, times, warnings.join("\n"));
      fs.renameSync(`${folder}/ca.away`, `${folder}/ca.pem`);
      assert.equal(trust.ca, first);
    }
    fs.copyFileSync(`${folder}/second.pem`, `${folder}/ca.pem`);
    assert.deepEqual(trust.ca, readFileSync(`${folder}/second.pem`));
    assert.equal(reads, 2);
  },
  async client() {
    const worker = new takt.Worker(urls).handle("echo", (task) => task.payload).handle("bad", () => null.x).start();
    assert.deepEqual((await client.run("echo", { name: "Bärlauch 韭" }, { priority: "high" })).result, {
      name: "Bärlauch 韭",
    });
    await rejects(client.run("bad", 1, { max_retry: 0 }), takt.ExecutionFailed, (error) =>
      assert.match(error.execution.error.message, /TypeError/));
    assert.equal((await client.submit("echo", 1, { id: "mine" })).id, "mine");
    assert.equal((await client.submit("echo", 1, { id: "mine" })).id, "mine");
    await rejects(client.submit("echo", 2, { id: "mine" }), takt.Conflict);
    const many = await client.submitMany([{ type: "echo", parameters: 1 }, { type: "echo", priority: 99 }]);
    assert.deepEqual(many.map(({ status }) => status), [201, 400]);
    const task = await client.submit("echo", { day: 1 }, { id: "nightly", cron: "0 2 * * *", timezone: "Asia/Shanghai" });
    assert.equal((await client.fires("nightly", 3)).length, 3);
    const run = await client.wait((await client.trigger("nightly", { day: 2 }, "by-hand")).id);
    assert.deepEqual([run.id, run.result], ["by-hand", { day: 2 }]);
    await client.updateTask("nightly", { max_retry: 4 }, task.version);
    await rejects(client.updateTask("nightly", { max_retry: 5 }, task.version), takt.Conflict);
    assert.equal((await client.pauseTask("nightly")).enabled, false);
    assert.equal((await client.resumeTask("nightly")).enabled, true);
    assert.equal((await client.listTasks({ name: "echo" })).items.length, 1);
    await client.deleteTask("nightly");
    await rejects(client.getTask("nightly"), takt.NotFound);
    await worker.stop();
  },

  async capacity() {
    let running = 0;
    let goOn;
    const released = new Promise((resolve) => (goOn = resolve));
    const worker = new takt.Worker(urls, { id: "js-capacity", concurrency: 1 }).handle("held", () => {
      running++;
      return released;
    }).start();
    assert.throws(() => worker.setCapacity(0), (error) => error.field === "capacity");
    const runs = [];
    for (let i = 0; i < 6; i++) runs.push(await client.submit("held"));
    await until(() => running === 1, "one runs");
    worker.setCapacity(3);
    await until(() => running === 3, "three run");
    const row = await client.call("PUT", "workers/js-capacity/capacity", { capacity: 5 });
    assert.deepEqual([row.capacity, row.capacity_own, row.capacity_set], [5, 3, 5]);
    assert.equal(row.version, "0.1.0");
    await until(() => running === 5 && worker.capacity === 5, "five run, and the worker is told");
    await client.call("PUT", "workers/js-capacity/capacity", { capacity: null });
    await until(() => worker.capacity === 3, "its own counts again");
    goOn();
    for (const run of runs) assert.equal((await client.wait(run.id)).status, "success");
    await worker.stop();
  },

  async errors() {
    await rejects(client.submit("echo", 1, { timeout: -1 }), takt.Invalid, ({ field }) => assert.equal(field, "timeout"));
    assert.throws(() => client.submit("echo", 1, { run_at: new Date("nonsense") }), takt.Invalid);
    assert.throws(() => new takt.Client("localhost:8080"), (error) => error.field === "servers");
    assert.throws(() => new takt.Worker(urls, { concurrency: 0 }), (error) => error.field === "concurrency");
    const waiting = await client.submit("nobody-runs-this", 1, { run_at: new Date(0) });
    await rejects(client.wait(waiting.id, 0.1), takt.WaitTimeout);
    assert.match(await client.explain(waiting.id), /worker/);
    assert.equal((await client.cancel(waiting.id)).status, "cancelled");
    await rejects(new takt.Client("http://127.0.0.1:1", { patience: 0.2 }).get("x"), takt.Unavailable);
    assert.ok(Array.isArray((await new takt.Client(["http://127.0.0.1:1", ...urls]).listExecutions()).items));
    const closing = new takt.Client(urls);
    const other = await client.submit("nobody-runs-this");
    setTimeout(() => closing.close(), 200);
    await rejects(closing.wait(other.id, 30), takt.Stopped);
  },

  // The same of who cancels, and is not told that it has ended already. folder is the execution.
  async lost_cancel() {
    assert.equal((await client.cancel(folder)).status, "cancelled");
    await rejects(client.cancel(folder), takt.Conflict);
  },

  // The first answer to a POST is lost on its way; folder is the scheduler behind that network.
  async lost_answer() {
    const made = await client.submit("echo", 1);
    const rows = await new takt.Client(folder).listExecutions({ type: "echo" });
    assert.deepEqual(rows.items.map(({ id }) => id), [made.id]);
  },

  async locks() {
    const first = await client.withLock("ledger", { ttl: 2, owner: "first" }, async (lock) => {
      await rejects(client.lock("ledger", { wait: 0.1 }), takt.LockBusy, ({ holders }) =>
        assert.equal(holders[0].owner, "first"));
      await sleep(2500); // Longer than its lease: it was renewed.
      lock.check();
      await client.call("DELETE", "locks/ledger");
      await until(() => lock.signal.aborted, "the loss is told");
      assert.throws(() => lock.check(), takt.LockLost);
      return lock.token;
    });
    const worker = new takt.Worker(urls).handle("book", (task) =>
      task.withLock("ledger", { wait: 5 }, ({ token }) => ({ declared: task.lockTokens.gpu, asked: token })));
    worker.start();
    const { result } = await client.run("book", undefined, { locks: ["gpu"] });
    assert.ok(first < result.declared && result.declared < result.asked, JSON.stringify({ first, result }));
    await worker.stop();
    // The machine is suspended: what Node measures by stands still, the time of the lock does not.
    const slept = await client.lock("slept", { ttl: 30 });
    slept.check();
    const { uptime } = os;
    os.uptime = () => uptime() + 31;
    assert.throws(() => slept.check(), takt.LockLost);
    os.uptime = uptime;
    await slept.release();
  },

  // An operator takes the locks away one after the other while handlers are at work.
  async lost_locks() {
    const lose = async (lock, takeAway = () => client.call("DELETE", `locks/${lock.name}`)) => {
      lock.check();
      await takeAway();
      await until(() => lock.signal.aborted, `the loss of ${lock.name} is told`);
      assert.throws(() => lock.check(), takt.LockLost);
    };
    let waiting = 0;
    const both = async () => ++waiting === 1 ? until(() => waiting === 2, "both run") : client.call("DELETE", "locks/ledger");
    const worker = new takt.Worker(urls)
      .handle("book", (task) => task.withLock("ledger", { wait: 5 }, async (ledger) => {
        assert.equal(task.locks.gpu.token, task.lockTokens.gpu);
        await lose(task.locks.gpu);
        task.locks.disk.check();
        await lose(ledger);
        return task.withLock("ledger", { wait: 5 }, (again) => again.check() ?? "heard");
      }))
      .handle("part", (task) => lose(task.locks.ledger, both))
      .start();
    assert.equal((await client.run("book", undefined, { locks: ["gpu", "disk"], max_retry: 0 })).result, "heard");
    const run = await client.submit("flow", undefined, {
      locks: ["ledger"],
      steps: [{ name: "parts", type: "part", shards: 2, max_retry: 0 }],
    });
    assert.equal((await client.wait(run.id)).status, "success");
    await worker.stop();
  },

  async flow() {
    const worker = new takt.Worker(urls)
      .handle("part", (task) => ({ part: task.shard.index, of: task.shard.total, in: task.parentId }))
      .handle("sum", ({ payload }) => payload.parts.length)
      .start();
    const run = await client.submit("flow", undefined, {
      steps: [
        { name: "split", type: "part", shards: 3 },
        { name: "sum", after: ["split"], payload: { parts: { $from: "split" } } },
      ],
    });
    assert.equal((await client.wait(run.id)).result, 3);
    assert.deepEqual(await client.stepResults(run.id, "split"), [0, 1, 2].map((part) => ({ part, of: 3, in: run.id })));
    assert.equal((await client.steps(run.id)).length, 2);
    await worker.stop();
    await client.createNamespace("billing");
    const billing = new takt.Client(urls, { namespace: "billing" });
    const there = new takt.Worker(urls, { namespace: "billing" }).handle("where", () => "billing").start();
    assert.equal((await billing.run("where")).result, "billing");
    assert.deepEqual((await client.listExecutions({ type: "where" })).items, []);
    await there.stop();
  },

  async telling() {
    let release;
    const released = new Promise((resolve) => (release = resolve));
    const ends = [];
    const nested = (depth) => {
      let value = "[".repeat(100) + '\\"';
      for (let i = 0; i < depth; i++) value = depth % 2 ? [value] : { a: value };
      return value;
    };
    const worker = new takt.Worker(urls, { id: "node-1", stopGrace: 1 })
      .handle("talk", async (task) => {
        task.log("page 1\npage 2");
        task.progress(0.25, "3 of 12");
        await released;
        return { metadata: task.metadata, attempt: task.attempt };
      })
      .handle("flaky", ({ failures }) => {
        if (failures < 2) throw new takt.Failure("the printer is busy", { code: 429 });
        return failures;
      })
      .handle("picky", () => {
        throw new takt.Rejected("no field invoice");
      })
      .handle("funds", ({ payload }) => {
        throw new takt.Failure("empty", { code: payload });
      })
      .handle("huge", () => "x".repeat(2 << 20))
      .handle("long", () => ({ n: [1e20] }))
      .handle("half", () => ({ a: "a\ud800b" }))
      .handle("nested", ({ payload }) => nested(payload))
      .handle("mute", () => {
        throw Object.create(null);
      })
      .handle("most", () => ["9".repeat(30), 1e22, "\u{1f600}\\ud800"])
      .handle("deaf", () => sleep(8000))
      .handle("slow", async (task) => {
        await sleep(60_000, undefined, { signal: task.signal }).catch((error) => {
          ends.push(task.stopReason);
          throw error;
        });
      })
      .start();
    const run = await client.submit("talk", undefined, { metadata: { customer: "42" } });
    await until(async () => (await client.get(run.id)).progress?.message === "3 of 12", "progress is told");
    release();
    const done = await client.wait(run.id);
    assert.deepEqual([done.result, done.worker_id], [{ metadata: { customer: "42" }, attempt: 1 }, "node-1"]);
    assert.deepEqual(await client.log(run.id), ["page 1", "page 2"]);
    assert.equal((await client.run("flaky", 1, { retry_policy: { max_retries: 5, delay: 0.01 } })).result, 2);
    for (const [type, text, code = "handler_failed"] of [
      ["picky", "no field invoice", "rejected"],
      ["huge", "the limit"],
      ["long", "beyond 64 bits"],
      ["half", "surrogate pair"],
      ["mute", "a thrown object that has no text"],
    ]) {
      const ended = await client.wait((await client.submit(type, 1, { max_retry: 0 })).id);
      assert.deepEqual([ended.status, ended.error.code], ["failed", code], type);
      assert.ok(ended.error.message.includes(text), ended.error.message);
    }
    for (const [code, text] of [["INSUFFICIENT_FUNDS", "INSUFFICIENT_FUNDS: empty"], [2 ** 40, "1099511627776: empty"], [7, "empty"]]) {
      const ended = await client.wait((await client.submit("funds", code, { retry_policy: { max_retries: 1, delay: 0.01 } })).id);
      assert.deepEqual([ended.status, ended.attempt, ended.error.message], ["failed", 2, text]);
    }
    for (const depth of [65, 66, 1000]) {
      const ended = await client.wait((await client.submit("nested", depth, { max_retry: 3 })).id);
      assert.deepEqual([ended.status, ended.attempt], ["failed", 1]);
      assert.equal(ended.error.message, "the result cannot be kept: it is nested deeper than 64");
    }
    for (const depth of [63, 64]) assert.deepEqual((await client.run("nested", depth)).result, nested(depth));
    assert.deepEqual((await client.run("most")).result, ["9".repeat(30), 1e22, "\u{1f600}\\ud800"]);
    for (const type of ["slow", "deaf"]) {
      const late = await client.wait((await client.submit(type, 1, { timeout: 0.3, max_retry: 0 })).id);
      assert.deepEqual([late.status, late.error.code], ["failed", "timeout"], type);
    }
    const cancelled = await client.submit("slow");
    await until(async () => (await client.get(cancelled.id)).status === "running", "it runs");
    await client.cancel(cancelled.id);
    assert.equal((await client.wait(cancelled.id)).status, "cancelled");
    await until(() => worker.inHand === 0, "nothing is in hand");
    assert.deepEqual(ends, ["timeout", "cancelled"]);
    await worker.stop();
  },

  // node_test.py kills the leader when all have begun, then makes the file `release`.
  async killed_leader() {
    const worker = new takt.Worker(urls, { id: "node-kill", concurrency: 8 }).handle("work", async (task) => {
      appendFileSync(`${folder}/begun`, `${task.executionId}\n`);
      while (!existsSync(`${folder}/release`)) await sleep(20);
      return task.payload;
    });
    worker.start();
    const runs = [];
    for (let at = 0; at < 8; at++) runs.push(await client.submit("work", { at }, { timeout: 120 }));
    for (const [at, run] of runs.entries()) {
      const done = await client.wait(run.id, 90);
      assert.deepEqual([done.status, done.result, done.attempt], ["success", { at }, 1]);
    }
    await worker.stop();
  },

  // node_test.py sends SIGTERM while it runs.
  async until_stopped() {
    const worker = new takt.Worker(urls, { id: "node-stop" }).handle("slow", async (task) => {
      appendFileSync(`${folder}/begun`, "slow\n");
      await sleep(1500, undefined, { signal: task.signal });
      return "whole";
    });
    await worker.run();
  },

  async handed_back() {
    const first = new takt.Worker(urls, { id: "first", drainTimeout: 0.2, stopGrace: 1 });
    first.handle("long", (task) => sleep(60_000, undefined, { signal: task.signal })).start();
    const run = await client.submit("long");
    await until(async () => (await client.get(run.id)).status === "running", "it runs");
    await first.stop();
    const second = new takt.Worker(urls, { id: "second" }).handle("long", () => "done by another").start();
    const done = await client.wait(run.id, 20);
    assert.deepEqual([done.result, done.failures], ["done by another", 0]);
    await second.stop();
  },
};

await scenarios[scenario]();
client.close();
