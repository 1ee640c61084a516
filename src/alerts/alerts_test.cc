// The leader's alerts, with a store that answers when the test says so.
#include "alerts/alerts.h"

#include <gtest/gtest.h>

#include "base/log.h"
#include "node/driven.h"

namespace takt::internal {
namespace {

// Settings as an earlier leader left them.
class LeftRows : public StoreWrapper {
  public:
    explicit LeftRows(const std::map<Text, Text>& rows) : StoreWrapper(nullptr), rows_(rows) {}
    void ListSettings(Partition, const Text& prefix, Done<std::vector<SettingPut>> done) override {
        std::vector<SettingPut> found;
        for (const auto& [key, value] : rows_) {
            if (key.view().starts_with(prefix.view())) found.push_back({key, value});
        }
        done(std::move(found));
    }

  private:
    const std::map<Text, Text>& rows_;
};

class AlertsTest : public ::testing::Test {
  protected:
    // `rows`: as an earlier leader left them.
    explicit AlertsTest(std::map<Text, Text> rows = {}) : stored(std::move(rows)) {
        if (stored.empty()) quiet.emplace();
        NodeConfig config;
        config.leadership.node = NodeId("a");
        node = std::make_unique<Node>(runtime, store, config, SeedOf(1), &alerts);
        alerts.Bind(*node);
        node->Start();
        runtime.Run();
        store.GiveTerm(7, 99);
        runtime.Run();
        Answer(store.loads, Result<LoadPage>(LoadPage{}));
        AnswerCommits();
    }
    template <typename Questions, typename T>
    void Answer(Questions& questions, Result<T> answer) {
        DrivenStore::Reply(questions, std::move(answer));
        runtime.Run();
    }
    void AnswerCommits() {
        while (!store.commits.empty()) {
            for (const Change& change : store.commits.front().first->changes) {
                const auto* setting = std::get_if<SettingPut>(&change);
                if (setting) stored[setting->key] = setting->value;
            }
            Answer(store.commits, Result<void>());
        }
    }
    static AlertsConfig OneRule() {
        return {.rules = {{.name = "busy",
                           .metric = "tasks_pending",
                           .threshold = 0,
                           .duration = 5s,
                           .origin = RuleOrigin::kConfigured}}};
    }
    const Alert* Only() const {
        for (const Alert* alert : alerts.alerts()) {
            if (alert->rule == "busy") return alert;
        }
        return nullptr;
    }

