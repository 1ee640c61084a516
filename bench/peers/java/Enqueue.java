import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

/** The producer's three ways to enqueue; each gives the time at which it began. */
final class Enqueue {
  private static final int EVEN_LANES = 32;

  private Enqueue() {}

  private static String payloadOf(int number, int bytes, double sentAt) {
    String head = String.format("%010d%016d", number, Math.round(sentAt * 1e6));
    return head + "x".repeat(Math.max(0, bytes - head.length()));
  }

  static double inBulk(PeerQueue queue, JsonObject command) throws Exception {
    double begin = Host.now();
    int from = command.get("from").getAsInt();
    int end = from + command.get("count").getAsInt();
    int bytes = command.get("bytes").getAsInt();
    AtomicInteger next = new AtomicInteger(from);
    List<Future<?>> lanes = new ArrayList<>();
    try (Lanes threads = new Lanes(queue.bulkWindow())) {
      for (int lane = 0; lane < queue.bulkWindow(); lane++) {
        lanes.add(
            threads.run(
                () -> {
                  for (int first; (first = next.getAndAdd(queue.bulkSize())) < end; ) {
                    List<String> payloads = new ArrayList<>();
                    int last = Math.min(first + queue.bulkSize(), end);
                    for (int number = first; number < last; number++) {
                      payloads.add(payloadOf(number, bytes, 0));
                    }
                    queue.enqueueBulk(payloads);
                  }
                }));
      }
      for (Future<?> lane : lanes) {
        lane.get();
      }
    }
    return begin;
  }

  static double oneByOne(PeerQueue queue, JsonObject command) throws Exception {
    double begin = Host.now();
    int from = command.get("from").getAsInt();
    int end = from + command.get("count").getAsInt();
    for (int number = from; number < end; number++) {
      queue.enqueueOne(payloadOf(number, command.get("bytes").getAsInt(), 0));
    }
    return begin;
  }

  /** At an even rate, however long each call takes: a slow answer must not thin out the load. */
  static double evenly(PeerQueue queue, JsonObject command) throws Exception {
    double begin = Host.now();
    int from = command.get("from").getAsInt();
    int count = command.get("count").getAsInt();
    int bytes = command.get("bytes").getAsInt();
    double rate = command.get("rate").getAsDouble();
    List<Future<?>> underWay = new ArrayList<>();
    try (Lanes threads = new Lanes(EVEN_LANES)) {
      for (int sent = 0; sent < count; Thread.sleep(1)) {
        int due = Math.min(count, (int) ((Host.now() - begin) * rate) + 1);
        for (; sent < due; sent++) {
          // The time is taken before it waits for a thread: that is the queue's delay, too.
          String payload = payloadOf(from + sent, bytes, Host.now());
          underWay.add(threads.run(() -> queue.enqueueOne(payload)));
        }
      }
      for (Future<?> call : underWay) {
        call.get();
      }
    }
    return begin;
  }

  private interface Work {
    void run() throws Exception;
  }

  /** Threads for calls that wait for their answers. */
  private static final class Lanes implements AutoCloseable {
    private final ExecutorService threads;

    Lanes(int count) {
      threads = Executors.newFixedThreadPool(count);
    }

    Future<?> run(Work work) {
      return threads.submit(
          () -> {
            work.run();
            return null;
          });
    }

    @Override
    public void close() {
      threads.shutdownNow();
    }
  }
}
