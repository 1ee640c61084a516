// An execution as it can be seen: why it waits, how far it is, what it wrote; and what becomes of
// rows that cannot be read.
#include <limits>

#include "engine/history.h"

namespace takt::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class ExplainTest : public History {
  protected:
    void SetUp() override { config.worker_lease = config.timeout = 24h; }
    Explanation ExplanationOf(const std::string& id, Duration at) {
        return engine()
            .Explain(ExecutionId(Text(id)), {WallAt(at), Steady(7h) + at})
            .value_or(Explanation{});
    }
    std::string SentenceOf(const std::string& id, Duration at) {
        return ExplanationOf(id, at).sentence;
    }
    // "name=value" of all that is named, in order.
    std::vector<std::string> ValuesOf(const std::string& id, Duration at) {
        std::vector<std::string> found;
        const Explanation explanation = ExplanationOf(id, at);
        for (const auto& [name, value] : explanation.values) {
            const auto* count = std::get_if<std::uint64_t>(&value);
            found.push_back(std::string(name) + "=" +
                            (count ? std::to_string(*count) : std::get<std::string>(value)));
        }
        return found;
    }
};

// --- Why it waits (limits and turns are in gate_test.cc and mode_test.cc) -----------------------

TEST_F(ExplainTest, WithoutWorkersItSaysWhatIsMissing) {
    At(0s, Once({.id = "x"}));
    EXPECT_EQ(CodeOf("x"), "no_worker");
    At(0s, Join({.id = "a",
                 .types = {Text("other")},
                 .queues = {Text("other")},
                 .labels = {{"gpu", "no"}}}));
    EXPECT_EQ(CodeOf("x"), "no_worker_for_type");
    EXPECT_EQ(SentenceOf("x", 0s), "no worker runs tasks of the type 'work'");
    EXPECT_THAT(ValuesOf("x", 0s), ElementsAre("type=work"));
    At(0s, Once({.id = "y", .type = "other"}));
    EXPECT_EQ(CodeOf("y"), "no_worker_for_queue");
    At(0s, Once({.id = "z", .type = "other", .queue = "other", .target = "billing"}));
    EXPECT_EQ(CodeOf("z"), "no_executor");
    EXPECT_THAT(ValuesOf("z", 0s), ElementsAre("executor=billing"));
    At(0s, Once({.id = "w", .type = "other", .queue = "other", .labels = {{"gpu", "yes"}}}));
    EXPECT_EQ(CodeOf("w"), "no_worker_with_labels");
    EXPECT_THAT(ValuesOf("w", 0s), ElementsAre("labels=gpu=yes"));
    // Each demand is met by somebody, all of them by nobody.
    At(0s, Join({.id = "b", .types = {Text("work")}, .queues = {Text("other")}}));
    At(0s, Once({.id = "v", .type = "work", .queue = "other", .labels = {{"gpu", "no"}}}));
    EXPECT_EQ(CodeOf("v"), "near_miss_labels");
    EXPECT_THAT(ValuesOf("v", 0s), ElementsAre("worker=b", "labels=gpu=no"));
}

TEST_F(ExplainTest, WithWorkersItSaysWhatTheyAreDoing) {
    At(0s, Join({.id = "a"}));
    At(0s, Join({.id = "b"}));
    At(0s, Once({.id = "x"}));
    At(0s, Once({.id = "y"}));
    At(0s, Once({.id = "z"}));
    EXPECT_EQ(CodeOf("x"), "sent");
    At(1s, Begun("x"));
    EXPECT_EQ(CodeOf("x"), "running");
    EXPECT_THAT(SentenceOf("x", 1s), HasSubstr("'a'"));
    EXPECT_THAT(ValuesOf("x", 1s), ElementsAre("worker=a", HasSubstr("since=2026-01-01T00:00:01")));
    EXPECT_EQ(CodeOf("z"), "workers_full");
    EXPECT_THAT(SentenceOf("z", 1s),
                HasSubstr("all 2 workers that could run it are busy (2 of 2 places taken)"));
    EXPECT_THAT(ValuesOf("z", 1s),
                ElementsAre("workers=2", "running=2", "capacity=2", "waiting=0", "queue=default"));
    At(2s, Set("a", WorkerStatus::kDraining));
    At(2s, Set("b", WorkerStatus::kMaintenance));
    EXPECT_EQ(CodeOf("z"), "workers_away");
    EXPECT_THAT(ValuesOf("z", 2s), ElementsAre("workers=2"));
}

