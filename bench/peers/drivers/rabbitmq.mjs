// RabbitMQ: a quorum queue, publisher confirms, manual acknowledgements, several at once where the
// handler has finished several.
import amqp from 'amqplib';
import { versionOf } from '../version.mjs';

export async function open({ port, prefetch = 1000 }) {
  const connection = await amqp.connect(`amqp://127.0.0.1:${port}`, { noDelay: true });
  const channel = await connection.createConfirmChannel();
  await channel.assertQueue('bench', { durable: true, arguments: { 'x-queue-type': 'quorum' } });
  const publish = (payload) =>
    new Promise((resolve, reject) => {
      channel.sendToQueue('bench', Buffer.from(payload), { persistent: true }, (error) =>
        error ? reject(error) : resolve(),
      );
    });
  return {
    version: versionOf('amqplib'),
    bulkSize: 1000,
    bulkWindow: 4,
    enqueueBulk: (payloads) => Promise.all(payloads.map(publish)),
    enqueueOne: publish,
    async consume(start, end) {
      let last = null;
      let count = 0;
      const acknowledge = () => {
        channel.ack(last, true);
        end(count);
        last = null;
        count = 0;
      };
      await channel.prefetch(prefetch);
      await channel.consume('bench', (message) => {
        start(message.content.latin1Slice());
        if (!last) setImmediate(acknowledge);
        last = message;
        count += 1;
      });
    },
    // Acknowledgements are not answered; a question after them on the same channel is.
    settled: () => channel.checkQueue('bench'),
    close: () => connection.close(),
  };
}
