// One side of a queue, producer or consumer, as a process of its own:  node host.mjs DRIVER
//
// Commands come as lines of JSON on standard input, each answered by one line: {"at": ...} with the
// machine's monotonic clock in seconds, which all processes share, or {"error": ...}. run.py gives
// the commands and takes the times.
//
// A driver is one file in drivers/ with `open(settings)`, which gives
//   version               what it really talks to, as text
//   bulkSize, bulkWindow  tasks per enqueueBulk, and how many of these calls may be under way
//   enqueueBulk(payloads) resolves when the server has accepted all
//   enqueueOne(payload)   resolves when the server has accepted it
//   consume(start, end)   runs tasks from now on: start(payload) when the handler begins,
//                         end(count) when so many more are completed
//   settled()             resolves when the server knows of every completion
//   close()
import readline from 'node:readline';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

const HEAD = 26; // Ten digits of number, sixteen of microseconds.

function now() {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds + nanoseconds / 1e9;
}

function payloadOf(number, bytes, sentAt = 0) {
  const head = String(number).padStart(10, '0') + String(Math.round(sentAt * 1e6)).padStart(16, '0');
  return head.padEnd(bytes, 'x');
}

// What must arrive, exactly once each.
class Expected {
  constructor(from, count) {
    this.from = from;
    this.seen = new Uint8Array(count);
    this.started = 0;
    this.ended = 0;
    this.twice = 0;
    this.stray = 0;
    this.latencies = [];
    this.over = new Promise((resolve) => (this.finish = resolve));
  }

  start(payload) {
    const index = Number(payload.slice(0, 10)) - this.from;
    const sentAt = Number(payload.slice(10, HEAD));
    if (sentAt > 0) this.latencies.push(now() * 1e3 - sentAt / 1e3);
    if (!(index >= 0 && index < this.seen.length)) this.stray += 1;
    else if (this.seen[index]) this.twice += 1;
    else {
      this.seen[index] = 1;
      this.started += 1;
    }
  }

  end(count) {
    this.ended += count;
    if (this.ended >= this.seen.length) this.finish();
  }

  report() {
    const sorted = Float64Array.from(this.latencies).sort();
    const percentile = (fraction) => sorted[Math.max(0, Math.ceil(fraction * sorted.length) - 1)];
    return {
      distinct: this.started,
      ended: this.ended,
      twice: this.twice,
      stray: this.stray,
      latency_ms: sorted.length
        ? { tasks: sorted.length, p50: percentile(0.5), p99: percentile(0.99), max: sorted.at(-1) }
        : null,
    };
  }
}

let queue = null;
let expected = new Expected(0, 0);

async function enqueueInBulk({ from, count, bytes }) {
  const begin = now();
  let next = from;
  const lane = async () => {
    while (next < from + count) {
      const first = next;
      next = Math.min(first + queue.bulkSize, from + count);
      const payloads = [];
      for (let number = first; number < next; number += 1) payloads.push(payloadOf(number, bytes));
      await queue.enqueueBulk(payloads);
    }
  };
  await Promise.all(Array.from({ length: queue.bulkWindow }, lane));
  return { begin };
}

async function enqueueOneByOne({ from, count, bytes }) {
  const begin = now();
  for (let number = from; number < from + count; number += 1) {
    await queue.enqueueOne(payloadOf(number, bytes));
  }
  return { begin };
}

// At an even rate, however long each call takes: a slow answer must not thin out the load.
async function enqueueEvenly({ from, count, bytes, rate }) {
  const begin = now();
  const under_way = [];
  for (let sent = 0; sent < count; ) {
    const due = Math.min(count, Math.floor((now() - begin) * rate) + 1);
    for (; sent < due; sent += 1) {
      under_way.push(queue.enqueueOne(payloadOf(from + sent, bytes, now())));
    }
    // Timers of Node have a millisecond; half the interval of 500 per second.
    await sleep(1);
  }
  await Promise.all(under_way);
  return { begin };
}

const commands = {
  async open({ settings }) {
    queue = await (await import(`./drivers/${process.argv[2]}.mjs`)).open(settings);
    return { version: queue.version, node: process.version };
  },
  bulk: enqueueInBulk,
  single: enqueueOneByOne,
  evenly: enqueueEvenly,
  async expect({ from, count }) {
    expected = new Expected(from, count);
    return {};
  },
  async consume() {
    const begin = now();
    await queue.consume(
      (payload) => expected.start(payload),
      (count) => expected.end(count),
    );
    return { begin };
  },
  async await_all() {
    await expected.over;
    await queue.settled();
    const at = now();
    // Copies that a queue delivers by mistake come late.
    await sleep(200);
    return { at, ...expected.report() };
  },
  async close() {
    await queue.close();
    return {};
  },
};

process.on('unhandledRejection', (error) => {
  console.error(error);
  process.exit(1);
});

for await (const line of readline.createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  let answer;
  try {
    answer = { at: 0, ...(await commands[command.do](command)) };
    answer.at ||= now();
  } catch (error) {
    answer = { error: error.stack };
  }
  process.stdout.write(JSON.stringify(answer) + '\n');
  if (command.do === 'close') break;
  await nextTurn();
}
process.exit(0); // Drivers may leave timers behind.