TEST_F(ExplainTest, WhatHasATimeSaysSo) {
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "later", .run_at = 1h}));
    At(0s, Once({.id = "again", .retry = RetryPolicy{.delay = 10s, .jitter = 0}}));
    At(5s, Failure("again"));

    EXPECT_EQ(CodeOf("later"), "not_due");
    EXPECT_EQ(CodeOf("again"), "retry");
    EXPECT_THAT(SentenceOf("again", 5s), HasSubstr("2026-01-01T00:00:15"));
    EXPECT_THAT(ValuesOf("again", 5s),
                ElementsAre("attempt=1", HasSubstr("at=2026-01-01T00:00:15")));
    EXPECT_THAT(ValuesOf("later", 5s), ElementsAre(HasSubstr("at=2026-01-01T01:00:00")));
    EXPECT_FALSE(engine().Explain(ExecutionId(Text("none")), {WallAt(5s), Steady(7h + 5s)}));
}

// --- How far it is ------------------------------------------------------------------------------

TEST_F(ExplainTest, ProgressIsOfTheAttemptThatGoesOn) {
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x", .retry = RetryPolicy{.delay = 1s, .jitter = 0}}));
    const ExecutionId id{Text("x")};
    EXPECT_FALSE(engine().FindProgress(id));
    At(1s, Progress{SessionOf("a"), RefOf("x"), 0.5, "half"});
    ASSERT_TRUE(engine().FindProgress(id));
    EXPECT_EQ(engine().FindProgress(id)->fraction, 0.5);
    EXPECT_EQ(engine().FindProgress(id)->message, "half");
    At(1s, Progress{SessionOf("a"), RefOf("x"), 17, ""});
    EXPECT_EQ(engine().FindProgress(id)->fraction, 1);
    At(1s, Progress{SessionOf("a"), RefOf("x"), std::numeric_limits<double>::quiet_NaN(), ""});
    EXPECT_EQ(engine().FindProgress(id)->fraction, 0);
    const AttemptRef first = RefOf("x");
    At(2s, Failure("x"));
    EXPECT_FALSE(engine().FindProgress(id));
    Until(3s);
    At(3s, Progress{SessionOf("a"), first, 0.9, "late"});

    EXPECT_FALSE(engine().FindProgress(id));
}

// --- What it wrote ------------------------------------------------------------------------------

TEST_F(ExplainTest, OutputIsKeptInOrderUpToItsCap) {
    config.log_bytes_max = 20;
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x"}));
    Duration now = 1s;
    const auto write = [&](const char* lines) {
        At(now, LogLines{SessionOf("a"), RefOf("x"), lines});
    };
    write("one\n");
    write("");
    write("two\n");
    write("much more than fits\n");
    write("nobody sees this\n");
    At(2s, LogLines{SessionOf("a"), {ExecutionId(Text("x")), 7, {}}, "not its attempt\n"});

    ASSERT_THAT(store.logs, SizeIs(3));
    EXPECT_EQ(store.logs[0].lines, "one\n");
    EXPECT_EQ(store.logs[1].lines, "two\n");
    EXPECT_THAT(store.logs[2].lines.str(), HasSubstr("log is full"));
    EXPECT_LT(store.logs[0].index, store.logs[1].index);
    EXPECT_EQ(store.logs[0].attempt, 1u);
    EXPECT_THAT(logs, SizeIs(3));
    // The index rises over a new leader, too.
    now = 3s;
    Restart(now);
    At(now, Join({.id = "a", .holding = {RefOf("x")}}));
    write("three\n");
    EXPECT_THAT(store.logs, SizeIs(4));
}

