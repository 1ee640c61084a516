import com.google.gson.JsonObject;
import com.zaxxer.hikari.HikariDataSource;
import java.io.InputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.function.Consumer;
import org.quartz.Job;
import org.quartz.JobBuilder;
import org.quartz.JobDetail;
import org.quartz.JobExecutionContext;
import org.quartz.Scheduler;
import org.quartz.Trigger;
import org.quartz.TriggerBuilder;
import org.quartz.impl.StdSchedulerFactory;

/**
 * Quartz on PostgreSQL, clustered, as two processes share its tables. A task is a trigger of one
 * durable job, which saves what a job for each task would take; a trigger that has fired is deleted.
 */
final class QuartzQueue implements PeerQueue {
  private static final int THREADS = 25;
  private static final String TABLES = "/org/quartz/impl/jdbcjobstore/tables_postgres.sql";
  private static final JobDetail JOB =
      JobBuilder.newJob(Noop.class).withIdentity("noop").storeDurably().build();

  private static volatile Consumer<String> start;
  private static volatile Runnable end;

  private final HikariDataSource source;
  private final Scheduler scheduler;

  /** Quartz makes one of it for each execution. */
  public static final class Noop implements Job {
    @Override
    public void execute(JobExecutionContext context) {
      start.accept(context.getTrigger().getJobDataMap().getString("p"));
      end.run();
    }
  }

  QuartzQueue(JsonObject settings) throws Exception {
    source = Postgres.connect(settings, 1);
    boolean producer = settings.get("role").getAsString().equals("producer");
    if (producer) { // It is opened first.
      try (InputStream tables = Scheduler.class.getResourceAsStream(TABLES)) {
        Postgres.execute(source, new String(tables.readAllBytes(), StandardCharsets.UTF_8));
      }
    }
    scheduler = new StdSchedulerFactory(properties(settings)).getScheduler();
    if (producer) {
      scheduler.addJob(JOB, true);
    }
  }

  private static Properties properties(JsonObject settings) {
    URI url = URI.create(settings.get("url").getAsString());
    Properties found = new Properties();
    found.putAll(
        Map.ofEntries(
            Map.entry("org.quartz.scheduler.instanceName", "bench"),
            Map.entry("org.quartz.scheduler.instanceId", settings.get("role").getAsString()),
            Map.entry("org.quartz.scheduler.skipUpdateCheck", "true"),
            Map.entry("org.quartz.scheduler.batchTriggerAcquisitionMaxCount", "" + THREADS),
            Map.entry("org.quartz.scheduler.idleWaitTime", "1000"), // The least that it takes.
            Map.entry("org.quartz.threadPool.threadCount", "" + THREADS),
            Map.entry("org.quartz.jobStore.class", "org.quartz.impl.jdbcjobstore.JobStoreTX"),
            Map.entry(
                "org.quartz.jobStore.driverDelegateClass",
                "org.quartz.impl.jdbcjobstore.PostgreSQLDelegate"),
            Map.entry("org.quartz.jobStore.isClustered", "true"),
            Map.entry("org.quartz.jobStore.acquireTriggersWithinLock", "true"),
            // What waits for long is late, but not missed.
            Map.entry("org.quartz.jobStore.misfireThreshold", "3600000"),
            Map.entry("org.quartz.jobStore.dataSource", "bench"),
            Map.entry("org.quartz.dataSource.bench.provider", "hikaricp"),
            Map.entry("org.quartz.dataSource.bench.driver", "org.postgresql.Driver"),
            Map.entry(
                "org.quartz.dataSource.bench.URL",
                "jdbc:postgresql://" + url.getHost() + ":" + url.getPort() + url.getPath()),
            Map.entry("org.quartz.dataSource.bench.user", url.getUserInfo()),
            Map.entry("org.quartz.dataSource.bench.maxConnections", "" + (THREADS + 4))));
    return found;
  }

  @Override
  public String version() {
    return Versions.of("quartz");
  }

  @Override
  public int bulkSize() {
    return 1000;
  }

  @Override
  public int bulkWindow() {
    return 1; // Each takes the lock of all triggers.
  }

  private static Trigger trigger(String payload) {
    return TriggerBuilder.newTrigger()
        .withIdentity(payload.substring(0, Expected.NUMBER_DIGITS))
        .forJob(JOB)
        .usingJobData("p", payload)
        .startNow()
        .build();
  }

  @Override
  public void enqueueBulk(List<String> payloads) throws Exception {
    Set<Trigger> triggers = new HashSet<>();
    for (String payload : payloads) {
      triggers.add(trigger(payload));
    }
    scheduler.scheduleJobs(Map.of(JOB, triggers), true);
  }

  @Override
  public void enqueueOne(String payload) throws Exception {
    scheduler.scheduleJob(trigger(payload));
  }

  @Override
  public void consume(Consumer<String> onStart, Runnable onEnd) throws Exception {
    start = onStart;
    end = onEnd;
    scheduler.start();
  }

  @Override
  public void settle() throws Exception {
    Postgres.awaitNone(source, "qrtz_triggers");
  }
}
