#include "metrics/meters.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "alerts/sorted_readings.h"
#include "metrics/metric_table.h"

namespace takt::internal {
namespace {

// The names that users of another kit have on their dashboards.
TEST(Meters, TheNamesOfOtherKitsAreThere) {
    for (const char* name :
         {"tasks_submitted_total", "tasks_completed_total", "tasks_failed_total", "tasks_pending",
          "tasks_running", "workers_online", "scheduler_is_leader",
          "task_execution_duration_seconds", "worker_utilization"}) {
        EXPECT_EQ(DescribeMetric(name).name, name);
    }
}

// Names of types and queues come from users.
TEST(Meters, LabelsAreBounded) {
    Meters meters;
    std::vector<Change> changes;
    const Time now = ReadClocks().wall;
    for (int i = 0; i < 1'000; ++i) {
        NewTaskPtr task(new Task);
        task->type = Text("type-" + std::to_string(i));
        task->queue = Text("queue-" + std::to_string(i));
        Execution row;
        row.task = task;
        row.status = Status::kSuccess;
        row.ready_at = row.started_at = row.finished_at = now;
        changes.emplace_back(ExecutionChange{Place::kLive, Place::kHistory, row});
    }
    meters.OnCommit({changes, std::chrono::microseconds(100)});
    const std::string text = MetersText({{.meters = &meters, .status = {.role = Role::kLeader}}});
    std::size_t count = 0;
    for (std::size_t at = text.find("task_execution_duration_seconds_count{"); at != text.npos;
         at = text.find("task_execution_duration_seconds_count{", at + 1)) {
        ++count;
    }
    EXPECT_EQ(count, kLabelsMax + 1);
    EXPECT_NE(text.find("type=\"(other)\"} 950"), std::string::npos);
}

// An attempt failed at once and was followed by another before either was written: the row says nothing
// of the first any more.
TEST(Meters, AnAttemptThatIsTriedAgainInTheSameBatchIsCounted) {
    Meters meters;
    Effects effects;
    effects.events.push_back({.type = EventType::kTaskRetrying});
    effects.failed.push_back({.type = "charge", .ran = Duration(20)});
    effects.failed.push_back({.type = "charge", .ran = Duration(30)});

    meters.Release(effects);

    const std::string text = MetersText({{.meters = &meters, .status = {.role = Role::kLeader}}});
    const std::size_t at = text.find("task_execution_duration_seconds_count{");
    ASSERT_NE(at, text.npos);
    EXPECT_EQ(text.substr(text.find('}', at), 3), "} 2");
}

// A program makes a queue per customer: the speed of the first is known, of the rest nothing wrong
// is said.
TEST(Meters, TheSpeedOfAQueueIsKnownOrNotToldAtAll) {
    Meters meters;
    const auto end = [&](const std::string& queue, Status status) {
        NewTaskPtr task(new Task);
        task->queue = Text(queue);
        Execution row;
        row.task = task;
        row.status = status;
        const std::vector<Change> changes = {ExecutionChange{Place::kLive, Place::kHistory, row}};
        meters.OnCommit({changes, std::chrono::microseconds(100)});
    };
    EXPECT_EQ(meters.throughput("customer-0"), 0.0);
    end("customer-0", Status::kSuccess);
    end("customer-0", Status::kSkipped);
    end("customer-0", Status::kFailed);
    EXPECT_EQ(meters.throughput("customer-0"), 0.2) << "two in ten seconds";
    for (int i = 1; i < 1'500; ++i) end("customer-" + std::to_string(i), Status::kCancelled);
    EXPECT_EQ(meters.throughput("customer-0"), 0.2);
    EXPECT_EQ(meters.throughput("customer-999"), 0.1);
    EXPECT_EQ(meters.throughput("customer-1499"), std::nullopt);
}

// A program makes a queue per customer, and an operator watches the last of them. Prometheus is told
// of the first ones, a rule of each.
TEST(Meters, AlertRulesAreToldOfEachQueueAndWorker) {
    Instant now{ReadClocks().wall, Steady(std::chrono::hours(1))};
    Effects effects;
    Engine engine(EngineConfig{}, TermView{}, SeedOf(1));
    engine.Begin(0, now, effects);
    const auto step = [&](Input input) {
        const auto generation = effects.generation + 1;
        effects = {};
        effects.generation = generation;
        engine.Step(std::move(input), now, effects);
    };
    for (SessionId i = 1; i <= 150; ++i) {
        NewTaskPtr task(new Task);
        task->type = "resize";
        task->queue = Text("customer-" + std::to_string(1'000 + i));
        step(Submit{.task = std::move(task)});
        Worker worker{.id = WorkerId(Text("worker-" + std::to_string(1'000 + i))),
                      .types = {Text("other")}};
        step(Attach{.session = i, .worker = std::move(worker)});
    }
    now.wall += std::chrono::seconds(9);

    AlertReadings readings;
    Meters().Read(engine, now, readings);

    const SortedReadings sorted(std::move(readings));
    const AlertRule queue{.metric = "queue_oldest_wait_seconds", .subject = "customer-1150"};
    ASSERT_EQ(sorted.Of(queue).size(), 1u) << "it looks at that one only";
    EXPECT_EQ(sorted.Of(queue)[0]->value, 9);
    const AlertRule worker{.metric = "worker_heartbeat_delay_seconds", .subject = "worker-1150"};
    EXPECT_EQ(sorted.Of(worker).size(), 1u);
    EXPECT_EQ(sorted.Of({.metric = queue.metric}).size(), 150u);
    EXPECT_TRUE(sorted.Of({.metric = queue.metric, .subject = "(other)"}).empty());
    EXPECT_EQ(ViewOf(&engine, now).queues.size(), kLabelsMax + 1);
    EXPECT_EQ(ViewOf(&engine, now).workers.size(), kWorkersShownMax + 1);
}

TEST(Meters, SwitchedOffTheyAreNotServed) {
    Meters meters({.enabled = false});
    EXPECT_FALSE(meters.enabled());
}

// docs/metrics.md is made from the table.
TEST(Meters, ThePageListsThemAll) {
    const std::string path = std::string(TAKT_SOURCE_DIR) + "/docs/metrics.md";
    if (std::getenv("TAKT_WRITE_PAGES")) std::ofstream(path) << MetricsPage();
    std::ifstream file(path);
    std::stringstream page;
    page << file.rdbuf();
    EXPECT_EQ(page.str(), MetricsPage())
        << "write it anew: TAKT_WRITE_PAGES=1 ./build/metrics_test --gtest_filter='Meters.*'";
}

}  // namespace
}  // namespace takt::internal
