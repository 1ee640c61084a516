#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "api/metric_table.h"
#include "api/test_scheduler.h"

namespace takt::internal {
namespace {

// A scheduler that did something of everything.
std::string SomeMetrics() {
    TestScheduler scheduler;
    scheduler.AttachWorker("w \"1\"" + std::string("\\"));
    const Answered made =
        scheduler.Post("/api/v1/tasks", R"({"name": "n", "type": "report.make", "queue": "mail"})");
    EXPECT_EQ(made.status, 201) << made.body;
    scheduler.sink().Await(EventType::kTaskCompleted, made.Text("id"));
    const Answered answer = scheduler.Get("/metrics");
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.Header("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
    return answer.body;
}

// A dashboard breaks silently when a metric gets another name.
TEST(Metrics, AllOfTheTableAreServedWithTheirHelpAndNothingElse) {
    const std::string text = SomeMetrics();
    std::set<std::string> served;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("# HELP ")) served.insert(line.substr(7, line.find(' ', 7) - 7));
    }
    std::set<std::string> known;
    for (const MetricDescription& metric : MetricTable()) {
        EXPECT_TRUE(known.insert(std::string(metric.name)).second) << metric.name;
        EXPECT_TRUE(served.contains(std::string(metric.name))) << metric.name;
        EXPECT_FALSE(metric.help.empty());
    }
    EXPECT_EQ(served, known);
    for (const std::string_view line :
         {"tasks_submitted_total 1\n", "tasks_completed_total 1\n", "workers_online 1\n",
          "scheduler_is_leader 1\n", "scheduler_elections_total 1\n", "task_dispatches_total 1\n",
          "task_success_rate 1\n", "task_failure_rate 0\n", "task_retry_rate 0\n",
          "task_dispatch_success_rate 1\n", "task_scheduling_delay_seconds_count 1\n",
          "task_execution_duration_seconds_count{type=\"report.make\"} 1\n",
          "task_queue_wait_seconds_count{queue=\"mail\"} 1\n",
          "task_execution_duration_percentile_seconds{type=\"report.make\",percentile=\"p99\"}",
          "takt_http_requests_total{status=\"2xx\"}", "tasks{status=\"running\"} 0\n"}) {
        EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
    }
}

// The names that seed 002 promises its users.
TEST(Metrics, TheSeedsNamesAreThere) {
    for (const char* name :
         {"tasks_submitted_total", "tasks_completed_total", "tasks_failed_total", "tasks_pending",
          "tasks_running", "workers_online", "scheduler_is_leader",
          "task_execution_duration_seconds", "worker_utilization"}) {
        EXPECT_EQ(DescribeMetric(name).name, name);
    }
}

// Prometheus' own tool reads it and finds nothing to complain about.
TEST(Metrics, PromtoolReadsThem) {
    if (std::system("command -v promtool >/dev/null 2>&1") != 0) {
        FAIL() << "promtool is missing: install Debian's prometheus (./dev setup)";
    }
    const std::string file = ::testing::TempDir() + "takt_metrics.txt";
    std::ofstream(file) << SomeMetrics();
    EXPECT_EQ(std::system(("promtool check metrics <" + file).c_str()), 0);
    std::remove(file.c_str());
}

// Names of types and queues come from users.
TEST(Metrics, LabelsAreBounded) {
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
    const std::string text = meters.Text({}, {}, {});
    std::size_t count = 0;
    for (std::size_t at = text.find("task_execution_duration_seconds_count{"); at != text.npos;
         at = text.find("task_execution_duration_seconds_count{", at + 1)) {
        ++count;
    }
    EXPECT_EQ(count, kLabelsMax + 1);
    EXPECT_NE(text.find("_count{type=\"(other)\"} 950"), std::string::npos);
}

// A program makes a queue per customer: the speed of the first is known, of the rest nothing wrong
// is said.
TEST(Metrics, TheSpeedOfAQueueIsKnownOrNotToldAtAll) {
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

TEST(Metrics, SwitchedOffTheyAreNotServed) {
    Meters meters({.enabled = false});
    EXPECT_FALSE(meters.enabled());
}

// docs/metrics.md is made from the table.
TEST(Metrics, ThePageListsThemAll) {
    const std::string path = std::string(TAKT_SOURCE_DIR) + "/docs/metrics.md";
    if (std::getenv("TAKT_WRITE_PAGES")) std::ofstream(path) << MetricsPage();
    std::ifstream file(path);
    std::stringstream page;
    page << file.rdbuf();
    EXPECT_EQ(page.str(), MetricsPage())
        << "write it anew: TAKT_WRITE_PAGES=1 ./build/api_test --gtest_filter='Metrics.*'";
}

}  // namespace
}  // namespace takt::internal
