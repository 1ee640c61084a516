// Calls that a follower passes on to a leader that takes them and never answers.
#include "api/passings.h"

#include <gtest/gtest.h>

#include <future>
#include <mutex>

#include "api/test_scheduler.h"
#include "store/lead.h"

namespace takt::internal {
namespace {

// Runs by hand what was to be run at the next look.
class Looks {
  public:
    After after() {
        return [this](Duration delay, std::move_only_function<void()> action) {
            if (delay != 200ms) return;
            const std::scoped_lock lock(mutex_);
            actions_.push_back(std::move(action));
        };
    }
    // On the server's thread, as often as it is said.
    void Pass(TestScheduler& scheduler, int times) {
        for (int i = 0; i < times; ++i) {
            std::promise<void> passed;
            scheduler.Run([&] {
                std::vector<std::move_only_function<void()>> now;
                {
                    const std::scoped_lock lock(mutex_);
                    now.swap(actions_);
                }
                for (auto& action : now) action();
                passed.set_value();
            });
            passed.get_future().wait();
        }
    }

  private:
    std::mutex mutex_;
    std::vector<std::move_only_function<void()>> actions_;
};

// A process that leads and was frozen: its port takes everything, and nothing comes back.
class FrozenLeader : public ServerTest {
  protected:
    void SetUp() override {
        handler_->handle = [this](HttpRequest request, HttpReply reply) {
            replies_.push_back(std::move(reply));
            taken_.Put(std::move(request));
        };
        Serve();
        row_ = {.node = NodeId(Text("node-a")),
                .address = Text("http://127.0.0.1:" + std::to_string(server_->port()))};
        const auto term = TakeLead(store_, {.node = row_, .ttl = std::chrono::hours(1)});
        ASSERT_TRUE(term);
        term_ = *term;
        follower_ = std::make_unique<TestScheduler>(TestSchedulerOptions{
            .node = "node-b", .database = database_, .await_lead = false, .after = looks_.after()});
        follower_->AwaitLeaderKnown();
    }
    void TearDown() override {
        follower_.reset();
        ServerTest::TearDown();
    }

    std::future<Answered> Ask(HttpMethod method, std::string target, std::string body = {},
                              HttpHeaderList headers = {}) {
        auto answer = std::async(std::launch::async, [=, this] {
            return follower_->Send(method, target, body, headers);
        });
        taken_.Take();
        return answer;
    }
    // An execution that no worker has taken yet, or one that runs.
    void StoreWaiting(Status status = Status::kPending) {
        NewTaskPtr task(new Task);
        task->id = TaskId("waits");
        task->name = "pay";
        task->type = "pay";
        Execution row;
        row.id = ExecutionId("waits");
        row.serial = 1 << 14;
        row.task = std::move(task);
        row.status = status;
        row.created_at = row.scheduled_at = row.ready_at = Time(Duration(1'700'000'000'000));
        auto batch = std::make_shared<Batch>();
        *batch = {.term = term_, .sequence = 1, .last_serial = row.serial};
        batch->changes.emplace_back(ExecutionChange{Place::kNone, Place::kLive, std::move(row)});
        ASSERT_TRUE(AskStore<void>([&](auto done) { store_.Commit(batch, std::move(done)); }));
    }
    // Of bodies, for another leader.
    std::size_t KeptBytes() {
        std::promise<std::size_t> bytes;
        follower_->Run([&] { bytes.set_value(follower_->api().passings().kept_bytes()); });
        return bytes.get_future().get();
    }
    // Its lease is over, and the other one is elected.
    void Replace() {
        ASSERT_TRUE(AskStore<void>([&](auto done) { store_.Announce(row_, {}, std::move(done)); }));
        follower_->sink().AwaitRole(Role::kLeader);
    }

