// The worker runtime against a scheduler that a test plays by hand: what a real one does rarely.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>

#include "base/log.h"
#include "worker/fake_scheduler_fixture.h"

namespace takt::internal {
namespace {

using namespace testing_support;

// A deposed leader's last assignment arrives after a newer leader's first.
TEST_F(FakeSchedulerTest, AnAssignmentOfAnOlderTermIsIgnored) {
    Start(Noop());
    EXPECT_EQ(AwaitHello().hello().epoch_seen(), 0u);
    EXPECT_EQ(authorization_, "Bearer secret");
    Welcome(5);
    Send(Assign("old", 4));
    Send(Assign("new", 5));
    const WorkerFrame frame =
        Await([](const WorkerFrame& said) { return said.results_size() > 0; });
    EXPECT_EQ(frame.results(0).attempt().execution_id(), "new");
    EXPECT_EQ(worker_->status().assigned, 1u);
}

// A task may run for an hour, but this worker gives nobody its place for so long.
TEST_F(FakeSchedulerTest, TheShorterOneOfTwoTimeoutsCounts) {
    HandlerRegistry handlers;
    std::promise<StopReason> stopped;
    ASSERT_TRUE(handlers.AddFunction("noop", [&](TaskContext& context) {
        std::promise<void> asked;
        const std::stop_callback on_stop(context.stop_token(), [&] { asked.set_value(); });
        asked.get_future().wait_for(kPatience);
        stopped.set_value(context.stop_reason());
        return TaskResult::Failure("asked to stop");
    }));
    Start(std::move(handlers), {.task_timeout = Duration(20)});
    AwaitHello();
    Welcome(1);
    SchedulerFrame assign = Assign("e", 1);
    assign.mutable_assigns(0)->set_timeout_ms(3'600'000);
    Send(assign);
    EXPECT_EQ(stopped.get_future().get(), StopReason::kTimeout);
}

// An operator takes locks away while their handler runs: one that the task declares, one that it
// asked for.
TEST_F(FakeSchedulerTest, AHandlerHearsThatItsLocksWereTakenAway) {
    HandlerRegistry handlers;
    ASSERT_TRUE(handlers.AddFunction("noop", [](TaskContext& context) {
        const auto lock = context.Lock("asked", {});
        if (!lock || lock->lost.stop_requested()) return TaskResult::FinalFailure("no lock");
        std::atomic<int> heard = 0;
        const auto count = [&] {
            ++heard;
            heard.notify_all();
        };
        const std::stop_callback on_asked(lock->lost, count);
        const std::stop_callback on_declared(context.LockLost("declared"), count);
        context.Progress(0.5);
        for (int seen = heard; seen < 2; seen = heard) heard.wait(seen);
        return TaskResult::Success();
    }));
    Start(std::move(handlers));
    AwaitHello();
    Welcome(1);
    SchedulerFrame assign = Assign("e", 1);
    assign.mutable_assigns(0)->add_locks()->set_name("declared");
    Send(assign);
    const WorkerFrame asked =
        Await([](const WorkerFrame& said) { return said.lock_asks_size() > 0; });
    SchedulerFrame verdict;
    auto& given = *verdict.add_lock_verdicts();
    *given.mutable_attempt() = asked.lock_asks(0).attempt();
    given.set_ask(asked.lock_asks(0).ask());
    given.set_token(7);
    Send(verdict);
    Await([](const WorkerFrame& said) { return said.progress_size() > 0; });
    given.set_token(0);
    auto& declared = *verdict.add_lock_verdicts();
    *declared.mutable_attempt() = asked.lock_asks(0).attempt();
    declared.set_name("declared");
    Send(verdict);
    const WorkerFrame done = Await([](const WorkerFrame& said) { return said.results_size() > 0; });
    EXPECT_TRUE(done.results(0).success()) << done.results(0).message();
}

// A scheduler that woke up from a pause still believes to lead.
TEST_F(FakeSchedulerTest, ASchedulerOfAnOlderTermIsLeft) {
    Start(Noop());
    AwaitHello();
    Welcome(5);
    Await([](const WorkerFrame& said) { return said.has_heartbeat(); });
    SchedulerFrame moved;
    moved.mutable_moved();
    Send(moved);
    const WorkerFrame again = AwaitHello();
    EXPECT_EQ(again.hello().epoch_seen(), 5u);
    EXPECT_EQ(again.hello().term_id(), 500u);
    Welcome(4);
    EXPECT_EQ(AwaitHello().hello().epoch_seen(), 5u);
}

// The store is away for hours, or the only scheduler has just begun: its worker comes back several
// times a second, and each time nobody leads.
TEST_F(FakeSchedulerTest, WhileNobodyLeadsTheLogStaysQuiet) {
    const LogCapture log;
    WorkerOptions options;
    std::atomic<int> told = 0;
    options.on_event = [&](WorkerEvent event, std::string_view detail) {
        if (event == WorkerEvent::kDisconnected && detail == "nobody leads") ++told;
    };
    Start(Noop(), options);
    SchedulerFrame moved;
    moved.mutable_moved();
    for (int i = 0; i < 20; ++i) {
        AwaitHello();
        Send(moved);
    }
    AwaitHello();
    const auto lines = [&] {
        return std::ranges::count_if(log.lines(), [](const std::string& line) {
            return line.starts_with("info worker: disconnected");
        });
    };
    EXPECT_EQ(told, 20);
    EXPECT_EQ(lines(), 0);
    Welcome(1);
    Await([](const WorkerFrame& said) { return said.has_heartbeat(); });
    Send(moved);
    AwaitHello();
    EXPECT_EQ(lines(), 1) << "a session that was";
}

// The leader's machine lost its power. It is found again by asking anybody but that machine, where
// a call is not even refused; also if the list of servers would name it next.
TEST_F(FakeSchedulerTest, TheServerThatWasLostIsNotTheNextToBeTried) {
    const std::string one = AddressBy("127.0.0.1");
    const std::string other = AddressBy("localhost");
    WorkerOptions options;
    options.servers = {"http://" + one, "http://" + other};
    Start(Noop(), options);
    AwaitHello();
    const std::string follower = host_;
    const std::string leader = follower == one ? other : one;
    SchedulerFrame moved;
    moved.mutable_moved()->set_address("http://" + leader);
    Send(moved);
    AwaitHello();
    ASSERT_EQ(host_, leader);
    Welcome(1);
    moved.mutable_moved()->set_address("");
    Send(moved);
    AwaitHello();
    EXPECT_EQ(host_, follower);
}

// The session ends before the acknowledgement: the next Hello names it, the result comes again.
TEST_F(FakeSchedulerTest, WhatIsNotAcknowledgedIsHeldAndSaidAgain) {
    Start(Noop());
    AwaitHello();
    Welcome(1);
    Send(Assign("e", 1));
    const auto has_result = [](const WorkerFrame& said) { return said.results_size() > 0; };
    const WorkerFrame first = Await(has_result);
    SchedulerFrame moved;
    moved.mutable_moved();
    Send(moved);
    const WorkerFrame hello = AwaitHello();
    ASSERT_EQ(hello.hello().holding_size(), 1);
    EXPECT_EQ(hello.hello().holding(0).execution_id(), "e");
    Welcome(1);
    const WorkerFrame again = Await(has_result);
    EXPECT_EQ(again.results(0).attempt().token(), first.results(0).attempt().token());
    SchedulerFrame ack;
    *ack.add_acks()->mutable_attempt() = again.results(0).attempt();
    ack.mutable_acks(0)->set_accepted(true);
    Send(ack);
    worker_->Stop();
    Await([](const WorkerFrame& said) { return said.has_bye(); });
}

// A scheduler acknowledges results together with the next assignments, so all that a worker can
// hold may wait for that at once.
TEST_F(FakeSchedulerTest, AWorkerOfUsualOptionsBeginsAllItHasRoomForBeforeAnyAcknowledgement) {
    constexpr int kRoom = 2'000;
    Start(Noop(), {.capacity = kRoom});
    AwaitHello();
    Welcome(1);
    const auto give = [](int first, int end) {
        SchedulerFrame frame;
        for (int i = first; i < end; ++i) frame.MergeFrom(Assign("e-" + std::to_string(i), 1));
        return frame;
    };
    int told = 0;
    const auto await = [&](int count) {
        Await([&](const WorkerFrame& said) { return (told += said.results_size()) == count; });
        EXPECT_EQ(told, count);
    };
    Send(give(0, kRoom - 1));
    await(kRoom - 1);
    Send(give(kRoom - 1, kRoom));
    await(kRoom);
}

// A frame is a batch: what a quick handler did is said at once, and its beginning not at all.
TEST_F(FakeSchedulerTest, NothingIsSaidTwiceAndLogsComeBeforeTheResult) {
    Start(Noop());
    AwaitHello();
    Welcome(1);
    Send(Assign("e", 1));
    bool logged = false;
    const WorkerFrame frame = Await([&](const WorkerFrame& said) {
        if (said.logs_size() > 0) {
            // Not UTF-8 as the handler wrote it; the scheduler would refuse the frame.
            EXPECT_EQ(said.logs(0).lines(0), "caf\xEF\xBF\xBD");
            logged = true;
        }
        return said.results_size() > 0;
    });
    EXPECT_TRUE(logged);
    EXPECT_EQ(frame.started_size(), 0);
}

// One handler talks without end. What the others have done must be known all the same, and its own
// result only after everything that it said.
TEST_F(FakeSchedulerTest, AChattyHandlerDoesNotHoldBackTheResultsOfOthers) {
    constexpr std::size_t kLines = 300;
    constexpr std::size_t kLineBytes = 10'000;
    std::promise<void> may_talk;
    std::promise<void> may_end;
    const auto talking = may_talk.get_future().share();
    const auto ending = may_end.get_future().share();
    std::atomic<bool> said = false;
    HandlerRegistry handlers;
    ASSERT_TRUE(handlers.AddFunction("noop", [&](TaskContext& context) {
        talking.wait();
        if (context.task().execution_id == "quiet") return TaskResult::Success();
        for (std::size_t i = 0; i < kLines; ++i) context.Log(std::string(kLineBytes, 'x'));
        said = true;
        ending.wait();
        return TaskResult::Success();
    }));
    Start(std::move(handlers));
    AwaitHello();
    Welcome(1);
    Send(Assign("chatty", 1));
    Send(Assign("quiet", 1));
    Await([](const WorkerFrame& frame) { return frame.started_size() > 0; });
    // All of it piles up while the worker looks for the leader.
    SchedulerFrame moved;
    moved.mutable_moved();
    Send(moved);
    AwaitHello();
    may_talk.set_value();
    const Steady until = SteadyClock::now() + kPatience;
    while (!(said && worker_->status().succeeded == 1) && SteadyClock::now() < until) {
        std::this_thread::yield();
    }
    Welcome(1);

    std::size_t lines = 0;
    const auto result_of = [&](const std::string& id) {
        return Await([&, id](const WorkerFrame& frame) {
            for (const auto& log : frame.logs())
                lines += static_cast<std::size_t>(log.lines_size());
            return frame.results_size() > 0 && frame.results(0).attempt().execution_id() == id;
        });
    };
    result_of("quiet");
    EXPECT_LT(lines, kLines);
    may_end.set_value();
    result_of("chatty");
    EXPECT_EQ(lines, kLines);
}

// A result that grows over the limit on its way: bytes that are no text take three times their
// size.
TEST_F(FakeSchedulerTest, AResultThatIsTooLargeAsTextIsAFailure) {
    HandlerRegistry handlers;
    ASSERT_TRUE(handlers.AddFunction(
        "noop", [](TaskContext&) { return TaskResult::Success(std::string(600 << 10, '\xff')); }));
    Start(std::move(handlers));
    AwaitHello();
    Welcome(1);
    Send(Assign("e", 1));
    const WorkerFrame frame = Await([](const WorkerFrame& f) { return f.results_size() > 0; });
    EXPECT_FALSE(frame.results(0).success());
    EXPECT_TRUE(frame.results(0).final());
}

// A scheduler that is stricter than this worker knows refuses one of two results, whole session and
// all. The other one must arrive, and the one at fault must not end session after session.
TEST_F(FakeSchedulerTest, AResultThatIsRefusedTwiceIsGivenUpAndTheOthersArrive) {
    Start(Noop());
    AwaitHello();
    Welcome(1);
    Send(Assign("a", 1));
    Send(Assign("b", 1));
    int results = 0;
    Await([&](const WorkerFrame& frame) { return (results += frame.results_size()) == 2; });
    SchedulerFrame refused;
    refused.mutable_refused()->set_code("too_large");
    refused.mutable_refused()->set_message("too much");
    Send(refused);
    AwaitHello();
    Welcome(1);
    const auto has_result = [](const WorkerFrame& frame) { return frame.results_size() > 0; };
    const WorkerFrame alone = Await(has_result);
    ASSERT_EQ(alone.results_size(), 1);
    EXPECT_TRUE(alone.results(0).success());
    const std::string at_fault = alone.results(0).attempt().execution_id();
    Send(refused);
    AwaitHello();
    Welcome(1);
    for (int i = 0; i < 2; ++i) {
        const WorkerFrame frame = Await(has_result);
        ASSERT_EQ(frame.results_size(), 1);
        const auto& result = frame.results(0);
        EXPECT_EQ(result.success(), result.attempt().execution_id() != at_fault);
        if (!result.success()) EXPECT_THAT(result.message(), testing::HasSubstr("too much"));
        SchedulerFrame ack;
        *ack.add_acks()->mutable_attempt() = result.attempt();
        ack.mutable_acks(0)->set_accepted(true);
        Send(ack);
    }
    worker_->Stop();
    Await([](const WorkerFrame& said) { return said.has_bye(); });
}

TEST_F(FakeSchedulerTest, AnUnreadablePayloadIsRejected) {
    Start(Noop());
    AwaitHello();
    Welcome(1);
    SchedulerFrame assign = Assign("e", 1);
    assign.mutable_assigns(0)->set_payload_zstd("garbage");
    Send(assign);
    const WorkerFrame frame =
        Await([](const WorkerFrame& said) { return said.results_size() > 0; });
    EXPECT_EQ(frame.results(0).reason(), "rejected");
    EXPECT_TRUE(frame.results(0).final());
}

TEST_F(FakeSchedulerTest, ARefusedHelloEndsTheWorker) {
    Start(Noop());
    AwaitHello();
    SchedulerFrame refused;
    refused.mutable_refused()->set_code("protocol");
    refused.mutable_refused()->set_message("too old");
    Send(refused);
    const auto outcome = worker_->Wait();
    ASSERT_FALSE(outcome);
    EXPECT_THAT(outcome.error().detail, testing::HasSubstr("too old"));
}

// Bytes that are no frame: something else listens on that port.
TEST_F(FakeSchedulerTest, GarbageFromASchedulerEndsTheSessionOnly) {
    Start(Noop());
    AwaitHello();
    {
        const std::scoped_lock lock(mutex_);
        sockets_.back()->SendText("hello?");
    }
    AwaitHello();
    Welcome(1);
    Send(Assign("e", 1));
    Await([](const WorkerFrame& said) { return said.results_size() > 0; });
}

}  // namespace
}  // namespace takt::internal
