// Telling of alerts, when, and by whom: silences, slow channels, a leader that follows
// another.
#include <algorithm>
#include <boost/asio/post.hpp>

#include "alerts/alerts.h"
#include "alerts/follower_watch.h"
#include "api/test_alerts.h"
#include "store/lead.h"

namespace takt::internal {
namespace {

// The rule "quiet" as an operator silences it before maintenance; it watches that workers are
// there.
void PutQuietRule(TestScheduler& scheduler, std::string_view silence) {
    // Nothing holds it until it is silenced.
    ASSERT_EQ(scheduler
                  .Put("/api/v1/alert-rules/quiet",
                       R"({"metric": "tasks_pending", "operator": ">", "threshold": 1000000})")
                  .status,
              201);
    const Answered silenced = scheduler.Post("/api/v1/alert-rules/quiet/silence",
                                             R"({"duration": ")" + std::string(silence) + R"("})");
    ASSERT_EQ(silenced.status, 200) << silenced.body;
    EXPECT_FALSE(silenced.json.at("silenced_until").is_null());
    ASSERT_EQ(scheduler.Put("/api/v1/alert-rules/quiet", kNoWorkers).status, 200);
}

// Of the node that leads after another one on the same database.
TestSchedulerOptions Successor(Ears& ears, std::shared_ptr<MemoryDatabase> database) {
    TestSchedulerOptions options = Quick(ears, std::move(database));
    options.node = "node-b";
    return options;
}

// Waits until the rule's alert fires and that is written down; returns the alert's id, empty if it
// never does.
std::string AwaitFiring(TestScheduler& scheduler, Ears& ears, std::string_view rule) {
    const auto fired = ears.Await(rule, AlertState::kFiring);
    if (!fired) return {};
    AwaitToldFiring(scheduler, fired->alert.id);
    return fired->alert.id;
}

NewTaskPtr DailyReport(std::string_view id) {
    NewTaskPtr task(new Task);
    task->id = TaskId(Text(id));
    task->name = Text(id);
    task->type = "report";
    task->queue = "default";
    auto options = std::make_unique<TaskOptions>();
    options->recurrence = Recurrence{.every = 24h};
    task->options = std::move(options);
    return task;
}

// Maintenance: everybody knows, nobody wants to hear it.
TEST(AlertsApi, ASilencedRuleIsJudgedAndNotTold) {
    Ears ears;
    TestScheduler scheduler(Quick(ears));
    AwaitReady(scheduler);
    PutQuietRule(scheduler, "1h");
    ASSERT_EQ(scheduler.Put("/api/v1/alert-rules/loud", kNoWorkers).status, 201);
    ASSERT_TRUE(ears.Await("loud", AlertState::kFiring));
    EXPECT_EQ(scheduler.Get("/api/v1/alert-rules/quiet").Text("state"), "firing");
    EXPECT_EQ(ears.Count(), 2u) << "only the loud one, to two channels";
    const Answered again = scheduler.Delete("/api/v1/alert-rules/quiet/silence");
    EXPECT_TRUE(again.json.at("silenced_until").is_null()) << again.body;
    ASSERT_TRUE(ears.Await("quiet", AlertState::kFiring)) << "it still fires: now it is told";
    EXPECT_EQ(scheduler.Post("/api/v1/alert-rules/quiet/silence", "{}").status, 400);
    EXPECT_EQ(scheduler.Post("/api/v1/alert-rules/nobody/silence", R"({"duration": "1h"})").status,
              404);
}

// The maintenance takes longer than planned: the silence ends by itself, and the trouble does not.
TEST(AlertsApi, WhatStillFiresWhenItsSilenceEndsIsToldThen) {
    Ears ears;
    TestScheduler scheduler(Quick(ears));
    AwaitReady(scheduler);
    PutQuietRule(scheduler, "2s");
    const Answered rule = scheduler.Get("/api/v1/alert-rules/quiet");
    const auto until = ParseTime(rule.Text("silenced_until"));
    ASSERT_TRUE(until) << rule.body;
    const auto told = ears.Await("quiet", AlertState::kFiring);
    ASSERT_TRUE(told);
    EXPECT_GE(ears.ToldAt("quiet", AlertState::kFiring), *until);
    EXPECT_LT(told->alert.firing_at, *until) << "it began under the silence";
    LookOnce(scheduler);
    LookOnce(scheduler);
    EXPECT_EQ(ears.CountOf("quiet"), 2u) << "once to each of the two channels";
    scheduler.AttachWorker("w");
    EXPECT_TRUE(ears.Await("quiet", AlertState::kResolved));
}

// The maintenance went as planned: nobody needs to hear that what nobody heard of is over.
TEST(AlertsApi, WhatBeganAndEndedUnderASilenceIsNeverTold) {
    Ears ears;
    TestScheduler scheduler(Quick(ears));
    AwaitReady(scheduler);
    PutQuietRule(scheduler, "1h");
    ASSERT_EQ(scheduler.Put("/api/v1/alert-rules/loud", kNoWorkers).status, 201);
    ASSERT_TRUE(ears.Await("loud", AlertState::kFiring));
    EXPECT_EQ(scheduler.Get("/api/v1/alert-rules/quiet").Text("state"), "firing");
    scheduler.AttachWorker("w");
    ASSERT_TRUE(ears.Await("loud", AlertState::kResolved));
    EXPECT_EQ(scheduler.Get("/api/v1/alert-rules/quiet").Text("state"), "ok");
    ASSERT_EQ(scheduler.Delete("/api/v1/alert-rules/quiet/silence").status, 200);
    LookOnce(scheduler);
    EXPECT_EQ(ears.CountOf("quiet"), 0u);
}

// It was told, then silenced because everybody knew, and is over before the silence is.
TEST(AlertsApi, ThatItIsOverIsToldAfterTheSilenceToThoseWhoHeardThatItFires) {
    Ears ears;
    TestScheduler scheduler(Quick(ears));
    AwaitReady(scheduler);
    ASSERT_EQ(scheduler.Put("/api/v1/alert-rules/known", kNoWorkers).status, 201);
    ASSERT_EQ(scheduler.Put("/api/v1/alert-rules/loud", kNoWorkers).status, 201);
    ASSERT_TRUE(ears.Await("known", AlertState::kFiring));
    ASSERT_TRUE(ears.Await("loud", AlertState::kFiring));
    ASSERT_EQ(scheduler.Post("/api/v1/alert-rules/known/silence", R"({"duration": "1h"})").status,
              200);
    scheduler.AttachWorker("w");
    ASSERT_TRUE(ears.Await("loud", AlertState::kResolved));
    LookOnce(scheduler);
    EXPECT_EQ(ears.CountOf("known"), 2u) << "nothing under the silence";
    ASSERT_EQ(scheduler.Delete("/api/v1/alert-rules/known/silence").status, 200);
    EXPECT_TRUE(ears.Await("known", AlertState::kResolved));
}

// The webhook takes its time, longer than it takes to look again.
TEST(AlertsApi, ASlowChannelIsNotToldTwice) {
    Ears ears;
    TestScheduler scheduler(Quick(ears));
    AwaitReady(scheduler);
    ears.BeBusy();
    ASSERT_EQ(scheduler
                  .Put("/api/v1/alert-rules/slow",
                       R"({"metric": "workers_online", "operator": "<", "threshold": 1,
                           "channels": ["ops"]})")
                  .status,
              201);
    const auto told = ears.Await("slow", AlertState::kFiring);
    ASSERT_TRUE(told);
    for (int i = 0; i < 3; ++i) LookOnce(scheduler);
    const Answered channels = scheduler.Get("/api/v1/alert-channels");
    EXPECT_EQ(channels.json.at("items").at(1).at("waiting").to_number<int>(), 1) << channels.body;
    ears.BeFree();
    AwaitToldFiring(scheduler, told->alert.id);
    for (int i = 0; i < 3; ++i) LookOnce(scheduler);
    EXPECT_EQ(ears.CountOf("slow"), 1u);
}

// The leader changes while an alert fires: the next one says nothing twice, and resolves it.
TEST(AlertsApi, ANewLeaderNeitherRepeatsNorForgets) {
    auto database = std::make_shared<MemoryDatabase>();
    Ears first_ears;
    std::string id;
    {
        TestScheduler first(Quick(first_ears, database));
        AwaitReady(first);
        ASSERT_EQ(first.Put("/api/v1/alert-rules/nobody_there", kNoWorkers).status, 201);
        id = AwaitFiring(first, first_ears, "nobody_there");
        ASSERT_NE(id, "");
    }
    Ears second_ears;
    TestScheduler second(Successor(second_ears, database));
    AwaitReady(second);
    const Answered list = second.Get("/api/v1/alerts");
    bool there = false;
    for (const auto& alert : list.json.at("items").as_array()) {
        there |= alert.at("id").as_string() == id && alert.at("state").as_string() == "firing";
    }
    EXPECT_TRUE(there) << list.body;
    second.AttachWorker("w");
    const auto resolved = second_ears.Await("nobody_there", AlertState::kResolved);
    ASSERT_TRUE(resolved);
    EXPECT_EQ(resolved->alert.id, id);
    AwaitReady(second);
    EXPECT_EQ(second_ears.Count(), 2u) << "two channels heard that it is over, and nothing else";
}

// Executions fail, the leader dies of it. Its successor has seen none of them fail.
TEST(AlertsApi, ANewLeaderDoesNotTakeItsEmptyCountsForTheEnd) {
    auto database = std::make_shared<MemoryDatabase>();
    Ears first_ears;
    {
        TestScheduler first(Quick(first_ears, database));
        AwaitReady(first);
        first.AttachWorker("w", true);
        first.sink().on_assign = [&](const Assign& assign) {
            const AttemptRef attempt{assign.execution.id, assign.execution.attempt,
                                     assign.execution.token};
            first.node().Tell(Started{.session = assign.session, .attempt = attempt});
            first.node().Tell(Report{.session = assign.session,
                                     .attempt = attempt,
                                     .success = false,
                                     .outcome = MakeOutcome(Reason::kHandlerFailed, "disk full")});
        };
        ASSERT_EQ(first
                      .Put("/api/v1/alert-rules/failing",
                           R"({"metric": "tasks_failed", "operator": ">", "threshold": 0})")
                      .status,
                  201);
        const Answered made = first.Post(
            "/api/v1/tasks", R"({"id": "job", "name": "n", "retry_policy": {"max_retries": 0}})");
        ASSERT_EQ(made.status, 201) << made.body;
        ASSERT_NE(AwaitFiring(first, first_ears, "failing"), "");
    }
    Ears second_ears;
    TestScheduler second(Successor(second_ears, database));
    AwaitReady(second);
    // Five times as long as a look that finds nothing wrong needs to end an alert.
    ASSERT_EQ(second
                  .Put("/api/v1/alert-rules/later",
                       R"({"metric": "workers_offline", "operator": "<", "threshold": 1000,
                           "duration": "300ms"})")
                  .status,
              201);
    ASSERT_TRUE(second_ears.Await("later", AlertState::kFiring));
    EXPECT_EQ(second_ears.CountOf("failing"), 0u) << "neither over nor anew";
    const Answered rule = second.Get("/api/v1/alert-rules/failing");
    EXPECT_EQ(rule.Text("state"), "firing") << rule.body;
}

