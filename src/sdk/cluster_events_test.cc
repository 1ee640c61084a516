// Events of a cluster of schedulers: heard on each of them, and in the store by those who ask for it.
#include <gmock/gmock.h>

#include <array>
#include <memory>

#include "store/testing/redis_server.h"
#include "tests/sdk/sdk_testing.h"

namespace takt::testing_support {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ClusterEventsTest : public SdkTest {
  protected:
    void SetUp() override {
        auto redis = internal::RedisServer::Start();
        ASSERT_TRUE(redis) << redis.error().detail;
        redis_ = std::move(*redis);
    }
    void TearDown() override {
        for (auto& node : nodes_) node.reset();
    }

    SchedulerOptions OptionsOf(std::size_t number) const {
        return {.store_url = redis_->url(),
                .listen = "127.0.0.1:0",
                .node_id = "n" + std::to_string(number),
                .election_timeout = 3s};
    }
    void StartNode(std::size_t number) {
        nodes_[number] = std::make_unique<Scheduler>(OptionsOf(number));
        nodes_[number]->RegisterEventCallback(logs_[number].Callback());
        const auto started = nodes_[number]->Start();
        ASSERT_TRUE(started) << started.error().message;
    }
    static bool Hears(EventLog& log, EventType type, const std::string& id) {
        return log.WaitFor([&](const std::vector<Event>& events) {
            return std::ranges::any_of(events, [&](const Event& event) {
                return event.type == type && event.execution_id == id;
            });
        });
    }
    // Until both followers listen: what happens before that is nobody's to hear.
    void AwaitListening() {
        for (EventLog& log : logs_) {
            ASSERT_TRUE(Eventually([&] {
                static_cast<void>(nodes_[1]->SubmitTask({.type = "probe"}));
                return !log.events().empty();
            }));
        }
    }
    static void ExpectOrder(const EventLog& log) {
        std::uint64_t last = 0;
        for (const Event& event : log.events()) {
            if (event.type == EventType::kMissed) continue;
            EXPECT_GT(event.serial, last) << Name(event.type);
            last = event.serial;
        }
    }

    std::unique_ptr<internal::RedisServer> redis_;
    std::array<EventLog, 3> logs_;
    std::array<std::unique_ptr<Scheduler>, 3> nodes_;
};

// A program that runs on three machines, each with a scheduler inside, hears the same on all of them,
// whoever leads, and goes on hearing when the leader goes.
TEST_F(ClusterEventsTest, EverySchedulerTellsTheSameWhoeverLeads) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) StartNode(i);
    AwaitListening();
    const auto task = nodes_[2]->SubmitTask({.type = "x"});
    ASSERT_TRUE(task) << task.error().message;
    for (EventLog& log : logs_) EXPECT_TRUE(Hears(log, EventType::kTaskSubmitted, task->id));

    std::size_t leader = 0;
    while (!nodes_[leader]->IsLeader()) ++leader;
    nodes_[leader]->Stop();
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (i != leader) left.push_back(i);
    }
    for (const std::size_t i : left) {
        EXPECT_TRUE(logs_[i].WaitFor(EventType::kLeaderChanged)) << i;
        EXPECT_TRUE(logs_[i].WaitFor(EventType::kMissed)) << i;
    }
    Result<TaskRecord> later = Error{};
    ASSERT_TRUE(Eventually([&] {
        later = nodes_[left[0]]->SubmitTask({.type = "later"});
        return later.has_value();
    }));
    for (const std::size_t i : left) {
        EXPECT_TRUE(Hears(logs_[i], EventType::kTaskSubmitted, later->id)) << i;
    }
    for (const EventLog& log : logs_) ExpectOrder(log);
}

// Other programs read Redis's stream. They get what the key asks for, and without it only what matters
// for long.
TEST_F(ClusterEventsTest, TheStoreKeepsTheTypesThatAreAskedFor) {
    SchedulerOptions options = OptionsOf(0);
    options.settings = {{"scheduler.events_stored", "task.submitted,task.completed,worker"}};
    Start(options);
    auto worker = MakeWorker("w");
    worker->Handle("x", [](TaskContext&) { return TaskResult::Success(); });
    Join(*worker);
    ASSERT_TRUE(scheduler_->Run({.id = "mine", .type = "x"}, kPatience));
    ASSERT_TRUE(Eventually([&] {
        const auto last = redis_->Cli({"XREVRANGE", "{takt:0}:events", "+", "-"});
        return last && last->contains("task.completed");
    }));
    const auto stream = redis_->Cli({"XRANGE", "{takt:0}:events", "-", "+"});
    ASSERT_TRUE(stream) << stream.error().detail;
    EXPECT_THAT(*stream, HasSubstr("task.submitted"));
    EXPECT_THAT(*stream, HasSubstr("worker.joined"));
    EXPECT_THAT(*stream, Not(HasSubstr("task.scheduled")));
    EXPECT_THAT(*stream, Not(HasSubstr("leader.changed")));
    scheduler_.reset();

    options.settings = {{"scheduler.events_stored", "task.nonsense"}};
    const auto refused = Scheduler(options).Start();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
    EXPECT_THAT(refused.error().message, HasSubstr("task.nonsense"));
}

}  // namespace
}  // namespace takt::testing_support
