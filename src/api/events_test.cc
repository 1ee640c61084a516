#include <map>

#include "api/test_scheduler.h"

namespace takt::internal {
namespace {

// Keeps what is written to it.
class FakeStream final : public EventStream {
  public:
    bool Write(const ServerSentEvent& event) override { return WriteFormatted(FormatEvent(event)); }
    bool WriteFormatted(std::string_view text) override {
        written += text;
        return true;
    }
    void Close() override { closed = true; }
    std::uint64_t dropped() const override { return 0; }

    std::string written;
    bool closed = false;
};

Event EventOf(Serial serial, EventType type = EventType::kTaskSubmitted, const char* task = "t") {
    Event event;
    event.serial = serial;
    event.type = type;
    event.task = TaskId(Text(task));
    return event;
}

void Publish(EventHub& hub, std::vector<Event> events) {
    Effects effects;
    effects.events = std::move(events);
    hub.Release(effects);
}

// A watcher's connection breaks, and it comes back with the last id it saw.
TEST(EventHub, WatcherGoesOnWhereItWas) {
    EventHub hub;
    hub.OnRole(Role::kLeader);
    Publish(hub, {EventOf(10), EventOf(11), EventOf(12)});
    auto stream = std::make_shared<FakeStream>();
    hub.Watch({}, 11, stream);
    EXPECT_EQ(stream->written.find("id: 11"), std::string::npos);
    EXPECT_NE(stream->written.find("id: 12"), std::string::npos);
    EXPECT_EQ(stream->written.find("reset"), std::string::npos);
    Publish(hub, {EventOf(13)});
    EXPECT_NE(stream->written.find("id: 13"), std::string::npos);
}

// A page that shows one run wants to hear of its steps, and of nobody else's.
TEST(EventHub, ARunIsWatchedWithAllThatIsInIt) {
    EventFilter filter;
    filter.run = ExecutionId(Text("run"));
    const auto fits = [&](const char* execution) {
        Event event = EventOf(1);
        event.execution = ExecutionId(Text(execution));
        return filter.Fits(event);
    };
    EXPECT_TRUE(fits("run"));
    EXPECT_TRUE(fits("run~0.2"));
    EXPECT_TRUE(fits("run~0.2~1.0")) << "a run in the run";
    EXPECT_FALSE(fits("run2"));
    EXPECT_FALSE(fits("run2~0.0"));
    EXPECT_FALSE(fits("run~other")) << "an id that somebody chose";
    EXPECT_FALSE(fits("ru"));
    EXPECT_FALSE(fits(""));
}

// It was away for too long: what it missed is gone, and it must know.
TEST(EventHub, GapIsToldByAReset) {
    EventHub hub({.events_max = 2});
    hub.OnRole(Role::kLeader);
    Publish(hub, {EventOf(10), EventOf(11), EventOf(12), EventOf(13)});
    auto late = std::make_shared<FakeStream>();
    hub.Watch({}, 10, late);
    EXPECT_NE(late->written.find("event: reset"), std::string::npos);
    EXPECT_EQ(late->written.find("id: 12"), std::string::npos) << "state is read anew instead";
    EXPECT_NE(late->written.find("id: 13"), std::string::npos) << "and gone on from here";
    auto just = std::make_shared<FakeStream>();
    hub.Watch({}, 11, just);
    EXPECT_EQ(just->written.find("reset"), std::string::npos) << "11 was the last one dropped";
    auto foreign = std::make_shared<FakeStream>();
    hub.Watch({}, 7, foreign);
    EXPECT_NE(foreign->written.find("reset"), std::string::npos) << "of another leader";
}

// Somebody asks what happened to a task before they looked.
TEST(EventHub, ThePastIsShownFirstNewestOnesAtMost) {
    EventHub hub;
    hub.OnRole(Role::kLeader);
    std::vector<Event> many;
    for (Serial serial = 1; serial <= EventHub::kPastMax + 5; ++serial) {
        many.push_back(EventOf(serial, EventType::kTaskFailed, "a"));
    }
    many.push_back(EventOf(9'000, EventType::kTaskFailed, "b"));
    Publish(hub, std::move(many));
    auto stream = std::make_shared<FakeStream>();
    EXPECT_NE(hub.WatchPast({.task = TaskId(Text("a"))}, stream), 0u);
    EXPECT_EQ(stream->written.find("id: 5\n"), std::string::npos) << "too many";
    EXPECT_LT(stream->written.find("id: 6\n"), stream->written.find("id: 7\n"));
    EXPECT_EQ(stream->written.find("id: 9000\n"), std::string::npos) << "of another task";
    Publish(hub, {EventOf(10'000, EventType::kTaskFailed, "a")});
    EXPECT_NE(stream->written.find("id: 10000\n"), std::string::npos) << "and it goes on";
}

TEST(EventHub, FiltersByTypeTaskAndWorker) {
    EventHub hub;
    hub.OnRole(Role::kLeader);
    auto stream = std::make_shared<FakeStream>();
    hub.Watch({.types = *ParseEventTypes("task.failed,worker"), .task = TaskId(Text("a"))},
              std::nullopt, stream);
    Publish(hub, {EventOf(1, EventType::kTaskFailed, "a"), EventOf(2, EventType::kTaskFailed, "b"),
                  EventOf(3, EventType::kTaskStarted, "a")});
    EXPECT_NE(stream->written.find("id: 1\n"), std::string::npos) << stream->written;
    EXPECT_EQ(stream->written.find("id: 2\n"), std::string::npos);
    EXPECT_EQ(stream->written.find("id: 3\n"), std::string::npos);
    EXPECT_FALSE(ParseEventTypes("task.exploded"));
    EXPECT_FALSE(ParseEventTypes(""));
}

TEST(EventHub, WatchersAreSentAwayWhenAnotherNodeLeads) {
    EventHub hub({.watchers_max = 1});
    hub.OnRole(Role::kLeader);
    auto stream = std::make_shared<FakeStream>();
    const std::uint64_t number = hub.Watch({}, std::nullopt, stream);
    EXPECT_EQ(hub.Watch({}, std::nullopt, std::make_shared<FakeStream>()), 0u) << "too many";
    hub.OnRole(Role::kFollower);
    EXPECT_TRUE(stream->closed);
    hub.Unwatch(number);
    EXPECT_EQ(hub.watchers(), 0u);
}

// The lead was lost between the request and its stream: here nothing would ever be seen again.
TEST(EventHub, WhoComesTooLateIsNotKept) {
    EventHub hub;
    EXPECT_EQ(hub.Watch({}, std::nullopt, std::make_shared<FakeStream>()), 0u);
    hub.OnRole(Role::kLeader);
    EXPECT_NE(hub.Watch({}, std::nullopt, std::make_shared<FakeStream>()), 0u);
    hub.OnRole(Role::kFollower);
    EXPECT_EQ(hub.Watch({}, std::nullopt, std::make_shared<FakeStream>()), 0u);
}

// Two look at the log of one execution, a third at another's; one of them closes the page.
TEST(EventHub, FollowersAreToldUntilTheyLeave) {
    EventHub hub;
    hub.OnRole(Role::kLeader);
    std::map<std::string, int> told;
    const auto follow = [&](const std::string& id, const std::string& who) {
        return hub.Follow(ExecutionId(Text(id)), [&told, who](bool) { ++told[who]; });
    };
    const std::uint64_t first = follow("a", "first");
    const std::uint64_t second = follow("a", "second");
    follow("b", "third");
    Effects effects;
    effects.logs.push_back({.execution = ExecutionId(Text("a")), .index = 7});
    hub.Release(effects);
    EXPECT_EQ(told["first"], 1);
    EXPECT_EQ(told["second"], 1);
    hub.NoteOutputFound(first, 7);
    hub.Unfollow(second);
    told.clear();
    hub.Release(effects);
    EXPECT_EQ(told["first"], 1);
    EXPECT_EQ(told.count("second"), 0u);
    hub.OnRole(Role::kFollower);
    EXPECT_EQ(told["first"], 2);
    EXPECT_EQ(hub.Follow(ExecutionId(Text("a")), [](bool) {}), 0u) << "somebody else leads";
}

// The console watches what happens, through a proxy that cuts connections now and then.
TEST(Events, StreamResumesOverHttp) {
    TestScheduler scheduler;
    scheduler.Post("/api/v1/tasks", R"({"id": "one", "name": "n", "delay": "1h"})");
    std::string last;
    {
        RawClient client(scheduler.port());
        client.Send(
            "GET /api/v1/events?type=task.submitted&last_event_id=1 HTTP/1.1\r\n"
            "Host: 127.0.0.1\r\n\r\n");
        const std::string reset = client.ReadUntil("event: reset");
        EXPECT_NE(reset.find("text/event-stream"), std::string::npos) << reset;
        scheduler.Post("/api/v1/tasks", R"({"id": "two", "name": "n", "delay": "1h"})");
        const std::string text =
            client.ReadUntil("\"execution_id\":\"two\"") + client.ReadUntil("\n\n");
        const std::size_t at = text.rfind("\"id\":\"") + 6;
        last = text.substr(at, text.find('"', at) - at);
    }
    scheduler.Post("/api/v1/tasks", R"({"id": "three", "name": "n", "delay": "1h"})");
    RawClient again(scheduler.port());
    again.Send("GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\nLast-Event-ID: " + last +
               "\r\n\r\n");
    const std::string resumed = again.ReadUntil("\"execution_id\":\"three\"");
    EXPECT_EQ(resumed.find("reset"), std::string::npos) << resumed;
    EXPECT_EQ(resumed.find("\"two\""), std::string::npos) << resumed;
    EXPECT_EQ(scheduler.Get("/api/v1/events?type=nonsense").status, 400);
}

}  // namespace
}  // namespace takt::internal
