// A lead that moves from one healthy scheduler to another while executors work: nothing of that may be
// noticed by those.
#include "links/push_hand_over.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

#include "links/push_test_support.h"

namespace takt::internal {
namespace {

using namespace testing_support;
using Kind = CallbackAnswer::Verdict;

// The port of all schedulers together: passes callbacks on to the one that leads.
class FakeDoor {
  public:
    FakeDoor() {
        io_.Run([&] {
            server_ =
                std::move(*HttpServer::Listen(io_.loop, {}, std::make_shared<Handler>(*this)));
        });
    }
    ~FakeDoor() {
        server_.reset();
        io_.Join();
    }
    std::string url() const { return "http://127.0.0.1:" + std::to_string(server_->port()); }
    void Lead(PushStack* leader) {
        const std::scoped_lock lock(mutex_);
        leader_ = leader;
    }

  private:
    struct Handler final : HttpHandler {
        explicit Handler(FakeDoor& to) : door(to) {}
        void Handle(HttpRequest request, HttpReply reply) override {
            const std::scoped_lock lock(door.mutex_);
            if (!door.leader_) return reply(HttpResponse::Text(503, "nobody leads"));
            // /api/v1/executions/{id}/callback
            const std::string path = request.path.substr(std::string("/api/v1/executions/").size());
            const std::string token(request.headers.Find("X-Takt-Token").value_or(""));
            const Kind verdict =
                door.leader_->Callback(path.substr(0, path.find('/')), token, request.body.c_str());
            reply(HttpResponse::Text(verdict == Kind::kAccepted ? 200 : 409, "judged"));
        }
        FakeDoor& door;
    };

    LoopThread io_;
    std::unique_ptr<HttpServer> server_;
    std::mutex mutex_;
    PushStack* leader_ = nullptr;
};

class PushHandOverTest : public ::testing::Test {
  protected:
    // An answer goes to the loop of its server: none may be held when the executor ends.
    void TearDown() override {
        const std::scoped_lock lock(mutex);
        over = true;
        held.clear();
    }
    std::unique_ptr<PushStack> Start(const std::string& name) {
        EngineConfig engine;
        engine.worker_lease = Duration(300);
        return std::make_unique<PushStack>(PushLinkConfig{.address = door.url()}, database, name,
                                           engine);
    }
    // Starts the second and lets the first hand over to it.
    void Move() {
        auto started = std::async([this] { return Start("node-2"); });
        while (started.wait_for(20ms) != std::future_status::ready) first->HandOver("node-2");
        second = started.get();
        door.Lead(second.get());
    }
    void TakeReply(const Order&, HttpReply reply) {
        const std::scoped_lock lock(mutex);
        if (!over) held.push_back(std::move(reply));
        changed.notify_all();
    }
    // An order is known a moment before its reply is held.
    void AnswerHeld(int status, const std::string& body) {
        std::unique_lock lock(mutex);
        ASSERT_TRUE(changed.wait_for(lock, 30s, [this] { return !held.empty(); }));
        for (HttpReply& reply : held) reply(HttpResponse::Json(status, body));
        held.clear();
    }

