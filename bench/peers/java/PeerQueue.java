import java.util.List;
import java.util.function.Consumer;

/** What a driver opens. Producers call it from several threads at once. */
interface PeerQueue {
  /** The library and its version. */
  String version();

  /** Tasks of one enqueueBulk. */
  int bulkSize();

  /** How many calls of enqueueBulk may be under way. */
  int bulkWindow();

  /** Returns when the server has accepted all. */
  void enqueueBulk(List<String> payloads) throws Exception;

  /** Returns when the server has accepted it. */
  void enqueueOne(String payload) throws Exception;

  /** Runs tasks from now on: start when a handler begins, end when it is over. */
  void consume(Consumer<String> start, Runnable end) throws Exception;

  /** Returns when the server knows of every completion. */
  void settle() throws Exception;
}
