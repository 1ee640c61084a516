// bee-queue on Redis. Without events and with finished jobs removed, as its readme advises for speed.
import Queue from 'bee-queue';
import { versionOf } from '../version.mjs';

export async function open({ port, role, concurrency = 100 }) {
  const queue = new Queue('bench', {
    redis: { host: '127.0.0.1', port },
    isWorker: role === 'consumer',
    getEvents: false,
    sendEvents: false,
    storeJobs: false,
    removeOnSuccess: true,
  });
  await queue.ready();
  return {
    version: versionOf('bee-queue'),
    bulkSize: 1000,
    bulkWindow: 2,
    async enqueueBulk(payloads) {
      const failed = await queue.saveAll(payloads.map((p) => queue.createJob({ p })));
      if (failed.size > 0) throw [...failed.values()][0];
    },
    enqueueOne: (p) => queue.createJob({ p }).save(),
    async consume(start, end) {
      queue.process(concurrency, async (job) => start(job.data.p));
      queue.on('succeeded', () => end(1));
      queue.on('error', (error) => console.error(error));
    },
    async settled() {}, // `succeeded` comes after Redis has answered.
    close: () => queue.close(1000),
  };
}
