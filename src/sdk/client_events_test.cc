// Events of a scheduler in another process: heard, filtered, gone on with.
#include <gmock/gmock.h>

#include "tests/sdk/sdk_testing.h"

namespace takt::testing_support {
namespace {

class ClientEventsTest : public SdkTest {
  protected:
    // Until the stream is there: what happens before it is nobody's to hear.
    void AwaitListening(Client& client, EventLog& log) {
        ASSERT_TRUE(Eventually([&] {
            static_cast<void>(client.SubmitTask({.type = "probe"}));
            return !log.events().empty();
        }));
    }
    static bool Has(const std::vector<Event>& events, EventType type, const std::string& id) {
        for (const Event& event : events) {
            if (event.type == type && event.execution_id == id) return true;
        }
        return false;
    }
};

TEST_F(ClientEventsTest, EventsComeInTheirOrderToThoseWhoWantThem) {
    Start();
    auto worker = MakeWorker("w");
    worker->Handle("x", [](TaskContext&) { return TaskResult::Success(); });
    Join(*worker);
    EventLog all, completed, none;
    Client client = MakeClient();
    client.RegisterEventCallback(all.Callback());
    client.RegisterEventCallback(EventType::kTaskCompleted, completed.Callback());
    const auto number = client.RegisterEventCallback(none.Callback());
    client.UnregisterEventCallback(number);
    AwaitListening(client, all);
    const auto run = client.Run({.type = "x"}, kPatience);
    ASSERT_TRUE(run) << run.error().message;
    EXPECT_TRUE(completed.WaitFor(
        [&](const auto& events) { return Has(events, EventType::kTaskCompleted, run->id); }));
    EXPECT_TRUE(all.WaitFor(
        [&](const auto& events) { return Has(events, EventType::kTaskCompleted, run->id); }));
    const std::vector<Event> events = all.events();
    EXPECT_TRUE(Has(events, EventType::kTaskSubmitted, run->id));
    for (std::size_t i = 1; i < events.size(); ++i) {
        EXPECT_LT(events[i - 1].serial, events[i].serial);
    }
    for (const Event& event : completed.events()) {
        EXPECT_EQ(event.type, EventType::kTaskCompleted);
        EXPECT_EQ(event.worker_id, "w");
        EXPECT_GT(event.at, Time());
    }
    EXPECT_TRUE(none.events().empty());
    EXPECT_EQ(client.events_dropped(), 0u);
}

// The scheduler is restarted: whoever listens is told that something may be missing, and hears on.
TEST_F(ClientEventsTest, AfterAnotherLeaderItIsSaidThatEventsWereMissed) {
    Start();
    EventLog log;
    Client client = MakeClient();
    client.RegisterEventCallback(EventType::kTaskSubmitted, log.Callback());
    AwaitListening(client, log);
    SchedulerOptions options = TestOptions();
    options.listen = scheduler_->url().substr(std::string("http://").size());
    scheduler_->Stop();
    Start(options);
    EXPECT_TRUE(log.WaitFor(EventType::kMissed));
    const auto task = client.SubmitTask({.type = "x"});
    ASSERT_TRUE(task) << task.error().message;
    EXPECT_TRUE(log.WaitFor(
        [&](const auto& events) { return Has(events, EventType::kTaskSubmitted, task->id); }));
}

TEST_F(ClientEventsTest, AClientThatListensCanBeDestroyedAnywhere) {
    Start();
    Signal gone;
    auto client = std::make_unique<Client>(ClientOptions{.servers = {scheduler_->url()}});
    client->RegisterEventCallback([&](const Event&) {
        client.reset();
        gone.Set();
    });
    EXPECT_TRUE(Eventually([&] {
        static_cast<void>(scheduler_->SubmitTask({.type = "x"}));
        return gone.Wait(20ms);
    }));
    Client nobody({.servers = {"http://127.0.0.1:1"}});
    nobody.RegisterEventCallback([](const Event&) {});
}

}  // namespace
}  // namespace takt::testing_support