    const std::shared_ptr<MemoryDatabase> database = std::make_shared<MemoryDatabase>();
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<HttpReply> held;
    bool over = false;
    FakeExecutor executor;
    FakeDoor door;
    std::unique_ptr<PushStack> first = Start("node-1");
    std::unique_ptr<PushStack> second;
};

// A report takes a minute, and its executor answers when it is done. The old leader has the call open.
TEST_F(PushHandOverTest, TheAnswerToAnOpenCallIsPassedOnAndNothingRunsTwice) {
    executor.Answer(
        [this](const Order& order, HttpReply reply) { TakeReply(order, std::move(reply)); });
    ASSERT_TRUE(first->Register(executor));
    const ExecutionId id = first->Submit();
    executor.AwaitOrder(1);
    Move();

    AnswerHeld(200, R"({"status":"success","result":{"rows":7},"log":"done"})");
    EXPECT_TRUE(second->watcher.AwaitEvent(EventType::kTaskCompleted, id));
    EXPECT_EQ(second->Read(id).outcome->data, R"({"rows":7})");
    EXPECT_EQ(second->Read(id).attempt, 1u);
    EXPECT_EQ(executor.orders(), 1u);
}

// The executor took it and calls back: nobody needs to be reminded.
TEST_F(PushHandOverTest, AnAttemptThatWasTakenIsNotSentAgain) {
    ASSERT_TRUE(first->Register(executor));
    const ExecutionId id = first->Submit();
    const Order order = executor.AwaitOrder(1);
    ASSERT_TRUE(first->watcher.AwaitEvent(EventType::kTaskStarted, id));
    Move();

    EXPECT_EQ(second->Callback(order.execution, order.token, true), Kind::kAccepted);
    EXPECT_EQ(executor.orders(), 1u);
}

// The one who has the call open dies after all: then it is as in any other death.
TEST_F(PushHandOverTest, WhatADeadKeeperHadOpenIsSentAgain) {
    executor.Answer(
        [this](const Order& order, HttpReply reply) { TakeReply(order, std::move(reply)); });
    ASSERT_TRUE(first->Register(executor));
    const ExecutionId id = first->Submit();
    executor.AwaitOrder(1);
    Move();
    first.reset();

    const Order again = executor.AwaitOrder(2);
    EXPECT_EQ(again.attempt, 1);
    EXPECT_EQ(second->Callback(again.execution, again.token, true), Kind::kAccepted);
    EXPECT_EQ(second->Read(id).status, Status::kSuccess);
}

// The only scheduler is stopped, to be started again: nobody else could be told the answer.
TEST_F(PushHandOverTest, TheOnlySchedulerTakesOpenAnswersBeforeItStops) {
    executor.Answer(
        [this](const Order& order, HttpReply reply) { TakeReply(order, std::move(reply)); });
    ASSERT_TRUE(first->Register(executor));
    const ExecutionId id = first->Submit();
    executor.AwaitOrder(1);
    const auto settled = first->Settle();
    // It is given nothing more: the stop would have no end.
    const ExecutionId later = first->Submit();
    EXPECT_EQ(settled.wait_for(0ms), std::future_status::timeout);

    AnswerHeld(200, R"({"status":"success","result":{"rows":7}})");
    settled.wait();
    first->Stop();
    EXPECT_EQ(first->Read(id).status, Status::kSuccess);
    EXPECT_EQ(first->Read(later).status, Status::kPending);
    EXPECT_EQ(executor.orders(), 1u);
}

// The store is slow for a moment while the only scheduler stops: not its executors' fault, who
// would have to do it all again.
TEST_F(PushHandOverTest, AStoreThatIsSlowEndsNoWaitForOpenAnswers) {
    executor.Answer(
        [this](const Order& order, HttpReply reply) { TakeReply(order, std::move(reply)); });
    ASSERT_TRUE(first->Register(executor));
    const ExecutionId id = first->Submit();
    executor.AwaitOrder(1);
    first->KeepQuietOfNodes();
    const auto settled = first->Settle();
    EXPECT_EQ(settled.wait_for(1s), std::future_status::timeout);

    AnswerHeld(200, R"({"status":"success"})");
    settled.wait();
    first->Stop();
    EXPECT_EQ(first->Read(id).status, Status::kSuccess);
    EXPECT_EQ(executor.orders(), 1u);
}

// Another scheduler was started seconds ago, and the list of all of them is older.
TEST_F(PushHandOverTest, ASchedulerThatHasJustComeIsLeftWordOfOpenCalls) {
    PushStack stack({.address = door.url(), .others_stay = Duration(0)},
                    std::make_shared<MemoryDatabase>(), "node-3");
    executor.Hang();
    ASSERT_TRUE(stack.Register(executor));
    stack.Submit();
    executor.AwaitOrder(1);
    stack.Announce("node-4");

    stack.Settle().wait();
    stack.Stop();

    EXPECT_EQ(stack.WordsLeft().size(), 1u);
}

// All schedulers are stopped at once, as whoever stops a cluster does: one that is still announced will
// not lead after this one. And one that leads other namespaces only never will.
TEST_F(PushHandOverTest, ASchedulerThatWillNotLeadIsNotLeftOpenCalls) {
    const auto settles = [&](PushStack& stack, const std::function<void()>& goes) {
        executor.Answer(
            [this](const Order& order, HttpReply reply) { TakeReply(order, std::move(reply)); });
        const std::size_t orders = executor.orders();
        ASSERT_TRUE(stack.Register(executor));
        const ExecutionId id = stack.Submit();
        executor.AwaitOrder(orders + 1);
        const auto settled = stack.Settle();
        EXPECT_EQ(settled.wait_for(1s), std::future_status::timeout);
        goes();
        AnswerHeld(200, R"({"status":"success"})");
        settled.wait();
        stack.Stop();
        EXPECT_EQ(stack.Read(id).status, Status::kSuccess);
        EXPECT_TRUE(stack.WordsLeft().empty());
    };
    const PushLinkConfig patient{.address = door.url(), .others_stay = 1h};
    PushStack one(patient, std::make_shared<MemoryDatabase>(), "node-3");
    one.Announce("node-4");
    settles(one, [&] { one.Announce("node-4", Duration(0)); });

    PushStack other({.address = door.url(), .others_stay = Duration(0)},
                    std::make_shared<MemoryDatabase>(), "node-3");
    other.Announce("node-4", 1h, {"billing"});
    settles(other, [] {});
}

TEST(LeftAttempts, AreReadAsTheyWereWritten) {
    LeftAttempts left;
    for (int i = 0; i < 1200; ++i) {
        left[Text("e" + std::to_string(i))] = {std::uint32_t(i),
                                               i % 2 ? NodeId("node-1") : NodeId()};
    }
    auto settings = WriteLeftAttempts(left);
    EXPECT_EQ(settings.size(), 3u);
    settings.push_back({.key = "executor-offline/x", .value = "1"});
    const LeftAttempts read = ReadLeftAttempts(settings);

    ASSERT_EQ(read.size(), left.size());
    for (const auto& [execution, attempt] : left) {
        EXPECT_EQ(read.at(execution).attempt, attempt.attempt);
        EXPECT_EQ(read.at(execution).keeper, attempt.keeper);
    }
    EXPECT_TRUE(WriteLeftAttempts({}).empty());
}

// A report that is passed on means what the answer meant.
TEST(LeftAttempts, APassedOnReportIsReadAsACallback) {
    const auto failed = ReadCallback(
        R"({"status":"failed","error":{"code":7,"message":"no \"rows\""},"retryable":false,"log":"a\n"})");
    ASSERT_TRUE(failed);
    const auto again = ReadCallback(CallbackText(failed->report));
    ASSERT_TRUE(again) << again.error().detail;
    EXPECT_FALSE(again->report.success);
    EXPECT_FALSE(again->report.retryable);
    EXPECT_TRUE(SaysTheSame(failed->report.outcome.get(), again->report.outcome.get()));
    EXPECT_EQ(again->report.log, "a\n");
}

}  // namespace
}  // namespace takt::internal
