// The worker in Node that `takt protocol-test` tests: node kit_worker.mjs URL PACKAGE.
import { setTimeout as sleep } from "node:timers/promises";

const { Failure, Worker } = await import(`${process.argv[3]}/dist/index.js`);

const worker = new Worker(process.argv[2], { id: "kit-node" })
  .handle("echo", (task) => task.payload)
  .handle("sleep", (task) => sleep(task.payload?.ms ?? 20, null, { signal: task.signal }))
  .handle("fail", () => {
    throw new Failure("failing on purpose");
  })
  .handle("log", (task) => {
    for (let at = 0; at < task.payload.lines; at++) task.log(`line ${at}`);
  })
  .handle("lock", (task) => task.withLock(task.payload.name, {}, ({ token }) => ({ token })));
await worker.run();