// A task that logs in a loop fills its log. What fits stays, and who reads it later knows how much
// is missing.
TEST_F(ExplainTest, AFullLogSaysHowMuchWasLeftOut) {
    config.log_bytes_max = 10;
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x"}));
    At(1s, LogLines{SessionOf("a"), RefOf("x"), "one\ntwo\nthree\nfour\n"});
    At(1s, LogLines{SessionOf("a"), RefOf("x"), "5\n"});
    At(2s, Success("x"));

    ASSERT_THAT(store.logs, SizeIs(3));
    EXPECT_EQ(store.logs[0].lines, "one\ntwo\n") << "whole lines, as many as fit";
    EXPECT_THAT(store.logs[1].lines.str(), HasSubstr("log is full"));
    EXPECT_EQ(store.logs[2].lines, "(dropped: 3 lines, 13 bytes)\n");
}

// --- What came before ---------------------------------------------------------------------------

// A nightly import succeeded at the fourth try; in the morning somebody wants to know why not at
// the first.
TEST_F(ExplainTest, EarlierAttemptsAreRemembered) {
    config.worker_lease = 5s;
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x", .retry = RetryPolicy{.delay = 1s, .jitter = 0}}));
    At(1s, Begun("x"));
    EXPECT_FALSE(Row("x").outcome) << "a first attempt has no history";
    At(2s, Failure("x"));
    Until(3s);
    At(3s, Begun("x"));
    At(4s, Remove("a"));
    At(5s, Join({.id = "b"}));
    At(6s, Begun("x"));
    At(7s, Success("x"));

    const Execution& row = Row("x");
    EXPECT_EQ(row.attempt, 3u);
    ASSERT_TRUE(row.outcome);
    EXPECT_EQ(row.outcome->reason, Reason::kNone);
    const auto& past = row.outcome->past;
    ASSERT_THAT(past, SizeIs(2));
    EXPECT_EQ(past[0].attempt, 1u);
    EXPECT_EQ(past[0].end, AttemptEnd::kFailed);
    EXPECT_EQ(past[0].reason, Reason::kHandlerFailed);
    EXPECT_EQ(past[0].worker.view(), "a");
    EXPECT_EQ(past[0].started_at, kBegin + 1s);
    EXPECT_EQ(past[0].finished_at, kBegin + 2s);
    EXPECT_EQ(past[1].attempt, 2u);
    EXPECT_NE(past[1].end, AttemptEnd::kFailed) << "its worker was taken away";
    EXPECT_EQ(past[1].started_at, kBegin + 3s);
}