// A run began two minutes late and was told; it is long over when another leader takes over.
// Somebody then runs the task by hand.
TEST(AlertsApi, ANewLeaderKnowsThatARunBeganLateAndATriggerEndsIt) {
    auto database = std::make_shared<MemoryDatabase>();
    Ears ears;
    {
        TestScheduler first(Quick(ears, database));
        ASSERT_EQ(
            first.Put("/api/v1/tasks/nightly", R"({"name": "Nightly", "interval": "1d"})").status,
            201);
        Alert alert{.id = "0abc", .rule = "run_missed_or_late", .severity = Severity::kCritical};
        alert.metric = kLatenessMetric;
        alert.value = 120;
        alert.subject = Text("nightly");
        alert.state = AlertState::kFiring;
        alert.occasion = alert.pending_at = alert.firing_at = ReadClocks().wall - 1h;
        alert.settled = true;
        alert.told = AlertState::kFiring;
        std::promise<bool> kept;
        first.node().Ask(SetSetting{.key = Text("alert/0abc"), .value = Text(EncodeAlert(alert))},
                         [&](Result<Answer> answer) { kept.set_value(answer.has_value()); });
        ASSERT_TRUE(kept.get_future().get());
    }
    TestScheduler second(Successor(ears, database));
    AwaitReady(second);
    LookOnce(second);
    const Answered list = second.Get("/api/v1/alerts?state=firing");
    ASSERT_EQ(list.json.at("items").as_array().size(), 1u) << list.body;
    EXPECT_TRUE(std::string_view(list.json.at("items").at(0).at("message").as_string())
                    .contains("began 2m late"))
        << list.body;
    second.AttachWorker("w");
    ASSERT_EQ(second.Post("/api/v1/tasks/nightly/trigger").status / 100, 2);
    const auto over = ears.Await("run_missed_or_late", AlertState::kResolved);
    ASSERT_TRUE(over);
    EXPECT_EQ(over->alert.id, "0abc");
}

