#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "api/test_scheduler.h"
#include "metrics/metric_table.h"

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
         {"tasks_submitted_total{namespace=\"default\"} 1\n",
          "tasks_completed_total{namespace=\"default\"} 1\n",
          "workers_online{namespace=\"default\"} 1\n",
          "scheduler_is_leader{namespace=\"default\"} 1\n",
          "scheduler_elections_total{namespace=\"default\"} 1\n",
          "task_dispatches_total{namespace=\"default\"} 1\n",
          "task_success_rate{namespace=\"default\"} 1\n",
          "task_failure_rate{namespace=\"default\"} 0\n",
          "task_retry_rate{namespace=\"default\"} 0\n",
          "task_dispatch_success_rate{namespace=\"default\"} 1\n",
          "task_scheduling_delay_seconds_count{namespace=\"default\"} 1\n",
          "task_execution_duration_seconds_count{namespace=\"default\",type=\"report.make\"} 1\n",
          "task_queue_wait_seconds_count{namespace=\"default\",queue=\"mail\"} 1\n",
          "task_execution_duration_percentile_seconds{namespace=\"default\",type=\"report.make\","
          "percentile=\"p99\"}",
          "takt_http_requests_total{namespace=\"default\",status=\"2xx\"}",
          "tasks{namespace=\"default\",status=\"running\"} 0\n"}) {
        EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
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

}  // namespace
}  // namespace takt::internal
