// pg-boss on PostgreSQL with a loop of fetch and complete: its work() polls twice a second at most.
import { setTimeout as sleep } from 'node:timers/promises';
import PgBoss from 'pg-boss';
import { versionOf } from '../version.mjs';

export async function open({ url, batch = 1000 }) {
  const boss = new PgBoss({ connectionString: url, max: 10, supervise: false, schedule: false });
  boss.on('error', (error) => console.error(error));
  await boss.start();
  await boss.createQueue('bench');
  let going = true;
  return {
    version: versionOf('pg-boss'),
    bulkSize: 1000,
    bulkWindow: 2,
    enqueueBulk: (payloads) => boss.insert(payloads.map((p) => ({ name: 'bench', data: { p } }))),
    enqueueOne: (p) => boss.send('bench', { p }),
    async consume(start, end) {
      const loop = async () => {
        while (going) {
          const jobs = await boss.fetch('bench', { batchSize: batch });
          if (jobs.length === 0) {
            await sleep(1);
            continue;
          }
          for (const job of jobs) start(job.data.p);
          await boss.complete('bench', jobs.map((job) => job.id));
          end(jobs.length);
        }
      };
      loop();
    },
    async settled() {}, // complete() resolves after its commit.
    async close() {
      going = false;
      await boss.stop({ graceful: false });
    },
  };
}