    std::optional<LogCapture> quiet;  // There is one at a time.
    DrivenRuntime runtime;
    DrivenStore store;
    std::map<Text, Text> stored;
    LeftRows left{stored};
    std::vector<std::string> told;  // Channels, in their order. "away" never answers.
    std::vector<std::move_only_function<void(Result<void>)>> held;
    Delivery delivery{runtime,
                      {{.name = "log"}, {.name = "away"}, {.name = "pager"}},
                      [this](const Channel& channel, const Notice&, auto done) {
                          told.push_back(channel.name);
                          if (channel.name != "away") return done({});
                          held.push_back(std::move(done));
                      }};
    Alerts alerts{runtime, PartitionReader(left, kDefaultPartition), delivery, OneRule(),
                  [](const Engine&, Instant, AlertReadings& readings) {
                      readings.push_back({.metric = "tasks_pending", .value = 1});
                  }};
    std::unique_ptr<Node> node;
};

// Somebody acknowledges a pending alert in the moment in which it fires.
TEST_F(AlertsTest, AnAcknowledgementSurvivesThatTheAlertFiresMeanwhile) {
    runtime.Pass(6s);
    AnswerCommits();
    ASSERT_TRUE(Only());
    ASSERT_EQ(Only()->state, AlertState::kPending);
    std::optional<Alert> told;
    alerts.Acknowledge(Only()->id, {.by = "ada"}, nullptr,
                       [&](Result<Alert> alert) { told = *alert; });
    runtime.Run();
    runtime.Pass(6s);  // The commit is under way, and it fires.
    ASSERT_EQ(Only()->state, AlertState::kFiring);
    AnswerCommits();

    ASSERT_TRUE(told);
    EXPECT_EQ(told->acknowledged->by, "ada");
    const Text key(std::string(kAlertPrefix) + Only()->id);
    const auto kept = DecodeAlert(Only()->id, stored.at(key));
    ASSERT_TRUE(kept);
    EXPECT_EQ(kept->state, AlertState::kFiring);
    ASSERT_TRUE(kept->acknowledged);
    EXPECT_EQ(kept->acknowledged->by, "ada");
}

// The next process that leads, with what the one before left.
class Successor : public AlertsTest {
  public:
    explicit Successor(std::map<Text, Text> rows) : AlertsTest(std::move(rows)) {}
    void TestBody() override {}
    const std::vector<std::string>& Tells() {
        for (int i = 0; i < 4; ++i) {
            runtime.Pass(6s);
            AnswerCommits();
        }
        return told;
    }
};

// One webhook hangs, and the leader dies meanwhile: the pagers that have heard are not called again.
TEST_F(AlertsTest, ANewLeaderTellsOnlyTheChannelsThatHaveNotHeard) {
    for (int i = 0; i < 4; ++i) {
        runtime.Pass(6s);
        AnswerCommits();
    }
    ASSERT_EQ(told, (std::vector<std::string>{"log", "away", "pager"}));
    Successor next(stored);
    EXPECT_EQ(next.Tells(), std::vector<std::string>{"away"});
}

// Two people silence a rule in the same moment: nothing of either is lost by the other.
TEST_F(AlertsTest, TwoSilencesAtOnceAreBothTaken) {
    AnswerCommits();
    const Time until = runtime.Now().wall + 1h;
    int taken = 0;
    for (const Time end : {until - 30min, until}) {
        alerts.Silence("busy", end, nullptr, [&](Result<void> set) { taken += set ? 1 : 0; });
    }
    runtime.Run();
    AnswerCommits();
    EXPECT_EQ(taken, 2);
    EXPECT_EQ(alerts.rules().silenced_until("busy"), until) << "the last one counts";
}

// --- A channel that goes while a rule is made that names it ------------------------------------

class AlertTurnsTest : public AlertsTest {
  protected:
    AlertTurnsTest() {
        AnswerCommits();
        Answers made = Change([](Alerts& alerts, Done<void> done) {
            alerts.PutChannel(
                {.name = "ops", .kind = ChannelKind::kWebhook, .url = "https://h.example/"}, {},
                nullptr, std::move(done));
        });
        AnswerCommits();
        EXPECT_TRUE(*made && **made);
    }
    using Answers = std::shared_ptr<std::optional<Result<void>>>;
    Answers Change(std::move_only_function<void(Alerts&, Done<void>)> change) {
        auto answer = std::make_shared<std::optional<Result<void>>>();
        alerts.InTurn([change = std::move(change), answer](Alerts& alerts) mutable {
            if (auto ready = alerts.Ready(); !ready) {
                answer->emplace(std::unexpected(ready.error()));
                return;
            }
            change(alerts, [answer](Result<void> done) { answer->emplace(std::move(done)); });
        });
        runtime.Run();
        return answer;
    }
    Answers PutRule(const std::string& name) {
        return Change([name](Alerts& alerts, Done<void> done) {
            alerts.PutRule(
                {.name = name, .metric = "tasks_pending", .threshold = 1, .channels = {"ops"}}, {},
                nullptr, std::move(done));
        });
    }
    Answers DeleteChannel() {
        return Change([](Alerts& alerts, Done<void> done) {
            alerts.DeleteChannel("ops", {}, nullptr, std::move(done));
        });
    }
};

// Both were judged by what stood before the other was stored: the rule then told nobody.
TEST_F(AlertTurnsTest, AChannelThatARuleIsBeingGivenStays) {
    const Answers put = PutRule("r");
    const Answers gone = DeleteChannel();
    EXPECT_FALSE(*gone) << "it waits for the rule";
    AnswerCommits();
    ASSERT_TRUE(*put && *gone);
    EXPECT_TRUE(**put);
    ASSERT_FALSE(**gone);
    EXPECT_EQ((**gone).error().code, ErrorCode::kConflict);
    EXPECT_TRUE(delivery.Has("ops"));
}

TEST_F(AlertTurnsTest, ARuleDoesNotNameAChannelThatIsBeingTakenAway) {
    const Answers gone = DeleteChannel();
    const Answers put = PutRule("r");
    EXPECT_FALSE(*put) << "it waits for the channel";
    AnswerCommits();
    ASSERT_TRUE(*put && *gone);
    EXPECT_TRUE(**gone);
    ASSERT_FALSE(**put);
    EXPECT_EQ((**put).error().field, "channels");
    EXPECT_FALSE(alerts.rules().Find("r"));
}

// A change that the store does not take, or that is refused, lets the next one have its turn.
TEST_F(AlertTurnsTest, AChangeThatFailsHoldsUpNobody) {
    const Answers put = PutRule("r");
    const Answers bad = PutRule("no id!");
    const Answers gone = DeleteChannel();
    Answer(store.commits, Result<void>(Fail(ErrorCode::kInvalid, "no")));
    AnswerCommits();
    ASSERT_TRUE(*put && *bad && *gone);
    EXPECT_FALSE(**put);
    EXPECT_FALSE(**bad);
}

// The leader is deposed while one is stored and another waits: both are answered.
TEST_F(AlertTurnsTest, WhoWaitsHearsThatTheLeadIsLost) {
    const Answers put = PutRule("r");
    const Answers gone = DeleteChannel();
    Answer(store.commits, Result<void>(Fail(ErrorCode::kFenced, "a newer leader exists")));
    runtime.Run();
    ASSERT_TRUE(*put && *gone);
    EXPECT_FALSE(**put);
    EXPECT_FALSE(**gone);
}

}  // namespace
}  // namespace takt::internal
