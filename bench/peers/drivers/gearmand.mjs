// gearmand by its binary protocol, pipelined. Background jobs.
import { connect, Rounds, Waiting } from '../lines.mjs';

const CAN_DO = 1;
const PRE_SLEEP = 4;
const NOOP = 6;
const JOB_CREATED = 8;
const GRAB_JOB = 9;
const NO_JOB = 10;
const JOB_ASSIGN = 11;
const WORK_COMPLETE = 13;
const ECHO_REQ = 16;
const ECHO_RES = 17;
const SUBMIT_JOB_BG = 18;

function packet(type, ...fields) {
  const body = fields.join('\0');
  const head = Buffer.from('\0REQ\0\0\0\0\0\0\0\0', 'latin1');
  head.writeUInt32BE(type, 4);
  head.writeUInt32BE(body.length, 8);
  return head.latin1Slice() + body;
}

function parse(buffer, at) {
  if (buffer.length < at + 12) return null;
  const next = at + 12 + buffer.readUInt32BE(at + 8);
  if (buffer.length < next) return null;
  return { next, type: buffer.readUInt32BE(at + 4), body: () => buffer.latin1Slice(at + 12, next) };
}

async function openProducer(port) {
  const waiting = new Waiting();
  const link = await connect(port, parse, ({ type, body }) => {
    if (type !== JOB_CREATED) throw new Error(`a submit was answered by ${type}: ${body()}`);
    waiting.shift()();
  });
  const submit = (payload) => packet(SUBMIT_JOB_BG, 'bench', '', payload);
  const sent = () => new Promise((resolve) => waiting.push(resolve));
  return {
    bulkSize: 1000,
    bulkWindow: 4,
    async enqueueBulk(payloads) {
      let count = payloads.length;
      const all = new Promise((resolve) => {
        const one = () => --count === 0 && resolve();
        for (const _ of payloads) waiting.push(one);
      });
      link.write(payloads.map(submit).join(''));
      await all;
    },
    enqueueOne(payload) {
      link.write(submit(payload));
      return sent();
    },
    close: () => link.close(),
  };
}

async function openConsumer(port) {
  let start;
  let end;
  let echoed;
  const grab = packet(GRAB_JOB);
  const link = await connect(port, parse, ({ type, body }) => {
    if (type === NOOP) return rounds.left === 0 && rounds.begin(1);
    if (type === ECHO_RES) return echoed();
    if (type === JOB_ASSIGN) {
      const [handle, , payload] = body().split('\0');
      start(payload);
      link.write(packet(WORK_COMPLETE, handle, ''));
      end(1);
    } else if (type !== NO_JOB) {
      throw new Error(`a grab was answered by ${type}: ${body()}`);
    }
    if (rounds.answered(type === JOB_ASSIGN)) link.write(packet(PRE_SLEEP));
  });
  const rounds = new Rounds(256, (count) => link.write(grab.repeat(count)));
  return {
    async consume(onStart, onEnd) {
      start = onStart;
      end = onEnd;
      link.write(packet(CAN_DO, 'bench'));
      rounds.begin(1);
    },
    // Completions are not answered; an echo after them is.
    settled: () =>
      new Promise((resolve) => {
        echoed = resolve;
        link.write(packet(ECHO_REQ, 'settled'));
      }),
    close: () => link.close(),
  };
}

export async function open({ port, role }) {
  const queue = await (role === 'producer' ? openProducer(port) : openConsumer(port));
  return { version: 'own pipelined client', ...queue };
}
