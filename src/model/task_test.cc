#include "model/task.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "model/change.h"
#include "model/event.h"
#include "model/execution.h"
#include "model/worker.h"

namespace takt::internal {
namespace {

using namespace std::chrono_literals;

// Names that a script writes in `--priority`.
TEST(TaskTest, PrioritiesAreNamesOrDigits) {
    EXPECT_EQ(ParsePriority("low"), 2);
    EXPECT_EQ(ParsePriority("normal"), 5);
    EXPECT_EQ(ParsePriority("high"), 7);
    EXPECT_EQ(ParsePriority("urgent"), 9);
    EXPECT_EQ(ParsePriority("0"), 0);
    EXPECT_EQ(ParsePriority("9"), 9);
    for (const char* word : {"", "10", "-1", "High", " 5"})
        EXPECT_FALSE(ParsePriority(word)) << word;
}

// A database is down for an hour; its tasks come back less and less often, but do come back.
TEST(TaskTest, RetriesWaitLongerEachTimeUpToTheLongestDelay) {
    const RetryPolicy policy{.delay = 10s, .backoff_rate = 2.0, .delay_max = 60s};
    EXPECT_EQ(RetryDelay(policy, 1), 10s);
    EXPECT_EQ(RetryDelay(policy, 2), 20s);
    EXPECT_EQ(RetryDelay(policy, 3), 40s);
    EXPECT_EQ(RetryDelay(policy, 4), 60s);
    EXPECT_EQ(RetryDelay(policy, 2000), 60s);
}

// A caller may write any number into a retry policy; none may wrap around into a retry storm.
TEST(TaskTest, NoRetryPolicyOverflows) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const double infinity = std::numeric_limits<double>::infinity();
    for (const double rate : {1e300, infinity, 2.0, 1.0, 0.5, 0.0, -3.0, nan}) {
        for (const Duration delay : {Duration::min(), Duration(0), Duration(10), Duration::max()}) {
            for (const Duration longest :
                 {Duration::min(), Duration(0), Duration(1h), Duration::max()}) {
                for (const std::uint32_t retry : {0u, 1u, 2u, 2000u, ~0u}) {
                    const RetryPolicy policy{
                        .delay = delay, .backoff_rate = rate, .delay_max = longest};
                    const Duration result = RetryDelay(policy, retry);
                    EXPECT_GE(result, Duration(0));
                    EXPECT_LE(result, std::max(longest, Duration(0)));
                    EXPECT_LE(result, kDurationMax);
                }
            }
        }
    }
    EXPECT_EQ(RetryDelay({.delay = 10s, .backoff_rate = 1e300}, 2000), 1h);
    EXPECT_EQ(RetryDelay({.delay = 10s, .backoff_rate = nan}, 2000), 10s);
    EXPECT_EQ(RetryDelay({.delay = 10s, .backoff_rate = -1}, 3), 10s);
}

// Names are stored in settings and asked for over REST: each must read back.
TEST(TaskTest, NamesOfEnumeratorsReadBack) {
    for (int i = 0; i < 4; ++i) EXPECT_EQ(ParseMode(Name(Mode(i))), Mode(i));
    for (int i = 0; i < 3; ++i) EXPECT_EQ(ParseMisfire(Name(Misfire(i))), Misfire(i));
    for (int i = 0; i < 3; ++i) EXPECT_EQ(ParseDst(Name(Dst(i))), Dst(i));
    for (int i = 0; i < 10; ++i) EXPECT_EQ(ParseStrategy(Name(Strategy(i))), Strategy(i));
    for (int i = 0; i < 12; ++i) EXPECT_EQ(ParseReason(Name(Reason(i))), Reason(i));
    for (int i = 0; i < 4; ++i)
        EXPECT_EQ(ParseWorkerStatus(Name(WorkerStatus(i))), WorkerStatus(i));
    for (int i = 0; i < kEventTypeCount; ++i) {
        EXPECT_EQ(ParseEventType(Name(EventType(i))), EventType(i));
    }
    EXPECT_EQ(Name(Strategy::kResourceAware), "resource_aware");
    EXPECT_EQ(Name(Strategy::kLeastConnections), "least_connections");
    EXPECT_EQ(Name(Reason::kRejected), "rejected");
    EXPECT_EQ(Name(Origin::kTrigger), "trigger");
    EXPECT_EQ(Name(LinkKind::kPush), "push");
    EXPECT_EQ(Name(EventType::kTaskCompleted), "task.completed");
    EXPECT_EQ(Name(EventType::kWorkerOffline), "worker.offline");
    EXPECT_FALSE(ParseMode("Skip"));
    EXPECT_FALSE(ParseStrategy(""));
}

// Settings of the schedulers that Takt unites.
TEST(TaskTest, OtherNamesOfStrategiesAreUnderstood) {
    EXPECT_EQ(ParseStrategy("least_loaded"), Strategy::kLeastTasks);
    EXPECT_EQ(ParseStrategy("least_load"), Strategy::kLeastTasks);
    EXPECT_EQ(ParseStrategy("weighted"), Strategy::kWeightedRoundRobin);
}

boost::intrusive_ptr<Task> SomeTask() {
    boost::intrusive_ptr<Task> task(new Task);
    task->id = TaskId("t-1");
    task->name = "report";
    task->type = "mail";
    task->queue = "default";
    task->payload = "{}";
    return task;
}

// A client whose connection broke sends its submit again: same body, same task.
TEST(TaskTest, ARequestSentAgainIsTheSame) {
    const auto a = SomeTask();
    const auto b = SomeTask();
    b->version = 7;
    b->created_at = Time(5ms);
    b->updated_at = Time(6ms);
    b->options = std::make_unique<TaskOptions>();  // Spelled-out defaults ask for nothing else.
    EXPECT_TRUE(SameRequest(*a, *b));
}

// … and another body under the same id is a conflict, whichever field differs.
TEST(TaskTest, ARequestThatDiffersInAnyFieldIsAnother) {
    const auto differs = [](auto change) {
        const auto a = SomeTask();
        const auto b = SomeTask();
        change(*b);
        return !SameRequest(*a, *b);
    };
    EXPECT_TRUE(differs([](Task& t) { t.id = TaskId("t-2"); }));
    EXPECT_TRUE(differs([](Task& t) { t.name = "x"; }));
    EXPECT_TRUE(differs([](Task& t) { t.type = "x"; }));
    EXPECT_TRUE(differs([](Task& t) { t.queue = "x"; }));
    EXPECT_TRUE(differs([](Task& t) { t.payload = "x"; }));
    EXPECT_TRUE(differs([](Task& t) { t.priority = 1; }));
    EXPECT_TRUE(differs([](Task& t) { t.timeout = 1s; }));
    EXPECT_TRUE(differs([](Task& t) { t.run_at = Time(1s); }));
    EXPECT_TRUE(differs([](Task& t) {
        auto options = std::make_unique<TaskOptions>();
        options->unique_key = "k";
        t.options = std::move(options);
    }));
}

// A change of a task starts from a copy; the executions that run keep the old one.
TEST(TaskTest, ACopyIsItsOwnTask) {
    auto original = SomeTask();
    auto options = std::make_unique<TaskOptions>();
    options->target = "mailers";
    original->options = std::move(options);
    const TaskPtr second_owner = original;

    const boost::intrusive_ptr<Task> copy(new Task(*original));

    EXPECT_EQ(copy->use_count(), 1u);
    EXPECT_NE(copy->options.get(), original->options.get());
    EXPECT_EQ(copy->opt(), original->opt());
    EXPECT_TRUE(SameRequest(*copy, *original));
}

// A worker returns the token of its attempt in a text frame.
TEST(TokenTest, ATokenReadsBackFromItsText) {
    Token token;
    for (std::size_t i = 0; i < token.size(); ++i) token[i] = std::uint8_t(i * 17);
    const std::string text = TokenText(token);
    EXPECT_EQ(text, "00112233445566778899aabbccddeeff");
    EXPECT_EQ(ParseToken(text), token);
    EXPECT_EQ(ParseToken("00112233445566778899AABBCCDDEEFF"), token);
}

// … or sends something else, by mistake or on purpose.
TEST(TokenTest, OtherTextsAreNoTokens) {
    for (const char* text :
         {"", "00", "00112233445566778899aabbccddeefg", "00112233445566778899aabbccddeeff0",
          "00112233445566778899aabbccddee  "}) {
        EXPECT_FALSE(ParseToken(text)) << text;
    }
}

// The node fills a batch up to what etcd takes in one request.
TEST(ChangeTest, TheSizeOfAChangeCountsItsTexts) {
    const std::string large(10'000, 'x');
    const auto task = SomeTask();
    task->payload = large;
    Execution execution;
    execution.id = ExecutionId("t-1");
    execution.task = task;
    execution.payload = large;
    boost::intrusive_ptr<Outcome> outcome(new Outcome);
    outcome->data = large;
    execution.outcome = outcome;
    EXPECT_GT(SizeOf(ExecutionChange{.row = execution}), 30'000u);
    EXPECT_LT(SizeOf(ExecutionChange{.row = execution}), 31'000u);
    EXPECT_GT(SizeOf(TaskPut{{.task = task}}), 10'000u);
    EXPECT_GT(SizeOf(SettingPut{.key = "k", .value = large}), 10'000u);
    EXPECT_GT(SizeOf(EventAppend{{.detail = large}}), 10'000u);
    EXPECT_GT(SizeOf(LogAppend{{.lines = large}}), 10'000u);
    EXPECT_GT(SizeOf(WorkerPut{{.labels = {{"zone", large}}}}), 10'000u);
    // By what it may delete: stores name each of them in the request.
    EXPECT_LT(SizeOf(Purge{.count_max = 1}), 1'000u);
    EXPECT_GT(SizeOf(Purge{.count_max = 700}), 100'000u);
}

}  // namespace
}  // namespace takt::internal
