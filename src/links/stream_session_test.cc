// The life of a worker's session: how it is kept, replaced, moved to another scheduler and lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <limits>

#include "base/log.h"
#include "links/stream_link_fixture.h"

namespace takt::internal {
namespace {

using testing::HasSubstr;
using namespace testing_support;
using worker::v1::SchedulerFrame;
using worker::v1::WorkerFrame;

TEST_F(StreamLinkTest, AHeartbeatIsAnswered) {
    auto worker = Attached(RawWorker::Hello("w-1"));
    WorkerFrame frame;
    frame.mutable_heartbeat()->set_sent_at_ms(1234567);
    frame.mutable_heartbeat()->set_cpu(0.5F);
    frame.mutable_heartbeat()->set_memory(std::numeric_limits<float>::quiet_NaN());
    worker->Send(frame);
    EXPECT_EQ(worker->Next().beat().sent_at_ms(), 1234567u);
    const WorkerLoad load = stack_->Look(
        [](const Engine& engine) { return engine.FindWorker(WorkerId(Text("w-1")))->load; });
    EXPECT_EQ(load.cpu, 0.5F);
    EXPECT_EQ(load.memory, 0.0F);
}

WorkerFrame HelloOfTheSecond() {
    WorkerFrame hello = RawWorker::Hello("w-1");
    hello.mutable_hello()->set_instance("second");
    return hello;
}

// Two processes with one id, both alive: a configuration file was copied. They must not take the id,
// and each other's work, from each other.
TEST_F(StreamLinkTest, AnIdThatALivingWorkerHasIsRefused) {
    auto first = Attached(RawWorker::Hello("w-1"));
    auto second = Connect();
    second->Send(HelloOfTheSecond());
    const SchedulerFrame answer = second->Next();
    EXPECT_EQ(answer.refused().code(), "taken");
    EXPECT_THAT(answer.refused().message(),
                HasSubstr("another worker has the id 'w-1' (127.0.0.1"));
    second->AwaitClose();
    stack_->Submit({});
    EXPECT_EQ(first->Next().assigns_size(), 1);
}

// The process was killed, and its connection closed with it.
TEST_F(StreamLinkTest, TheIdOfAWorkerThatIsGoneIsTaken) {
    auto first = Attached(RawWorker::Hello("w-1"));
    first->Close();
    first->AwaitClose();
    auto second = Connect();
    for (;;) {  // The scheduler may not have heard of it yet.
        second->Send(HelloOfTheSecond());
        if (second->Next().has_welcome()) break;
        second = Connect();
    }
    stack_->Submit({});
    EXPECT_EQ(second->Next().assigns_size(), 1);
}

// The worker's machine lost its power and restarted, and nobody closed its connection.
TEST_F(StreamLinkTest, TheIdOfAWorkerThatFellSilentIsTaken) {
    Begin({.link = {.heartbeat = Duration(20)}});
    auto old = Attached(RawWorker::Hello("w-1"));
    auto fresh = Connect();
    for (;;) {
        fresh->Send(HelloOfTheSecond());
        if (fresh->Next().has_welcome()) break;
        fresh = Connect();
    }
    EXPECT_EQ(old->Next().refused().code(), "replaced");
    old->AwaitClose();
    stack_->Submit({});
    EXPECT_EQ(fresh->Next().assigns_size(), 1);
}

// The same process reconnects: nothing is wrong with its older session, it is only over.
TEST_F(StreamLinkTest, ASessionThatItsOwnProcessReplacedIsOnlyClosed) {
    auto old = Attached(RawWorker::Hello("w-1"));
    auto fresh = Attached(RawWorker::Hello("w-1"));
    EXPECT_EQ(old->Next().refused().code(), "closed");
    EXPECT_EQ(old->AwaitClose()->code, WebSocketCode::kNormal);
}

// The connection breaks while work runs; the worker comes back, still has it, and delivers.
TEST_F(StreamLinkTest, WorkThatTheWorkerStillHoldsIsNotGivenToOthers) {
    auto worker = Attached(RawWorker::Hello("w-1"));
    const ExecutionId id = stack_->Submit({});
    const auto attempt = worker->Next().assigns(0).attempt();
    worker->Close();
    worker->AwaitClose();
    WorkerFrame hello = RawWorker::Hello("w-1");
    *hello.mutable_hello()->add_holding() = attempt;
    auto again = Attached(hello);
    again->Send(ResultOf(attempt));
    const SchedulerFrame frame = again->Next();
    ASSERT_EQ(frame.acks_size(), 1);
    EXPECT_TRUE(frame.acks(0).accepted());
    EXPECT_EQ(frame.assigns_size(), 0);
    EXPECT_EQ(stack_->Read(id).attempt, 1u);
}

TEST_F(StreamLinkTest, AWorkerThatSaysByeIsForgottenAndItsWorkGivenToOthers) {
    auto leaving = Attached(RawWorker::Hello("w-1"));
    const ExecutionId id = stack_->Submit({});
    leaving->Next();
    auto staying = Attached(RawWorker::Hello("w-2"));
    WorkerFrame bye;
    bye.mutable_bye()->set_reason("done");
    leaving->Send(bye);
    EXPECT_EQ(staying->Next().assigns(0).attempt().execution_id(), id.view());
    EXPECT_EQ(leaving->AwaitClose()->code, WebSocketCode::kNormal);
    EXPECT_EQ(stack_->Read(id).losses, 0u);
}

// A worker that shuts down finishes what it has, and must not be given more meanwhile.
TEST_F(StreamLinkTest, ADrainingWorkerIsGivenNothingNew) {
    auto draining = Attached(RawWorker::Hello("w-1", 10));
    WorkerFrame frame;
    frame.mutable_heartbeat()->set_draining(true);
    draining->Send(frame);
    EXPECT_TRUE(draining->Next().has_beat());
    auto other = Attached(RawWorker::Hello("w-2", 10));
    for (int i = 0; i < 4; ++i) {
        stack_->Submit({});
        EXPECT_EQ(other->Next().assigns_size(), 1);
    }
    EXPECT_EQ(stack_->InHand("w-1"), 0u);
}

// The node leads no more: workers are sent to whoever does.
TEST_F(StreamLinkTest, SessionsAreMovedWhenTheNodeStopsLeading) {
    auto worker = Attached(RawWorker::Hello("w-1"));
    std::promise<void> stopped;
    stack_->node().Stop([&] { stopped.set_value(); });
    const SchedulerFrame frame = worker->Next();
    EXPECT_TRUE(frame.has_moved());
    EXPECT_EQ(worker->AwaitClose()->code, WebSocketCode::kGoingAway);
    stopped.get_future().wait();
    auto late = Connect();
    late->Send(RawWorker::Hello("w-2"));
    EXPECT_TRUE(late->Next().has_moved());
}

TEST_F(StreamLinkTest, AFollowerSendsWorkersToTheLeader) {
    const auto database = std::make_shared<MemoryDatabase>();
    Begin({.database = database, .node = "leader"});
    Stack follower({.database = database, .node = "follower"});
    // It knows once it has asked the store; until then it says that it does not.
    std::string address;
    const Steady deadline = SteadyClock::now() + std::chrono::seconds(20);
    while (address.empty() && SteadyClock::now() < deadline) {
        RawWorker worker(follower.url());
        worker.Send(RawWorker::Hello("w-1"));
        const SchedulerFrame frame = worker.Next();
        ASSERT_TRUE(frame.has_moved());
        address = frame.moved().address();
    }
    EXPECT_EQ(address, stack_->url());
}

// A worker has seen a later term than this node's: this node is the one that is late.
TEST_F(StreamLinkTest, AWorkerThatHasSeenALaterTermIsNotTakenIn) {
    WorkerFrame hello = RawWorker::Hello("w-1");
    hello.mutable_hello()->set_epoch_seen(1'000);
    auto worker = Connect();
    worker->Send(hello);
    const SchedulerFrame frame = worker->Next();
    EXPECT_TRUE(frame.has_moved());
    EXPECT_EQ(frame.moved().address(), "");
}

// The store was restored as it was before the last term: the next one has the same number.
TEST_F(StreamLinkTest, AWorkerOfATermThatTheStoreLostLiftsTheEpoch) {
    const auto greet = [&](std::uint64_t epoch, std::uint64_t term_id) {
        WorkerFrame hello = RawWorker::Hello("w-1");
        hello.mutable_hello()->set_epoch_seen(epoch);
        hello.mutable_hello()->set_term_id(term_id);
        auto worker = Connect();
        worker->Send(hello);
        return worker->Next();
    };
    const SchedulerFrame first = greet(0, 0);
    ASSERT_TRUE(first.has_welcome());
    const std::uint64_t epoch = first.welcome().epoch();
    ASSERT_NE(first.welcome().term_id(), 0u);
    EXPECT_NE(first.welcome().term_id(), stack_->node().status().leader->nonce)
        << "whoever knows it can speak for a scheduler";
    EXPECT_TRUE(greet(epoch, first.welcome().term_id()).has_welcome()) << "of this very term";
    EXPECT_TRUE(greet(epoch, first.welcome().term_id() + 1).has_moved());
    SchedulerFrame next;
    const Steady deadline = SteadyClock::now() + std::chrono::seconds(20);
    while (!next.has_welcome() && SteadyClock::now() < deadline) {
        next = greet(epoch, first.welcome().term_id() + 1);
    }
    EXPECT_GT(next.welcome().epoch(), epoch);
}

// The worker's machine lost power: no close, no reset, only silence.
TEST_F(StreamLinkTest, AWorkerThatReadsNothingIsCutOff) {
    Begin({.link = {.queue_bytes_max = 256 << 10}});
    WorkerFrame hello = RawWorker::Hello("w-1", 100'000);
    auto worker = Attached(hello);
    worker->Abort();  // Nobody reads the socket any more, and nobody closes it.
    const std::string payload = '"' + std::string(200'000, 'x') + '"';
    for (int i = 0; i < 100 && stack_->link().stats().too_slow == 0; ++i) {
        stack_->Submit({.payload = payload});
    }
    EXPECT_EQ(stack_->link().stats().too_slow, 1u);
    auto again = Connect();
    again->Send(hello);
    EXPECT_TRUE(again->Next().has_welcome());
    EXPECT_GT(again->Next().assigns_size(), 0);
}

TEST_F(StreamLinkTest, AHalfOpenConnectionIsNoticed) {
    Begin({.link = {.ping_interval = Duration(50)}});
    auto worker = Attached(RawWorker::Hello("w-1"));
    const LogCapture log;
    worker->Abort();
    ASSERT_TRUE(stack_->AwaitEndedSessions(1));
    EXPECT_EQ(stack_->link().stats().sessions, 0u);
    EXPECT_THAT(log.lines(), testing::Contains(HasSubstr("does not answer pings")));
}

// A worker written in an afternoon sends heartbeats only when it has nothing else to say.
TEST_F(StreamLinkTest, AnyFrameIsASignOfLife) {
    Begin({.link = {.heartbeat = Duration(20)}, .engine = {.worker_lease = Duration(400)}});
    auto worker = Attached(RawWorker::Hello("w-1", 2));
    const ExecutionId id = stack_->Submit({});
    const auto attempt = worker->Next().assigns(0).attempt();
    WorkerFrame progress;
    *progress.add_progress()->mutable_attempt() = attempt;
    for (int i = 0; i < 8; ++i) {
        worker->Send(progress);
        // Paces the test: together longer than the lease, each well within it.
        stack_->Submit({.id = "pace-" + std::to_string(i), .delay = 100ms});
        const SchedulerFrame frame = worker->Next();
        ASSERT_EQ(frame.assigns_size(), 1);
        worker->Send(ResultOf(frame.assigns(0).attempt()));
        ASSERT_EQ(worker->Next().acks_size(), 1);
    }
    EXPECT_EQ(stack_->watcher.Count(EventType::kWorkerOffline), 0u);
    worker->Send(ResultOf(attempt));
    EXPECT_TRUE(worker->Next().acks(0).accepted());
}

TEST_F(StreamLinkTest, ASilentWorkerLosesItsSessionWithItsLease) {
    Begin({.engine = {.worker_lease = Duration(100)}});
    auto worker = Attached(RawWorker::Hello("w-1"));
    const SchedulerFrame frame = worker->Next();
    EXPECT_EQ(frame.refused().code(), "closed");
    EXPECT_THAT(frame.refused().message(), HasSubstr("lease"));
}

}  // namespace
}  // namespace takt::internal