// Over how long the throughput is measured is configured.
TEST(AlertsApi, TheThroughputSaysHowFarItLooksBack) {
    Meters meters({.interval = 1min});
    Engine engine(EngineConfig{}, TermView{}, SeedOf(1));
    Effects effects;
    const Instant now = ReadClocks();
    engine.Begin(0, now, effects);
    AlertReadings readings;
    meters.Read(engine, now, readings);
    const auto found =
        std::ranges::find(readings, std::string_view("task_throughput"), &AlertReading::metric);
    ASSERT_TRUE(found != readings.end());
    EXPECT_EQ(found->window, 1min);
}

// A store that shows a recurring task whose run was due two hours ago, and a leader that is stuck.
class FollowerWatchTest : public ::testing::Test {
  protected:
    void SetUp() override {
        term_ = *TakeLead(store, {.node = {.node = NodeId("a-stuck-leader")}, .ttl = 1h});
        Commit(TaskPut{{DailyReport("nightly"), {.next_at = due}}});
    }
    void Commit(Change change) {
        auto batch = std::make_shared<Batch>();
        batch->term = term_;
        batch->sequence = ++sequence_;
        batch->changes = {std::move(change)};
        std::promise<bool> committed;
        store.Commit(batch, [&](auto done) { committed.set_value(done.has_value()); });
        ASSERT_TRUE(committed.get_future().get());
    }
    void SetSilence(std::string_view rule, std::string_view until) {
        Commit(SettingPut{Text(std::string(kSilencePrefix) + std::string(rule)), Text(until)});
    }
    void Start(std::vector<AlertRule> rules = {}) {
        watch = std::make_unique<FollowerWatch>(runtime, PartitionReader(store, kDefaultPartition),
                                                delivery,
                                                FollowerWatchConfig{.node = NodeId("node-b"),
                                                                    .interval = 20ms,
                                                                    .grace = 30s,
                                                                    .rules = std::move(rules)});
    }
    // Beside the silenced rule another one, "loud", tells that the follower has looked.
    void StartUnderSilence() {
        SetSilence("run_missed_or_late", FormatTime(ReadClocks().wall + 1h));
        Start({{.name = "loud", .metric = std::string(kLatenessMetric), .threshold = 1}});
    }
    void TearDown() override { Stop(); }
    // All there is to tell is told by then.
    void Stop() {
        if (!watch || std::exchange(stopped_, true)) return;
        boost::asio::post(loop.io(), [&] { watch->OnRole(Role::kStopped); });
        loop.Join();
    }

