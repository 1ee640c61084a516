// BullMQ on Redis. Completed jobs are removed at once, its leanest setting.
import { Queue, Worker } from 'bullmq';
import { versionOf } from '../version.mjs';

export async function open({ port, concurrency = 100 }) {
  const connection = { host: '127.0.0.1', port, maxRetriesPerRequest: null };
  const queue = new Queue('bench', {
    connection,
    defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
  });
  await queue.waitUntilReady();
  let worker = null;
  return {
    version: versionOf('bullmq'),
    bulkSize: 1000,
    bulkWindow: 2,
    enqueueBulk: (payloads) => queue.addBulk(payloads.map((p) => ({ name: 'noop', data: { p } }))),
    enqueueOne: (p) => queue.add('noop', { p }),
    async consume(start, end) {
      worker = new Worker('bench', async (job) => start(job.data.p), { connection, concurrency });
      worker.on('completed', () => end(1));
      worker.on('error', (error) => console.error(error));
    },
    async settled() {}, // `completed` comes after the script that removes the job.
    async close() {
      await worker?.close();
      await queue.close();
    },
  };
}
