import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.CountDownLatch;

/** What must arrive, exactly once each. Handlers of several threads tell it. */
final class Expected {
  static final int NUMBER_DIGITS = 10;
  static final int SENT_DIGITS = 16; // Microseconds.

  final CountDownLatch over;
  private final int from;
  private final boolean[] seen;
  private int started;
  private int ended;
  private int twice;
  private int stray;
  private double[] latencies = new double[1000];
  private int timed;

  Expected(int from, int count) {
    this.from = from;
    seen = new boolean[count];
    over = new CountDownLatch(count);
  }

  void start(String payload) {
    double at = Host.now();
    int index = Integer.parseInt(payload.substring(0, NUMBER_DIGITS)) - from;
    long sent = Long.parseLong(payload.substring(NUMBER_DIGITS, NUMBER_DIGITS + SENT_DIGITS));
    synchronized (this) {
      if (sent > 0) {
        if (timed == latencies.length) {
          latencies = Arrays.copyOf(latencies, 2 * timed);
        }
        latencies[timed++] = at * 1e3 - sent / 1e3;
      }
      if (index < 0 || index >= seen.length) {
        stray++;
      } else if (seen[index]) {
        twice++;
      } else {
        seen[index] = true;
        started++;
      }
    }
  }

  void end() {
    synchronized (this) {
      ended++;
    }
    over.countDown();
  }

  private static double percentile(double[] sorted, double fraction) {
    return sorted[Math.max(0, (int) Math.ceil(fraction * sorted.length) - 1)];
  }

  synchronized void report(Map<String, Object> answer) {
    answer.putAll(Map.of("distinct", started, "ended", ended, "twice", twice, "stray", stray));
    if (timed > 0) {
      double[] sorted = Arrays.copyOf(latencies, timed);
      Arrays.sort(sorted);
      answer.put(
          "latency_ms",
          Map.of(
              "tasks", timed,
              "p50", percentile(sorted, 0.5),
              "p99", percentile(sorted, 0.99),
              "max", sorted[timed - 1]));
    }
  }
}
