import com.github.kagkarlsson.scheduler.Scheduler;
import com.github.kagkarlsson.scheduler.SchedulerClient;
import com.github.kagkarlsson.scheduler.task.TaskInstance;
import com.github.kagkarlsson.scheduler.task.helper.OneTimeTask;
import com.github.kagkarlsson.scheduler.task.helper.Tasks;
import com.google.gson.JsonObject;
import com.zaxxer.hikari.HikariDataSource;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * db-scheduler on PostgreSQL, with the polling that its readme advises for many executions: lock and
 * fetch. A completed execution's row is deleted.
 */
final class DbSchedulerQueue implements PeerQueue {
  private static final int THREADS = 20;
  private static final Duration POLLING = Duration.ofMillis(5);
  // As its readme has it; the library brings no tables.
  private static final String TABLE =
      """
      create table if not exists scheduled_tasks (
        task_name text not null,
        task_instance text not null,
        task_data bytea,
        execution_time timestamp with time zone not null,
        picked boolean not null,
        picked_by text,
        last_success timestamp with time zone,
        last_failure timestamp with time zone,
        consecutive_failures int,
        last_heartbeat timestamp with time zone,
        version bigint not null,
        priority smallint,
        primary key (task_name, task_instance)
      );
      create index if not exists execution_time_idx on scheduled_tasks (execution_time);
      create index if not exists last_heartbeat_idx on scheduled_tasks (last_heartbeat);
      """;

  private final HikariDataSource source;
  private volatile Consumer<String> start;
  private volatile Runnable end;
  private final OneTimeTask<String> noop =
      Tasks.oneTime("noop", String.class)
          .execute(
              (instance, context) -> {
                start.accept(instance.getData());
                end.run();
              });
  private final SchedulerClient client;

  DbSchedulerQueue(JsonObject settings) throws Exception {
    source = Postgres.connect(settings, THREADS + 4);
    Postgres.execute(source, TABLE);
    client = SchedulerClient.Builder.create(source, noop).build();
  }

  @Override
  public String version() {
    return Versions.of("db-scheduler");
  }

  @Override
  public int bulkSize() {
    return 1000;
  }

  @Override
  public int bulkWindow() {
    return 4;
  }

  private TaskInstance<String> instance(String payload) {
    return noop.instance(payload.substring(0, Expected.NUMBER_DIGITS), payload);
  }

  @Override
  public void enqueueBulk(List<String> payloads) {
    List<TaskInstance<?>> instances = new ArrayList<>();
    for (String payload : payloads) {
      instances.add(instance(payload));
    }
    client.scheduleBatch(instances, Instant.now());
  }

  @Override
  public void enqueueOne(String payload) {
    client.scheduleIfNotExists(instance(payload), Instant.now());
  }

  @Override
  public void consume(Consumer<String> onStart, Runnable onEnd) {
    start = onStart;
    end = onEnd;
    Scheduler.create(source, noop)
        .threads(THREADS)
        .pollingInterval(POLLING)
        .pollUsingLockAndFetch(1.0, 4.0)
        .build()
        .start();
  }

  @Override
  public void settle() throws Exception {
    Postgres.awaitNone(source, "scheduled_tasks");
  }
}