// A task that fails for a week is tried thousands of times; its record must not grow with it.
TEST_F(ExplainTest, OnlyTheLastAttemptsAreRemembered) {
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x",
                 .retry =
                     RetryPolicy{.retries_max = 30, .delay = 1s, .backoff_rate = 1, .jitter = 0}}));
    for (int i = 1; i <= 30; ++i) {
        Until(Duration(i * 2'000));
        At(Duration(i * 2'000), Failure("x"));
    }
    const auto& past = Row("x").outcome->past;
    EXPECT_THAT(past, SizeIs(kPastAttemptsMax));
    EXPECT_EQ(past.back().attempt, 30u);
    EXPECT_EQ(past.front().attempt, 11u);
}

// An execution that failed for good is run again after a repair, and still shows how it failed.
TEST_F(ExplainTest, WhatIsRunAgainKeepsItsHistory) {
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x"}));
    At(1s, Failure("x", false));
    EXPECT_THAT(Row("x").outcome->past, SizeIs(0)) << "one attempt is no history";
    At(2s, RedriveOf("x"));
    At(3s, Success("x"));

    ASSERT_TRUE(Row("x").outcome);
    ASSERT_THAT(Row("x").outcome->past, SizeIs(1));
    EXPECT_EQ(Row("x").outcome->past[0].attempt, 1u);
    EXPECT_EQ(Row("x").outcome->past[0].end, AttemptEnd::kFailed);
}

// --- An operator's word -------------------------------------------------------------------------

TEST_F(ExplainTest, AnOperatorCanConcludeWhatAWorkerNeverWill) {
    const auto conclude = [](const char* id, Status status) {
        auto outcome = boost::intrusive_ptr<Outcome>(new Outcome);
        outcome->message = "done by hand";
        return Conclude{.request = 1000 + std::uint64_t(status),
                        .execution = ExecutionId(Text(id)),
                        .status = status,
                        .outcome = outcome};
    };
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x"}));
    At(0s, Once({.id = "y"}));
    At(1s, conclude("x", Status::kSuccess));
    EXPECT_EQ(Row("x").status, Status::kSuccess);
    EXPECT_EQ(Row("x").outcome->message, "done by hand");
    EXPECT_THAT(stops, SizeIs(1));
    // One that waits has not run and so cannot have succeeded; it can be given up.
    At(2s, conclude("z", Status::kFailed));
    EXPECT_EQ(replies.at(1000 + std::uint64_t(Status::kFailed)).error().code, ErrorCode::kNotFound);
    At(2s, conclude("y", Status::kCancelled));
    EXPECT_EQ(Row("y").status, Status::kCancelled);
    replies.clear();
    At(3s, conclude("x", Status::kSuccess));
    EXPECT_EQ(replies.begin()->second.error().code, ErrorCode::kConflict);
}

// --- Rows that cannot be read -------------------------------------------------------------------

// A disk error, or a record of a version that this one does not know.
TEST_F(ExplainTest, ARowThatCannotBeReadEndsInTheHistory) {
    At(0s, Once({.id = "x"}));
    At(0s, Once({.id = "y"}));
    Execution& broken = store.executions[ExecutionId(Text("x"))].execution;
    broken.status = Status::kFailed;
    auto outcome = boost::intrusive_ptr<Outcome>(new Outcome);
    outcome->reason = Reason::kUndecodable;
    outcome->message = "the stored record cannot be read";
    broken.outcome = outcome;
    Restart(1s);
    Until(1s);

    EXPECT_EQ(store.Find(ExecutionId(Text("x")))->place, Place::kHistory);
    EXPECT_EQ(Row("x").outcome->reason, Reason::kUndecodable);
    EXPECT_EQ(Row("x").finished_at, kBegin + 1s) << "else retention would purge it at once";
    EXPECT_EQ(engine().counters().failed, 1u);
    ASSERT_EQ(EventCount(EventType::kTaskFailed), 1u);
    EXPECT_EQ(events.back().execution, ExecutionId(Text("x")));
    EXPECT_EQ(events.back().detail, "the stored record cannot be read");
    EXPECT_EQ(engine().live_count(), 1u);
    At(2s, Join({.id = "a", .capacity = 5}));
    EXPECT_THAT(AssignedIds(), ElementsAre("y"));
}

// Somebody edited the tables by hand. No leader must fall over it, one after the other.
TEST_F(ExplainTest, ARowThatMakesNoSenseEndsInTheHistoryToo) {
    At(0s, Once({.id = "x"}));
    At(0s, Once({.id = "y"}));
    Execution& nobodys = store.executions[ExecutionId(Text("x"))].execution;
    nobodys.status = Status::kRunning;
    Execution& urgent = store.executions[ExecutionId(Text("y"))].execution;
    auto task = NewTaskPtr(new Task(*urgent.task));
    task->priority = 12;
    urgent.task = task;
    Restart(1s);
    Until(1s);

    for (const char* id : {"x", "y"}) {
        EXPECT_EQ(Row(id).status, Status::kFailed) << id;
        EXPECT_EQ(Row(id).outcome->reason, Reason::kUndecodable) << id;
        EXPECT_EQ(Row(id).finished_at, kBegin + 1s) << id;
    }
    EXPECT_EQ(engine().live_count(), 0u);
}

}  // namespace
}  // namespace takt::internal
