// The workers of examples/ in other languages, as real processes against a whole scheduler.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "tests/support/proxy.h"
#include "tests/support/stack.h"
#include "worker/handlers/process.h"

namespace takt::internal {
namespace {

using namespace testing_support;

struct Language {
    const char* name;
    std::vector<std::string> argv;
    std::string types;  // What its task types begin with.
};

// For the names of the tests in reports.
void PrintTo(const Language& language, std::ostream* to) {
    *to << language.name;
}

class ExampleWorkerTest : public testing::TestWithParam<Language> {
  protected:
    void SetUp() override { ASSERT_TRUE(stack_.watcher.AwaitRole(Role::kLeader)); }
    void TearDown() override {
        if (!process_) return;
        process_->Signal(SIGKILL);
        process_->Wait();
    }
    void Start(const std::string& url) {
        std::vector<std::string> argv = GetParam().argv;
        argv.push_back("ws" + url.substr(4));
        argv.push_back("example-worker");
        auto process = Process::Start({.argv = argv});
        ASSERT_TRUE(process) << process.error().detail;
        process_.emplace(std::move(*process));
    }

    Stack stack_;
    std::optional<Process> process_;
};

// A programmer reads docs/worker_protocol.md and writes this.
TEST_P(ExampleWorkerTest, RunsTasksReportsFailuresAndWritesLogs) {
    Start(stack_.url());
    const std::string type = GetParam().types;
    const ExecutionId sum = stack_.Submit({.type = type + ".add", .payload = R"({"a":20,"b":22})"});
    const ExecutionId upper = stack_.Submit({.type = type + ".upper", .payload = R"("grün")"});
    const ExecutionId wrong =
        stack_.Submit({.type = type + ".upper", .payload = "17", .retries_max = 0});
    ASSERT_TRUE(stack_.watcher.AwaitEvent(EventType::kTaskCompleted, sum));
    EXPECT_EQ(stack_.Read(sum).outcome->data, "42");
    ASSERT_TRUE(stack_.watcher.AwaitEvent(EventType::kTaskCompleted, upper));
    ASSERT_TRUE(stack_.watcher.AwaitEvent(EventType::kTaskFailed, wrong));
    EXPECT_THAT(stack_.Read(wrong).outcome->message.str(), testing::HasSubstr("pper"));
    EXPECT_TRUE(stack_.watcher.AwaitLog("adding 20 and 22\n"));
}

// Its connection breaks; it comes back by itself.
TEST_P(ExampleWorkerTest, ComesBackAfterALostConnection) {
    TcpProxy proxy(stack_.port());
    Start(proxy.url());
    const std::string type = GetParam().types + ".add";
    const ExecutionId first = stack_.Submit({.type = type, .payload = R"({"a":1,"b":1})"});
    ASSERT_TRUE(stack_.watcher.AwaitEvent(EventType::kTaskCompleted, first));
    proxy.Cut();
    proxy.Restore();
    const ExecutionId second = stack_.Submit({.type = type, .payload = R"({"a":2,"b":2})"});
    ASSERT_TRUE(stack_.watcher.AwaitEvent(EventType::kTaskCompleted, second));
}

INSTANTIATE_TEST_SUITE_P(
    All, ExampleWorkerTest,
    testing::Values(Language{"Python", {TAKT_PYTHON, TAKT_EXAMPLES "/worker.py"}, "py"},
                    Language{"Node", {"node", TAKT_NODE_WORKER}, "js"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace takt::internal
