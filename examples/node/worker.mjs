// A Takt worker in Node, from docs/worker_protocol.md alone.
//
//   cd examples/node && npm install && node worker.mjs ws://127.0.0.1:8080 [id] [token]
//
// Node's own WebSocket (22 and later) cannot send an Authorization header; the package `ws` can.
import { WebSocket } from "ws";
import { randomUUID } from "node:crypto";

const [server = "ws://127.0.0.1:8080", id = "node-worker", token] = process.argv.slice(2);

const handlers = {
  "js.add": async ({ a, b }, log) => {
    log(`adding ${a} and ${b}`);
    return a + b;
  },
  "js.upper": async (text) => text.toUpperCase(),
};
const instance = randomUUID();
const held = new Map(); // token → { attempt, result once it ended }
let epoch = "0";
let socket;

// What cannot be sent now is said again after the next welcome.
const send = (frame) => socket.readyState === 1 && socket.send(JSON.stringify(frame));

async function run({ attempt, type, payload }) {
  send({ started: [{ attempt }] });
  const result = { attempt, success: true };
  try {
    const log = (line) => send({ logs: [{ attempt, lines: [line] }] });
    result.data = JSON.stringify(await handlers[type](JSON.parse(payload || "null"), log));
  } catch (error) {
    Object.assign(result, { success: false, code: 1, message: String(error) });
  }
  held.get(attempt.token).result = result;
  send({ results: [result] });
}

function connect(url) {
  let next = server;
  let beat;
  let heard = performance.now();
  let lease = Infinity;
  const options = token ? { headers: { Authorization: `Bearer ${token}` } } : undefined;
  socket = new WebSocket(url + "/api/v1/workers/attach", options);
  socket.onopen = () =>
    send({
      hello: {
        protocol: 1, worker_id: id, instance, types: Object.keys(handlers), capacity: 4,
        epoch_seen: epoch, version: "worker.mjs", holding: [...held.values()].map((h) => h.attempt),
      },
    });
  socket.onmessage = ({ data }) => {
    // This process slept for longer than its lease: what lies in the socket is others' by now.
    if (performance.now() - heard > lease) return socket.terminate();
    heard = performance.now();
    const frame = JSON.parse(data);
    if (frame.refused) {
      console.error("refused:", frame.refused.message);
      process.exit(1);
    }
    if (frame.moved) next = frame.moved.address.replace("http", "ws") || server;
    if (frame.welcome) {
      epoch = frame.welcome.epoch;
      lease = frame.welcome.lease_ms;
      for (const { result } of held.values()) if (result) send({ results: [result] });
      beat = setInterval(() => send({ heartbeat: {} }), frame.welcome.heartbeat_ms);
    }
    for (const assign of frame.assigns ?? []) {
      held.set(assign.attempt.token, { attempt: assign.attempt });
      run(assign);
    }
    for (const { attempt } of frame.acks ?? []) held.delete(attempt.token);
  };
  socket.onerror = () => {}; // onclose follows
  socket.onclose = () => {
    clearInterval(beat);
    setTimeout(connect, 1000 * Math.random(), next);
  };
}
connect(server);
