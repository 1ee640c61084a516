// A connection that sends many commands without waiting and hands each answer to whom it belongs:
// what beanstalkd's and gearmand's drivers share.
import net from 'node:net';

// `parse(buffer, at)` gives {next, ...answer}, or null while the answer is not all there.
export async function connect(port, parse, onAnswer) {
  const socket = net.connect({ host: '127.0.0.1', port, noDelay: true });
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  const fail = (error) => {
    console.error(error);
    process.exit(1); // A measurement whose connection broke is none.
  };
  let closing = false;
  socket.on('error', (error) => closing || fail(error));
  socket.on('close', () => closing || fail(new Error('the server closed the connection')));
  let left = Buffer.alloc(0);
  socket.on('data', (block) => {
    const buffer = left.length ? Buffer.concat([left, block]) : block;
    let at = 0;
    socket.cork(); // What the answers cause goes out as one write.
    for (let answer; (answer = parse(buffer, at)); at = answer.next) onAnswer(answer);
    socket.uncork();
    left = buffer.subarray(at);
  });
  return {
    write: (data) => socket.write(data, 'latin1'),
    close() {
      closing = true;
      socket.destroy();
    },
  };
}

// Who waits for an answer, in the order of the questions.
export class Waiting {
  #all = [];
  #next = 0;

  push(whom) {
    this.#all.push(whom);
  }

  shift() {
    const whom = this.#all[this.#next];
    this.#next += 1;
    if (this.#next === this.#all.length) {
      this.#all = [];
      this.#next = 0;
    }
    return whom;
  }
}

// Asks for tasks in rounds: one request that waits while there is nothing to do, then rounds that
// double while they come back full, so that a burst is taken in large steps and a single task at once.
export class Rounds {
  constructor(most, ask) {
    this.most = most;
    this.ask = ask; // ask(count): count requests that do not wait.
    this.size = 0;
    this.left = 0;
    this.missed = 0;
  }

  // An answer has come, with a task or without. True if the queue was empty: wait for a task.
  answered(hit) {
    this.left -= 1;
    if (!hit) this.missed += 1;
    if (this.left > 0) return false;
    if (this.missed > 0) return true;
    this.begin(Math.min(this.most, this.size * 2));
    return false;
  }

  begin(size) {
    this.expect(size);
    this.ask(size);
  }

  // As begin, for who has asked already.
  expect(size) {
    this.size = size;
    this.left = size;
    this.missed = 0;
  }
}
