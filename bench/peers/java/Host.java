import com.google.gson.Gson;
import com.google.gson.JsonObject;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.HashMap;
import java.util.Map;

/**
 * One side of a queue, producer or consumer, as a process of its own: java Host DRIVER. What host.mjs
 * is for the queues of JavaScript, with the same commands and answers; it says what they mean.
 */
public final class Host {
  private final String driver;
  private PeerQueue queue;
  private volatile Expected expected = new Expected(0, 0);

  private Host(String driver) {
    this.driver = driver;
  }

  /** The machine's monotonic clock in seconds, which all processes share. */
  static double now() {
    return System.nanoTime() / 1e9;
  }

  private PeerQueue open(JsonObject settings) throws Exception {
    return switch (driver) {
      case "db_scheduler" -> new DbSchedulerQueue(settings);
      case "quartz" -> new QuartzQueue(settings);
      default -> throw new IllegalArgumentException("there is no driver " + driver);
    };
  }

  private Map<String, Object> run(JsonObject command) throws Exception {
    String what = command.get("do").getAsString();
    Map<String, Object> answer = new HashMap<>();
    switch (what) {
      case "open" -> {
        queue = open(command.getAsJsonObject("settings"));
        answer.put("version", queue.version());
      }
      case "bulk" -> answer.put("begin", Enqueue.inBulk(queue, command));
      case "single" -> answer.put("begin", Enqueue.oneByOne(queue, command));
      case "evenly" -> answer.put("begin", Enqueue.evenly(queue, command));
      case "expect" -> expected =
          new Expected(command.get("from").getAsInt(), command.get("count").getAsInt());
      case "consume" -> {
        answer.put("begin", now());
        queue.consume(payload -> expected.start(payload), () -> expected.end());
      }
      case "await_all" -> {
        Expected awaited = expected;
        awaited.over.await();
        queue.settle();
        answer.put("at", now());
        Thread.sleep(200); // Copies that a queue delivers by mistake come late.
        awaited.report(answer);
      }
      default -> throw new IllegalArgumentException("there is no command " + what);
    }
    answer.putIfAbsent("at", now());
    return answer;
  }

  public static void main(String[] arguments) throws Exception {
    PrintStream answers = System.out;
    System.setOut(System.err); // What libraries print is no answer.
    Gson gson = new Gson();
    Host host = new Host(arguments[0]);
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      Map<String, Object> answer;
      try {
        answer = host.run(gson.fromJson(line, JsonObject.class));
      } catch (Exception error) {
        error.printStackTrace();
        answer = Map.of("error", error.toString());
      }
      answers.println(gson.toJson(answer));
    }
    System.exit(0); // Schedulers leave threads behind.
  }
}
