// Handlers that return before their attempt ends, and handlers of types of a program's own.
#include <gmock/gmock.h>

#include <atomic>
#include <charconv>
#include <fstream>

#include "tests/sdk/sdk_testing.h"

namespace takt::testing_support {

struct Count {
    int value = 0;
};
struct Doubled {
    int value = 0;
};

}  // namespace takt::testing_support

template <>
struct takt::Codec<takt::testing_support::Count> {
    static Result<testing_support::Count> Read(std::string_view json) {
        testing_support::Count count;
        const auto [end, error] =
            std::from_chars(json.data(), json.data() + json.size(), count.value);
        if (error != std::errc()) return Error{ErrorCode::kInvalid, "the payload is no count", {}};
        return count;
    }
};

template <>
struct takt::Codec<takt::testing_support::Doubled> {
    static std::string Write(const testing_support::Doubled& doubled) {
        return std::to_string(doubled.value);
    }
};

namespace takt::testing_support {
namespace {

using ::testing::HasSubstr;

class HandlersTest : public SdkTest {
  protected:
    // Attempts that handlers have left to the test.
    void Keep(AsyncTask task) {
        const std::scoped_lock lock(mutex_);
        kept_.push_back(std::move(task));
    }
    std::size_t kept() {
        const std::scoped_lock lock(mutex_);
        return kept_.size();
    }
    std::vector<AsyncTask> TakeKept() {
        const std::scoped_lock lock(mutex_);
        return std::exchange(kept_, {});
    }

    static std::size_t Threads() {
        std::ifstream status("/proc/self/status");
        for (std::string line; std::getline(status, line);) {
            if (line.starts_with("Threads:")) return std::stoul(line.substr(8));
        }
        return 0;
    }

    std::mutex mutex_;
    std::vector<AsyncTask> kept_;
};

// A thousand questions to a slow service: they wait, and take no thread each.
TEST_F(HandlersTest, AThousandThatWaitAreNotAThousandThreads) {
    Start();
    auto worker = MakeWorker("w", 1'000);
    worker->HandleAsync("ask", [this](AsyncTask task) { Keep(std::move(task)); });
    Join(*worker);
    const std::size_t before = Threads();
    std::vector<Task> tasks(1'000, Task{.type = "ask", .payload = "7"});
    const auto submitted = scheduler_->SubmitTasks(tasks);
    ASSERT_TRUE(submitted);
    ASSERT_TRUE(Eventually([&] { return kept() == 1'000; }));
    EXPECT_LT(Threads(), before + 20);
    EXPECT_EQ(worker->status().in_hand, 1'000u);
    for (const AsyncTask& task : TakeKept()) {
        task->Log("answered");
        task.Finish(TaskResult::Success(task->payload()));
        task.Finish(TaskResult::Failure("too late"));
    }
    const auto last = scheduler_->WaitForTask(submitted->back().value(), kPatience);
    ASSERT_TRUE(last) << last.error().message;
    EXPECT_EQ(last->status, Status::kSuccess);
    EXPECT_EQ(last->result, "7");
    EXPECT_TRUE(Eventually([&] { return worker->status().succeeded == 1'000; }));
}

// A callback that never comes, an exception, a task that is let go: each ends, and says how.
TEST_F(HandlersTest, WhatIsNeverFinishedStillEnds) {
    Start();
    auto worker = MakeWorker("w");
    worker->HandleAsync("forgets", [](AsyncTask) {});
    worker->HandleAsync("throws", [](AsyncTask) { throw std::runtime_error("no line"); });
    worker->HandleAsync("hangs", [this](AsyncTask task) { Keep(std::move(task)); });
    Join(*worker);
    const RetryPolicy once{.max_retries = 0};
    const auto forgotten = scheduler_->Run({.type = "forgets", .retry = once}, kPatience);
    ASSERT_TRUE(forgotten) << forgotten.error().message;
    EXPECT_THAT(forgotten->error->message, HasSubstr("without a result"));
    EXPECT_EQ(scheduler_->Run({.type = "throws", .retry = once}, kPatience)->error->message,
              "no line");
    const auto hung =
        scheduler_->Run({.type = "hangs", .retry = once, .timeout = 100ms}, kPatience);
    ASSERT_TRUE(hung) << hung.error().message;
    EXPECT_EQ(hung->error->code, "timeout");
    EXPECT_TRUE(kept_.front()->stop_token().stop_requested());
    worker.reset();
    kept_.front().Finish(TaskResult::Success());  // It may outlive the worker.
}

TEST_F(HandlersTest, TypesOfOnesOwnAreReadAndWritten) {
    Start();
    auto worker = MakeWorker("w");
    worker->Handle<Count, Doubled>("double", [](Count in, TaskContext&) -> Result<Doubled> {
        if (in.value < 0) return Error{ErrorCode::kInvalid, "below nothing", {}};
        return Doubled{in.value * 2};
    });
    Join(*worker);
    EXPECT_EQ(scheduler_->Run({.type = "double", .payload = "21"}, kPatience)->result, "42");
    const auto rejected = scheduler_->Run({.type = "double", .payload = "true"}, kPatience);
    EXPECT_EQ(rejected->error->code, "rejected");
    EXPECT_EQ(rejected->error->message, "the payload is no count");
    const auto failed = scheduler_->Run({.type = "double", .payload = "-1"}, kPatience);
    EXPECT_EQ(failed->error->message, "below nothing");
    EXPECT_EQ(failed->attempt, 1u) << "no retry can mend it";
}

// As deep as a result may be, it lies in an answer that is deeper.
TEST_F(HandlersTest, AClientReadsTheDeepestResultThatIsKept) {
    Start();
    const auto nested = [](std::size_t depth) {
        return std::string(depth, '[') + std::string(depth, ']');
    };
    auto worker = MakeWorker("w");
    worker->Handle("nest", [&](TaskContext& context) {
        return TaskResult::Success(nested(std::stoul(context.payload())));
    });
    Join(*worker);
    Client client = MakeClient();
    const auto kept = client.Run({.type = "nest", .payload = "64"}, kPatience);
    ASSERT_TRUE(kept) << kept.error().message;
    EXPECT_EQ(kept->result, nested(64));
    const auto listed = client.ListExecutions();
    ASSERT_TRUE(listed) << listed.error().message;
    const auto refused = client.Run({.type = "nest", .payload = "65"}, kPatience);
    ASSERT_TRUE(refused) << refused.error().message;
    EXPECT_EQ(refused->attempt, 1u) << "no retry can mend it";
    EXPECT_THAT(refused->error->message, HasSubstr("nested deeper than 64"));
}

TEST_F(HandlersTest, OneTypeHasOneHandlerOfWhateverKind) {
    Start();
    auto worker = MakeWorker("w");
    worker->Handle("x", [](TaskContext&) { return TaskResult::Success(); });
    worker->HandleAsync("x", [](AsyncTask) {});
    EXPECT_EQ(worker->Start().error().code, ErrorCode::kConflict);
    auto empty = MakeWorker("w");
    empty->HandleAsync("x", nullptr);
    EXPECT_EQ(empty->Start().error().field, "function");
}

}  // namespace
}  // namespace takt::testing_support