    const std::shared_ptr<MemoryDatabase> database_ = std::make_shared<MemoryDatabase>();
    MemoryStore store_{database_, [](auto work) { work(); }};
    NodeRow row_;
    Term term_;
    std::vector<HttpReply> replies_;
    Mailbox<HttpRequest> taken_;
    Looks looks_;
    std::unique_ptr<TestScheduler> follower_;
};

// A task with an id of the caller's cannot be made twice: whoever submits it need not learn that the
// leader was frozen.
TEST_F(FrozenLeader, WhatMayBeSentTwiceGoesToTheNextLeader) {
    const std::string task = R"({"id": "pay-7", "name": "pay"})";
    auto made = Ask(HttpMethod::kPost, "/api/v1/tasks", task);
    EXPECT_EQ(KeptBytes(), task.size());
    looks_.Pass(*follower_, 20);
    EXPECT_EQ(made.wait_for(0s), std::future_status::timeout) << "nobody else leads";
    Replace();
    looks_.Pass(*follower_, 4);
    EXPECT_EQ(made.wait_for(0s), std::future_status::timeout) << "a leader may be about to answer";
    looks_.Pass(*follower_, 1);

    const Answered answered = made.get();
    EXPECT_EQ(answered.status, 201) << answered.body;
    EXPECT_EQ(follower_->Get("/api/v1/executions/pay-7").status, 200);
}

TEST_F(FrozenLeader, ACreationUnderAKeyOfTheCallersMayBeSentTwice) {
    auto made = Ask(HttpMethod::kPost, "/api/v1/tasks", R"({"name": "pay"})",
                    {{"Idempotency-Key", "order-7"}});
    Replace();
    looks_.Pass(*follower_, 5);

    EXPECT_EQ(made.get().status, 201);
}

TEST_F(FrozenLeader, AReadMayBeSentTwice) {
    auto read = Ask(HttpMethod::kGet, "/api/v1/workers");
    Replace();
    looks_.Pass(*follower_, 5);

    EXPECT_EQ(read.get().status, 200);
}

// A call that waits for an end has waited for long, and would begin anew beside the next leader.
TEST_F(FrozenLeader, AWaitForAnEndIsAnsweredWithWhatIsStoredWhenTheLeadChanges) {
    StoreWaiting();
    auto waits = Ask(HttpMethod::kGet, "/api/v1/executions/waits?wait=40s");
    Replace();
    looks_.Pass(*follower_, 5);

    const Answered answered = waits.get();
    EXPECT_EQ(answered.status, 200) << answered.body;
    EXPECT_EQ(answered.Text("status"), "pending");
}

// A leader that was killed: its connections break, and a read cannot have done anything.
TEST_F(FrozenLeader, AWaitForAnEndIsAnsweredWithWhatIsStoredWhenItsLeaderDies) {
    StoreWaiting();
    auto waits = Ask(HttpMethod::kGet, "/api/v1/executions/waits?wait=40s");
    server_.reset();
    replies_.clear();

    const Answered answered = waits.get();
    EXPECT_EQ(answered.status, 200) << answered.body;
    EXPECT_EQ(answered.Text("status"), "pending");
}

// How far it is that runs is asked of the leader. Nobody asks a dead one again and again.
TEST_F(FrozenLeader, WhatRunsIsAnsweredAsItIsStoredWhenItsLeaderDies) {
    StoreWaiting(Status::kRunning);
    auto waits = Ask(HttpMethod::kGet, "/api/v1/executions/waits?wait=40s");
    server_.reset();
    replies_.clear();

    for (const Answered& answered : {waits.get(), follower_->Get("/api/v1/executions/waits")}) {
        EXPECT_EQ(answered.status, 200) << answered.body;
        EXPECT_EQ(answered.Text("status"), "running");
    }
}

// It may have been committed before the leader was frozen. Made again it would be paid twice.
TEST_F(FrozenLeader, WhatMayNotBeSentTwiceIsAnsweredAsUnknown) {
    auto made = Ask(HttpMethod::kPost, "/api/v1/tasks", R"({"name": "pay"})");
    Replace();
    looks_.Pass(*follower_, 5);

    const Answered answered = made.get();
    EXPECT_EQ(answered.status, 503);
    EXPECT_EQ(answered.Text("code"), "unknown") << answered.body;
    EXPECT_NE(answered.Text("detail").find("whether it was done is not known"), std::string::npos);
    EXPECT_EQ(follower_->Get("/api/v1/executions").json.at("items").as_array().size(), 0u);
}

// The next leader would find it finished, and say so to the one who finished it.
TEST_F(FrozenLeader, AnEndThatMayBeSaidIsNotAnsweredAsOfWhatHadEnded) {
    StoreWaiting();
    auto ended =
        Ask(HttpMethod::kPut, "/api/v1/executions/waits/status", R"({"status": "cancelled"})");
    Replace();
    looks_.Pass(*follower_, 5);

    const Answered answered = ended.get();
    EXPECT_EQ(answered.status, 503);
    EXPECT_EQ(answered.Text("code"), "unknown");
}

// It is gone, and the next leader would not find it.
TEST_F(FrozenLeader, ADeletionThatMayBeDoneIsNotAnsweredAsOfWhatIsNotThere) {
    auto gone = Ask(HttpMethod::kDelete, "/api/v1/tasks/report");
    Replace();
    looks_.Pass(*follower_, 5);

    const Answered answered = gone.get();
    EXPECT_EQ(answered.status, 503);
    EXPECT_EQ(answered.Text("code"), "unknown");
}

// A thousand callers with bulks of a megabyte each wait for a leader that is slow.
TEST_F(FrozenLeader, ABodyThatIsNotSentTwiceIsNotKept) {
    const std::string tasks = R"({"tasks": [{"name": ")" + std::string(100'000, 'x') + R"("}]})";
    auto bulk = Ask(HttpMethod::kPost, "/api/v1/tasks/bulk", tasks);
    EXPECT_EQ(KeptBytes(), 0u);
    Replace();
    looks_.Pass(*follower_, 5);

    EXPECT_EQ(bulk.get().status, 503);
}

// The condition held when the old leader did it, and would not hold again.
TEST_F(FrozenLeader, AChangeUnderAConditionIsNotSentTwice) {
    auto put = Ask(HttpMethod::kPut, "/api/v1/tasks/nightly", R"({"cron": "0 3 * * *"})",
                   {{"If-None-Match", "*"}});
    Replace();
    looks_.Pass(*follower_, 5);

    EXPECT_EQ(put.get().status, 503);
}

// Calls that wait are passed on with more patience than others, but not for a leader of the past.
TEST_F(FrozenLeader, AWaitIsNotLongerThanTheLead) {
    auto held = Ask(HttpMethod::kPost, "/api/v1/locks/ledger/acquire",
                    R"({"owner": "o", "ttl": "30s", "wait": "25s"})");
    Replace();
    looks_.Pass(*follower_, 5);

    const Answered answered = held.get();
    EXPECT_EQ(answered.status, 503) << answered.body;
    EXPECT_EQ(answered.Text("code"), "unknown");
}

}  // namespace
}  // namespace takt::internal
