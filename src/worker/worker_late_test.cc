// Workers that are late: asleep for longer than their lease, over their time, or with a token that
// nobody takes.
#include <algorithm>
#include <future>
#include <thread>

#include "worker/connector.h"
#include "worker/fake_scheduler_fixture.h"

namespace takt::internal {
namespace {

using namespace testing_support;
using testing::HasSubstr;

bool HasResult(const WorkerFrame& frame) {
    return frame.results_size() > 0;
}

// A laptop is closed, or a container paused, for longer than the lease. What lies in the socket
// when it goes on has been given to others: nothing of it is begun.
TEST_F(FakeSchedulerTest, AWorkerThatSleptBeginsNothingThatStillLiesInItsSocket) {
    constexpr Duration kLease{300};
    std::promise<void> asleep;
    std::promise<void> awake;
    std::atomic<bool> first = true;
    WorkerOptions options;
    options.on_event = [&](WorkerEvent event, std::string_view) {
        if (event != WorkerEvent::kAttached || !first.exchange(false)) return;
        asleep.set_value();
        awake.get_future().wait();
    };
    Start(Noop(), options);
    AwaitHello();
    Welcome(1, kLease);
    asleep.get_future().wait();
    const Steady end = SteadyClock::now() + kLease;
    Send(Assign("late", 1));
    while (SteadyClock::now() < end) std::this_thread::yield();

    awake.set_value();

    EXPECT_EQ(AwaitHello().hello().holding_size(), 0);
    EXPECT_EQ(worker_->status().assigned, 0u);
    Welcome(1);
    Send(Assign("in time", 1));
    EXPECT_EQ(Await(HasResult).results(0).attempt().execution_id(), "in time");
}

// All threads were busy, and nothing was heard of the worker, for longer than the lease: what came
// in time and waited for a thread has been given to others. Here another Welcome makes the lease
// short, and the network thread stands still, so that only the handlers' threads can see it end.
TEST_F(FakeSchedulerTest, WhatWaitedForAThreadUntilTheLeaseWasOverIsNotBegun) {
    constexpr Duration kLease{300};
    std::promise<void> asleep;
    std::promise<void> awake;
    std::promise<void> first_began;
    std::promise<void> first_may_end;
    std::atomic<int> attached = 0;
    std::atomic<int> late = 0;
    HandlerRegistry handlers;
    ASSERT_TRUE(handlers.AddFunction("noop", [&](TaskContext& context) {
        if (context.task().execution_id == "late") ++late;
        if (context.task().execution_id != "first") return TaskResult::Success();
        first_began.set_value();
        first_may_end.get_future().wait();
        return TaskResult::Success();
    }));
    WorkerOptions options;
    options.capacity = 1;
    options.on_event = [&](WorkerEvent event, std::string_view) {
        if (event != WorkerEvent::kAttached || ++attached != 2) return;
        asleep.set_value();
        awake.get_future().wait();
    };
    Start(std::move(handlers), options);
    AwaitHello();
    Welcome(1);
    SchedulerFrame both = Assign("first", 1);
    both.MergeFrom(Assign("late", 1));
    Send(both);
    first_began.get_future().wait();
    Welcome(1, kLease);
    asleep.get_future().wait();
    const Steady end = SteadyClock::now() + kLease;
    while (SteadyClock::now() < end) std::this_thread::yield();
    first_may_end.set_value();  // Its thread takes the next one.
    awake.set_value();

    for (bool done = false; !done && !HasFailure();) {
        const WorkerFrame frame = Await(
            [](const WorkerFrame& each) { return each.has_hello() || each.results_size() > 0; });
        if (frame.has_hello()) {
            Welcome(1);
            Send(Assign("in time", 1));
        }
        done = std::ranges::any_of(frame.results(), [](const auto& result) {
            return result.attempt().execution_id() == "in time";
        });
    }
    EXPECT_EQ(late, 0);
}

// A store lost its last writes in a failover: attempt 1 is given out again, under another token,
// while the first attempt 1 still runs here.
TEST_F(FakeSchedulerTest, AnotherTokenForTheSameNumberIsAnotherAttempt) {
    std::promise<void> may_end;
    const auto ending = may_end.get_future().share();
    std::atomic<int> begun = 0;
    HandlerRegistry handlers;
    ASSERT_TRUE(handlers.AddFunction("noop", [&](TaskContext&) {
        ++begun;
        ending.wait();
        return TaskResult::Success();
    }));
    Start(std::move(handlers));
    AwaitHello();
    Welcome(1);
    Send(Assign("e", 1));
    Send(Assign("e", 1));  // The very same one: not begun twice.
    SchedulerFrame other = Assign("e", 1);
    other.mutable_assigns(0)->mutable_attempt()->set_token(std::string(32, 'b'));
    Send(other);
    const Steady until = SteadyClock::now() + kPatience;
    while (begun < 2 && SteadyClock::now() < until) std::this_thread::yield();
    ASSERT_EQ(begun, 2);
    may_end.set_value();

    std::set<std::string> tokens;
    Await([&](const WorkerFrame& frame) {
        for (const auto& result : frame.results()) tokens.insert(result.attempt().token());
        return tokens.size() == 2;
    });
    EXPECT_EQ(worker_->status().assigned, 2u);
}

// However a handler says that its time was over: what happened is called by its name.
TEST_F(FakeSchedulerTest, AnAttemptThatTakesTooLongIsATimeoutInTheSameWords) {
    HandlerRegistry handlers;
    ASSERT_TRUE(handlers.AddFunction("noop", [](TaskContext& context) {
        // One is stopped; the other heeds its deadline itself, as calls of services do.
        const bool heeds = context.task().execution_id == "heeds";
        while (heeds ? context.Remaining(Duration(0)) > Duration(0)
                     : !context.stop_token().stop_requested()) {
            std::this_thread::yield();
        }
        return TaskResult::Failure("exit status 143", 143);
    }));
    Start(std::move(handlers));
    AwaitHello();
    Welcome(1);
    for (const std::string id : {"stopped", "heeds"}) {
        SchedulerFrame assign = Assign(id, 1);
        assign.mutable_assigns(0)->set_timeout_ms(50);
        Send(assign);
        const auto result = Await(HasResult).results(0);
        EXPECT_EQ(result.reason(), "timeout") << id;
        EXPECT_EQ(result.message(), "took longer than its timeout of 50ms") << id;
        EXPECT_GE(result.ran_ms(), 49u) << id;
    }
}

// The work is done: to run it again would do it twice.
TEST_F(FakeSchedulerTest, AHandlerThatSucceedsWhenItIsStoppedAtItsTimeoutHasSucceeded) {
    HandlerRegistry handlers;
    ASSERT_TRUE(handlers.AddFunction("noop", [](TaskContext& context) {
        while (!context.stop_token().stop_requested()) std::this_thread::yield();
        return TaskResult::Success("7");
    }));
    Start(std::move(handlers));
    AwaitHello();
    Welcome(1);
    SchedulerFrame assign = Assign("late", 1);
    assign.mutable_assigns(0)->set_timeout_ms(50);
    Send(assign);
    const auto result = Await(HasResult).results(0);
    EXPECT_TRUE(result.success()) << result.message();
    EXPECT_EQ(result.data(), "7");
    EXPECT_GE(result.ran_ms(), 49u);
}

// The leader changes while a handler runs: the next one learns for how long it has been running.
TEST_F(FakeSchedulerTest, ANewLeaderIsToldHowLongAnAttemptHasBeenRunning) {
    std::promise<void> may_end;
    const auto ending = may_end.get_future().share();
    HandlerRegistry handlers;
    ASSERT_TRUE(handlers.AddFunction("noop", [&](TaskContext&) {
        ending.wait();
        return TaskResult::Success();
    }));
    Start(std::move(handlers));
    AwaitHello();
    Welcome(1);
    Send(Assign("e", 1));
    const auto has_started = [](const WorkerFrame& frame) { return frame.started_size() > 0; };
    Await(has_started);
    const Steady until = SteadyClock::now() + Duration(30);
    while (SteadyClock::now() < until) std::this_thread::yield();
    SchedulerFrame moved;
    moved.mutable_moved();
    Send(moved);
    AwaitHello();
    Welcome(2);

    EXPECT_GE(Await(has_started).started(0).ran_ms(), 30u);
    may_end.set_value();
    EXPECT_GE(Await(HasResult).results(0).ran_ms(), 30u);
}

class RefusedTokenTest : public FakeSchedulerTest, public testing::WithParamInterface<int> {};

// Somebody forgot the token, or it is an old one, and so many came that they are not even looked at:
// the worker says what is missing, and does not hammer the scheduler.
TEST_P(RefusedTokenTest, AWorkerWithoutTheRightTokenSaysSoAndSlowsDown) {
    refusal_ = GetParam();
    Start(Noop());
    const std::string status = std::to_string(GetParam());
    const Steady until = SteadyClock::now() + kPatience;
    while (!worker_->status().trouble.contains(status) && SteadyClock::now() < until) {
        std::this_thread::yield();
    }
    EXPECT_THAT(worker_->status().trouble, HasSubstr("worker.token"));
    EXPECT_THAT(worker_->status().trouble, HasSubstr("role worker"));

    const WorkerOptions options;
    EXPECT_EQ(LongestWait(options, 1, true), Duration(4'000));
    EXPECT_EQ(LongestWait(options, 100, true), Duration(60'000));
    EXPECT_EQ(LongestWait(options, 100, false), options.backoff_max);
}
INSTANTIATE_TEST_SUITE_P(Status, RefusedTokenTest, testing::Values(401, 403, 429));

// A name was mistyped, or the namespace is made after its workers are started.
TEST_F(FakeSchedulerTest, AWorkerOfANamespaceThatIsNotThereSaysSo) {
    refusal_ = 404;
    Start(Noop(), {.space = "billing"});
    const Steady until = SteadyClock::now() + kPatience;
    while (!worker_->status().trouble.contains("404") && SteadyClock::now() < until) {
        std::this_thread::yield();
    }
    EXPECT_THAT(worker_->status().trouble, HasSubstr("there is no namespace 'billing'"));
}

TEST(WorkerOptionsTest, ANameThatNoNamespaceCanHaveIsRefused) {
    WorkerOptions options{.servers = {"http://127.0.0.1:8080"}, .space = "billing-2"};
    EXPECT_TRUE(CheckWorkerOptions(options));
    for (const std::string name : {"Bad Name", "-billing", "a/b"}) {
        options.space = name;
        const auto fine = CheckWorkerOptions(options);
        ASSERT_FALSE(fine) << name;
        EXPECT_EQ(fine.error().field, "namespace");
    }
}

// The scheduler was away when a task ended: the next one learns how long ago that was.
TEST_F(FakeSchedulerTest, AResultThatHadToWaitSaysForHowLong) {
    Start(Noop());
    AwaitHello();
    Welcome(1);
    Send(Assign("e", 1));
    EXPECT_LT(Await(HasResult).results(0).ended_ms_ago(), 10'000u);
    const Steady until = SteadyClock::now() + Duration(30);
    while (SteadyClock::now() < until) std::this_thread::yield();
    SchedulerFrame moved;
    moved.mutable_moved();
    Send(moved);
    AwaitHello();
    Welcome(2);
    EXPECT_GE(Await(HasResult).results(0).ended_ms_ago(), 30u);
}

// A scheduler gives it what it did not ask for: another worker may know it.
TEST_F(FakeSchedulerTest, ATypeWithoutAHandlerIsRejected) {
    Start(Noop());
    AwaitHello();
    Welcome(1);
    SchedulerFrame assign = Assign("e", 1);
    assign.mutable_assigns(0)->set_type("other");
    Send(assign);
    const auto result = Await(HasResult).results(0);
    EXPECT_EQ(result.reason(), "rejected");
    EXPECT_FALSE(result.final());
    EXPECT_THAT(result.message(), HasSubstr("'other'"));
}

// A typing mistake in worker.types would take tasks away from workers that can run them.
TEST(WorkerTypes, ATypeWithoutAHandlerIsRefused) {
    HandlerRegistry handlers;
    ASSERT_TRUE(handlers.AddFunction("noop", [](TaskContext&) { return TaskResult::Success(); }));
    const auto made =
        WorkerRuntime::Create({.servers = {"http://a"}, .types = {"noop", "nope"}}, handlers);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().field, "types");
    EXPECT_THAT(made.error().detail, HasSubstr("'nope'"));
    ASSERT_TRUE(handlers.AddFunction("*", [](TaskContext&) { return TaskResult::Success(); }));
    EXPECT_TRUE(
        WorkerRuntime::Create({.servers = {"http://a"}, .types = {"noop", "nope"}}, handlers));
}

}  // namespace
}  // namespace takt::internal