    const Time due = ReadClocks().wall - 2h;
    MemoryStore store{std::make_shared<MemoryDatabase>()};
    Ears ears;
    LoopThread loop;
    AsioRuntime runtime{loop.io()};
    Delivery delivery{runtime, {{.name = "ops"}}, ears.AsTell()};
    std::unique_ptr<FollowerWatch> watch;

  private:
    Term term_;
    std::uint64_t sequence_ = 0;
    bool stopped_ = false;
};

// A leader stands and does not fire: the follower sees from the store that a run is overdue.
TEST_F(FollowerWatchTest, AFollowerTellsThatNobodyFires) {
    Start();
    const auto fired = ears.Await("run_missed_or_late", AlertState::kFiring);
    ASSERT_TRUE(fired);
    EXPECT_EQ(fired->observer, "node-b");
    EXPECT_EQ(fired->alert.subject, "nightly");
    EXPECT_EQ(fired->alert.id, AlertId({"run_missed_or_late", "nightly", due}))
        << "as the leader would call it";
    Stop();
    EXPECT_EQ(ears.Count(), 1u) << "once";
}

// The leader hangs during maintenance, and still hangs when the maintenance is over.
TEST_F(FollowerWatchTest, AFollowerTellsWhatStillFiresWhenASilenceEnds) {
    StartUnderSilence();
    ASSERT_TRUE(ears.Await("loud", AlertState::kFiring));
    EXPECT_EQ(ears.CountOf("run_missed_or_late"), 0u);
    SetSilence("run_missed_or_late", "");
    EXPECT_TRUE(ears.Await("run_missed_or_late", AlertState::kFiring));
    Stop();
    EXPECT_EQ(ears.Count(), 2u) << "each once";
}

// The leader comes back to life under the silence.
TEST_F(FollowerWatchTest, AFollowerDoesNotTellTheEndOfWhatItDidNotTell) {
    StartUnderSilence();
    ASSERT_TRUE(ears.Await("loud", AlertState::kFiring));
    Commit(TaskDelete{TaskId("nightly")});
    ASSERT_TRUE(ears.Await("loud", AlertState::kResolved));
    SetSilence("run_missed_or_late", "");
    // A second task that is overdue tells that the follower has looked again.
    Commit(TaskPut{{DailyReport("weekly"), {.next_at = due}}});
    const auto next = ears.Await("run_missed_or_late", AlertState::kFiring);
    ASSERT_TRUE(next);
    EXPECT_EQ(next->alert.subject, "weekly");
    Stop();
    EXPECT_EQ(ears.CountOf("run_missed_or_late"), 1u);
}

}  // namespace
}  // namespace takt::internal
