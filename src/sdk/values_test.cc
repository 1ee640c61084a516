// Small things of the headers: results in chains, names in streams, clocks, the program's own log.
#include <gmock/gmock.h>

#include <mutex>
#include <sstream>

#include "tests/sdk/sdk_testing.h"

namespace takt::testing_support {
namespace {

using ::testing::HasSubstr;

Result<int> Number(int value) {
    return value;
}
Result<int> NoNumber() {
    return Error{ErrorCode::kNotFound, "there is none", "number"};
}

TEST(Result, IsChainedLikeStdExpected) {
    const auto twice = [](int value) { return value * 2; };
    const auto half = [](int value) -> Result<double> {
        if (value % 2 != 0) return Error{ErrorCode::kInvalid, "odd"};
        return value / 2.0;
    };
    EXPECT_EQ(Number(3).transform(twice).and_then(half).value(), 3.0);
    EXPECT_EQ(Number(3).and_then(half).error().message, "odd");
    EXPECT_EQ(NoNumber().transform(twice).and_then(half).error().field, "number");
    EXPECT_EQ(NoNumber().or_else([](const Error&) { return Number(1); }).value(), 1);
    EXPECT_EQ(Number(2).or_else([](const Error&) { return Number(1); }).value(), 2);
    const auto named = NoNumber().transform_error([](Error error) {
        error.field = "mine";
        return error;
    });
    EXPECT_EQ(named.error().field, "mine");
}

// Values that cannot be copied go through a chain all the same.
TEST(Result, MovesItsValueThroughAChain) {
    Result<std::unique_ptr<int>> held = std::make_unique<int>(5);
    const auto taken = std::move(held).transform([](std::unique_ptr<int> value) { return *value; });
    EXPECT_EQ(taken.value(), 5);
}

TEST(Result, OfNothingIsChainedToo) {
    int calls = 0;
    const Result<void> good;
    EXPECT_TRUE(good.transform([&] { ++calls; }));
    EXPECT_EQ(good.and_then([] { return Number(4); }).value(), 4);
    const Result<void> bad = Error{ErrorCode::kConflict, "no"};
    EXPECT_EQ(bad.transform([&] { ++calls; }).error().code, ErrorCode::kConflict);
    EXPECT_TRUE(bad.or_else([](const Error&) { return Result<void>(); }));
    EXPECT_EQ(Number(1).transform([&](int) { ++calls; }).has_value(), true);
    EXPECT_EQ(calls, 2);
}

TEST(Names, GoIntoStreams) {
    std::ostringstream out;
    out << Status::kSuccess << ' ' << EventType::kTaskCompleted << ' ' << ErrorCode::kTimeout << ' '
        << WorkerState::kDraining << ' ' << ExecutionMode::kReplace << ' ' << MisfirePolicy::kSkip
        << ' ' << Dst::kTwice << ' ' << When::kAllDone << ' ' << OnFailure::kContinue << ' '
        << StopReason::kTimeout << ' ' << LogLevel::kWarning << ' ' << AlertSeverity::kCritical
        << ' ' << AlertState::kFiring << ' ' << StatisticsBy::kHour;
    EXPECT_EQ(out.str(),
              "success task.completed timeout draining replace skip twice all_done continue "
              "timeout warning critical firing hour");
    EXPECT_EQ(format_as(Status::kFailed), "failed");
}

TEST(Time, IsMadeFromEveryClock) {
    const Time before = Now();
    const Time fine = std::chrono::system_clock::now() + 5s;
    const Time steady = std::chrono::steady_clock::now() + 5s;
    const Time after = Now();
    for (const Time& time : {fine, steady}) {
        EXPECT_GE(time, before + 5s - 1s);
        EXPECT_LE(time, after + 5s + 1s);
    }
    const Time day = std::chrono::sys_days(std::chrono::year(2027) / 1 / 1);
    EXPECT_EQ(day - Time(), std::chrono::sys_days(std::chrono::year(2027) / 1 / 1) -
                                std::chrono::sys_days(std::chrono::year(1970) / 1 / 1));
    const Time early(std::chrono::sys_time<std::chrono::microseconds>(-1us));
    EXPECT_EQ(early.time_since_epoch(), -1ms) << "rounded down, before 1970 too";
    Task task;
    task.run_at = std::chrono::system_clock::now();
    EXPECT_TRUE(task.run_at);
}

// A program that logs with a library of its own, and whose sink asks this one.
TEST(Log, GoesToAProgramsOwnLogger) {
    struct Line {
        LogLevel level;
        std::string component;
        std::string text;
    };
    std::mutex mutex;
    std::vector<Line> lines;
    int calls = 0;
    const LogOptions options{
        .level = LogLevel::kWarning, .sink = [&](const LogLine& line) {
            const std::scoped_lock lock(mutex);
            ++calls;
            lines.push_back({line.level, std::string(line.component), std::string(line.text)});
            // Would be told to this very sink.
            Worker inner({.servers = {"http://127.0.0.1:1"}, .id = "bad id"});
            static_cast<void>(inner.Start());
            throw 42;
        }};
    ASSERT_TRUE(SetLog(options));
    {
        Scheduler scheduler(TestOptions());
        scheduler.RegisterEventCallback(
            [](const Event&) { throw std::runtime_error("of the test"); });
        ASSERT_TRUE(scheduler.Start());
        ASSERT_TRUE(scheduler.SubmitTask({.type = "x"}));
        const auto until = std::chrono::steady_clock::now() + kPatience;
        while (std::chrono::steady_clock::now() < until) {
            const std::scoped_lock lock(mutex);
            if (!lines.empty()) break;
        }
    }
    ASSERT_TRUE(SetLog({.level = LogLevel::kError}));
    ASSERT_FALSE(lines.empty());
    EXPECT_EQ(lines[0].level, LogLevel::kError);
    EXPECT_EQ(lines[0].component, "sdk");
    EXPECT_THAT(lines[0].text, HasSubstr("an event callback threw"));
    EXPECT_THAT(lines[0].text, HasSubstr("of the test"));
    EXPECT_EQ(SetLog({.file = "x.log", .sink = [](const LogLine&) {}}).error().field, "file");
}

}  // namespace
}  // namespace takt::testing_support
