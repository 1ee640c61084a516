// beanstalkd by its text protocol, pipelined.
import { connect, Rounds, Waiting } from '../lines.mjs';

const LINE = /^([A-Z_]+)(?: (\d+))?(?: (\d+))?/;

function parse(buffer, at) {
  const end = buffer.indexOf('\r\n', at, 'latin1');
  if (end < 0) return null;
  const [, word, id, size] = LINE.exec(buffer.latin1Slice(at, end)) ?? [];
  if (word !== 'RESERVED') return { next: end + 2, word, text: () => buffer.latin1Slice(at, end) };
  const next = end + 2 + Number(size) + 2;
  if (next > buffer.length) return null;
  return { next, word, id, body: buffer.latin1Slice(end + 2, next - 2) };
}

const put = (payload) => `put 1024 0 3600 ${payload.length}\r\n${payload}\r\n`;

async function openProducer(port) {
  const waiting = new Waiting();
  const link = await connect(port, parse, (answer) => {
    const { resolve, reject } = waiting.shift();
    if (answer.word === 'INSERTED') resolve();
    else reject(new Error(`put was answered by ${answer.text()}`));
  });
  const sent = () => new Promise((resolve, reject) => waiting.push({ resolve, reject }));
  return {
    bulkSize: 1000,
    bulkWindow: 4,
    enqueueBulk(payloads) {
      const all = payloads.map(sent);
      link.write(payloads.map(put).join(''));
      return Promise.all(all);
    },
    enqueueOne(payload) {
      link.write(put(payload));
      return sent();
    },
    close: () => link.close(),
  };
}

// A job can only be deleted by the connection that reserved it, and a `reserve` that waits holds up
// what is sent after it: so it is sent only when nothing else is left to say.
async function openConsumer(port) {
  let start;
  let end;
  const link = await connect(port, parse, (answer) => {
    if (answer.word === 'DELETED') return end(1);
    if (answer.word === 'RESERVED') {
      start(answer.body);
      link.write(`delete ${answer.id}\r\n`);
    } else if (answer.word !== 'TIMED_OUT') {
      throw new Error(`reserve was answered by ${answer.text()}`);
    }
    if (rounds.answered(answer.word === 'RESERVED')) waitForOne();
  });
  const rounds = new Rounds(256, (count) => link.write('reserve-with-timeout 0\r\n'.repeat(count)));
  const waitForOne = () => {
    rounds.expect(1);
    link.write('reserve\r\n');
  };
  return {
    async consume(onStart, onEnd) {
      start = onStart;
      end = onEnd;
      waitForOne();
    },
    async settled() {}, // Every delete was answered.
    close: () => link.close(),
  };
}

export async function open({ port, role }) {
  const queue = await (role === 'producer' ? openProducer(port) : openConsumer(port));
  return { version: 'own pipelined client', ...queue };
}
