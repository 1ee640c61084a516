// graphile-worker on PostgreSQL with its local queue and batched completion, as its page on
// performance advises.
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import pg from 'pg';
import { versionOf } from '../version.mjs';

const logger = new Logger(() => (level, message) => level === 'error' && console.error(message));

export async function open({ url, concurrency = 24 }) {
  const pool = new pg.Pool({ connectionString: url, max: concurrency + 2 });
  pool.on('error', (error) => console.error(error));
  const utils = await makeWorkerUtils({ pgPool: pool, logger });
  await utils.migrate();
  let runner = null;
  return {
    version: versionOf('graphile-worker'),
    bulkSize: 1000,
    bulkWindow: 2,
    enqueueBulk: (payloads) =>
      utils.addJobs(payloads.map((p) => ({ identifier: 'noop', payload: { p } }))),
    enqueueOne: (p) => utils.addJob('noop', { p }),
    async consume(start, end) {
      const noop = async ({ p }) => {
        start(p);
        end(1);
      };
      runner = await run({
        preset: {
          worker: {
            concurrentJobs: concurrency,
            localQueue: { size: 500 },
            completeJobBatchDelay: 0,
            failJobBatchDelay: 0,
            pollInterval: 2000,
          },
        },
        pgPool: pool,
        taskList: { noop },
        noHandleSignals: true,
        logger,
      });
    },
    // Its events come before the batch of completions is written; a completed job's row is gone.
    async settled() {
      const left = 'select 1 from graphile_worker._private_jobs limit 1';
      while ((await pool.query(left)).rowCount > 0) await sleep(2);
    },
    async close() {
      await runner?.stop();
      await utils.release();
      await pool.end();
    },
  };
}
