#include <fmt/core.h>

#include "alerts/evaluation_fixture.h"

namespace takt::internal {
namespace {

// Somebody is woken by it: a number is to be read, not deciphered.
TEST(AlertMessage, SpellsNumbersAsPeopleDo) {
    const AlertRule rule{.metric = "clock_jump_seconds", .comparison = Comparison::kAbove};
    const auto message = [&](double value) { return AlertMessage(rule, {.value = value}); };
    EXPECT_EQ(message(2'592'000), "clock_jump_seconds is 2592000, above 0");
    EXPECT_EQ(message(0.1234567), "clock_jump_seconds is 0.123457, above 0");
}

// Half of the runs fail, and go on failing, for the five minutes of the rule.
TEST_F(Evaluation, FailureRateFiresAfterFiveMinutesAndNotASecondBefore) {
    const auto half = Value("task_failure_rate", 0.5);
    auto changed = Look(half);
    ASSERT_EQ(changed.size(), 1u);
    EXPECT_EQ(changed[0].state, AlertState::kPending);
    EXPECT_EQ(changed[0].rule, "high_task_failure_rate");
    now += 5min - 1ms;
    EXPECT_TRUE(Look(half).empty()) << "just before";
    now += 1ms;
    changed = Look(half);
    ASSERT_EQ(changed.size(), 1u) << "at";
    EXPECT_EQ(changed[0].state, AlertState::kFiring);
    EXPECT_EQ(changed[0].firing_at, kBegin + 5min);
    EXPECT_EQ(changed[0].pending_at, kBegin);
    now += 1s;
    EXPECT_TRUE(Look(half).empty()) << "after: it is not repeated";
    now += 1s;
    const auto tenth = Value("task_failure_rate", 0.1);
    EXPECT_TRUE(Look(tenth).empty()) << "0.1 is not above 0.1, but it is early to say so";
    now += 150s - 1ms;
    EXPECT_TRUE(Look(tenth).empty()) << "half of the five minutes, less a moment";
    now += 1ms;
    changed = Look(tenth);
    ASSERT_EQ(changed.size(), 1u);
    EXPECT_EQ(changed[0].state, AlertState::kResolved);
    EXPECT_EQ(changed[0].resolved_at, now);
    EXPECT_EQ(changed[0].value, 0.1);
    EXPECT_TRUE(evaluator.active().empty());
}

// Everything is late at once. Which hundred say so depends on nothing but their names, and whoever is
// watched by a rule of its own is told of all the same.
TEST_F(Evaluation, OfMoreThanMayAlertTheFirstByNameDo) {
    evaluator.SetRules(
        {{.name = "all", .metric = "queue_oldest_wait_seconds"},
         {.name = "one", .metric = "queue_oldest_wait_seconds", .subject = "q1299"}});
    AlertReadings readings = Value("workers_online", 1);
    for (int i = 299; i >= 0; --i) {
        readings.push_back(
            Value("queue_oldest_wait_seconds", 1, Text(fmt::format("q1{:03}", i)))[0]);
    }
    std::vector<std::string> told;
    for (const Alert& alert : Look(readings))
        told.push_back(alert.rule + " " + alert.subject.str());
    ASSERT_EQ(told.size(), AlertEvaluator::kSubjectsMax + 1);
    EXPECT_EQ(told.front(), "all q1000");
    EXPECT_EQ(told[99], "all q1099");
    EXPECT_EQ(told.back(), "one q1299");
}

// All workers are gone for a minute.
TEST_F(Evaluation, NoWorkersFiresAfterAMinute) {
    const auto none = Value("workers_online", 0);
    Hold(1min, none);
    ASSERT_EQ(history.size(), 1u);
    EXPECT_EQ(history[0].state, AlertState::kPending);
    Look(none);
    ASSERT_EQ(history.size(), 2u);
    EXPECT_EQ(history[1].state, AlertState::kFiring);
    EXPECT_EQ(history[1].severity, Severity::kCritical);
    EXPECT_EQ(history[1].message, "workers_online is 0, below 1 for 1m");
    now += 5s;
    const Time well = now;
    Hold(31s, Value("workers_online", 1));
    ASSERT_EQ(history.size(), 3u);
    EXPECT_EQ(history[2].state, AlertState::kResolved);
    EXPECT_EQ(history[2].resolved_at, well + 30s) << "half of the minute";
}

// A nightly run is due, and nothing happens: the rule has no duration of its own, the threshold is
// what is allowed.
TEST_F(Evaluation, ALateRunFiresOnceItIsLaterThanAllowed) {
    const Time due = kBegin;
    const auto late = [&](double seconds) {
        return Value(kLatenessMetric, seconds, Text("nightly"), due);
    };
    Look(late(60));
    EXPECT_TRUE(history.empty()) << "a minute is allowed";
    now += 5s;
    Look(late(65));
    ASSERT_EQ(history.size(), 1u);
    EXPECT_EQ(history[0].state, AlertState::kFiring);
    EXPECT_EQ(history[0].subject, "nightly");
    EXPECT_EQ(history[0].id, AlertId({"run_missed_or_late", "nightly", due}))
        << "a follower that sees the same calls it the same";
    Hold(10min, late(700));
    EXPECT_EQ(history.size(), 1u);
    const Time well = now;
    Hold(16s, {});
    ASSERT_EQ(history.size(), 2u) << "a task of which nothing is said is well";
    EXPECT_EQ(history[1].resolved_at, well + 15s) << "three looks after the first";
    EXPECT_EQ(history[1].state, AlertState::kResolved);
    EXPECT_EQ(history[1].id, history[0].id);
}

// Workers come and go every few seconds: nobody wants to be woken for each.
TEST_F(Evaluation, FlappingNeverFires) {
    for (int i = 0; i < 100; ++i) {
        Hold(55s, Value("workers_online", 0));
        Hold(5s, Value("workers_online", 1));
    }
    for (const Alert& alert : history) EXPECT_NE(alert.state, AlertState::kFiring);
    EXPECT_EQ(history.size(), 200u) << "pending and over again, each time";
    EXPECT_EQ(history[1].firing_at, Time{});
}

// The last worker restarts over and over: it is one incident, and one message.
TEST_F(Evaluation, AnAlertThatFlapsIsOneAlert) {
    const auto none = Value("workers_online", 0);
    const auto one = Value("workers_online", 1);
    Hold(61s, none);
    ASSERT_EQ(history.back().state, AlertState::kFiring);
    const std::size_t told = history.size();
    for (int i = 0; i < 100; ++i) {
        Hold(5s, one);
        Hold(5s, none);
        Hold(25s, one);
        Hold(5s, none);
    }
    EXPECT_EQ(history.size(), told) << "each time it came back before the half minute was over";
    Hold(31s, one);
    ASSERT_EQ(history.size(), told + 1);
    EXPECT_EQ(history.back().state, AlertState::kResolved);
    EXPECT_EQ(history.back().id, history[0].id);
}

// Rules of all lengths: nobody wants to hear at once that it is over, or only after half a week.
TEST_F(Evaluation, TheHoldOffIsHalfTheDurationWithinBounds) {
    EXPECT_EQ(evaluator.HoldOff({.duration = 0s}), 15s) << "three looks";
    EXPECT_EQ(evaluator.HoldOff({.duration = 1min}), 30s);
    EXPECT_EQ(evaluator.HoldOff({.duration = 10min}), 5min);
    EXPECT_EQ(evaluator.HoldOff({.duration = 24h * 7}), 5min);
    EXPECT_EQ(AlertEvaluator(10min).HoldOff({.duration = 1min}), 30min);
}

// Nothing ran for a while, so there is no rate to be told.
TEST_F(Evaluation, AMissingValueEndsWhatIsPendingAndKeepsWhatFires) {
    const auto half = Value("task_failure_rate", 0.5);
    Look(half);
    now += 1min;
    auto changed = Look({});
    ASSERT_EQ(changed.size(), 1u);
    EXPECT_EQ(changed[0].state, AlertState::kResolved);
    Hold(5min, half);
    Look(half);
    ASSERT_EQ(history.back().state, AlertState::kFiring);
    now += 5s;
    const Time gone = now;
    EXPECT_TRUE(Look({}).empty());
    now = gone + 5min - 1ms;
    EXPECT_TRUE(Look({}).empty()) << "it may come back";
    now = gone + 5min;
    changed = Look({});
    ASSERT_EQ(changed.size(), 1u);
    EXPECT_EQ(changed[0].state, AlertState::kResolved);
    EXPECT_EQ(changed[0].message, "task_failure_rate has no value any more");
}

// The leader dies while an alert is pending, and its successor while it is firing.
TEST_F(Evaluation, ANewLeaderNeitherRepeatsNorForgets) {
    const auto none = Value("workers_online", 0);
    Hold(30s, none);
    const Alert pending = history.back();
    AlertEvaluator second = NextLeader(pending);
    now = kBegin + 1min;
    const auto fired = second.Step(now, none);
    ASSERT_EQ(fired.size(), 1u) << "the half minute under the first leader counts";
    EXPECT_EQ(fired[0].state, AlertState::kFiring);
    EXPECT_EQ(fired[0].id, pending.id);

    AlertEvaluator third = NextLeader(fired[0]);
    now += 10s;
    EXPECT_TRUE(third.Step(now, none).empty()) << "not again";
    EXPECT_EQ(third.active().size(), 1u);
    now += 5s;
    EXPECT_TRUE(third.Step(now, Value("workers_online", 2)).empty());
    now += 30s;
    const auto over = third.Step(now, Value("workers_online", 2));
    ASSERT_EQ(over.size(), 1u) << "how many workers there are is known at once";
    EXPECT_EQ(over[0].state, AlertState::kResolved);
    EXPECT_EQ(over[0].id, pending.id);
    EXPECT_EQ(over[0].firing_at, kBegin + 1min);
}

// The leader dies in the middle of an incident. Its successor has seen nothing of the last five
// minutes: what it counts first says nothing about them.
TEST_F(Evaluation, ANewLeadersFirstMinutesResolveNothing) {
    Hold(5min + 5s, Value("task_failure_rate", 0.5));
    ASSERT_EQ(history.back().state, AlertState::kFiring);
    const Alert fired = history.back();
    AlertEvaluator second = NextLeader(fired);
    const Time elected = now;
    const auto none = Value("task_failure_rate", 0);
    for (; now < elected + 2min; now += kLookInterval)
        EXPECT_TRUE(second.Step(now, AlertReadings{}).empty());
    for (; now < elected + 5min; now += kLookInterval) EXPECT_TRUE(second.Step(now, none).empty());
    EXPECT_EQ(second.active().size(), 1u);
    // From here on it knows as much as the old one did.
    for (; now < elected + 5min + 150s; now += kLookInterval) {
        EXPECT_TRUE(second.Step(now, none).empty());
    }
    const auto over = second.Step(now, none);
    ASSERT_EQ(over.size(), 1u);
    EXPECT_EQ(over[0].state, AlertState::kResolved);
    EXPECT_EQ(over[0].id, fired.id);
}

// The same with a rule that waits a minute only, and a metric that has a window of its own.
TEST_F(Evaluation, ANewLeadersFirstLooksEndNoShortRuleEither) {
    const AlertRule rate{.name = "rate", .metric = "task_failure_rate", .threshold = 0.1};
    const AlertRule slow{.name = "slow",
                         .metric = "task_throughput",
                         .comparison = Comparison::kAbove,
                         .threshold = 100};
    evaluator.SetRules({rate, slow});
    const auto throughput = [](double value) {
        return AlertReading{.metric = "task_throughput", .value = value, .window = 2min};
    };
    Look({{.metric = "task_failure_rate", .value = 0.5}, throughput(200)});
    ASSERT_EQ(history.size(), 2u);
    AlertEvaluator second(kLookInterval);
    second.SetRules({rate, slow});
    for (const Alert& alert : history) second.Restore(alert, now);
    const Time elected = now;
    std::vector<Alert> over;
    for (; now < elected + 5min; now += kLookInterval) {
        for (const Alert& alert : second.Step(now, AlertReadings{throughput(1)}))
            over.push_back(alert);
    }
    ASSERT_EQ(over.size(), 1u) << "the rate has no value for five minutes, and stays";
    EXPECT_EQ(over[0].rule, "slow");
    EXPECT_EQ(over[0].resolved_at, elected + 2min + 15s);
}

// It was pending for three of its five minutes when the leader died.
TEST_F(Evaluation, ANewLeadersFirstMinutesDoNotEndWhatIsPending) {
    const auto half = Value("task_failure_rate", 0.5);
    Hold(3min, half);
    const Alert pending = history.back();
    ASSERT_EQ(pending.state, AlertState::kPending);
    AlertEvaluator second = NextLeader(pending);
    EXPECT_TRUE(second.Step(now, AlertReadings{}).empty());
    now += kLookInterval;
    EXPECT_TRUE(second.Step(now, Value("task_failure_rate", 0)).empty());
    now = kBegin + 5min;
    const auto fired = second.Step(now, half);
    ASSERT_EQ(fired.size(), 1u);
    EXPECT_EQ(fired[0].state, AlertState::kFiring);
    EXPECT_EQ(fired[0].id, pending.id);
    EXPECT_EQ(fired[0].pending_at, kBegin);

    AlertEvaluator third = NextLeader(pending);
    now += 5min;
    const auto over = third.Step(now, AlertReadings{});
    ASSERT_EQ(over.size(), 1u) << "later a missing value ends it as ever";
    EXPECT_EQ(over[0].state, AlertState::kResolved);
}

// A run that had not begun begins: the next leader must be able to say so.
TEST_F(Evaluation, WhatSettlesIsToBeKeptAgain) {
    AlertReadings late = Value(kLatenessMetric, 65, Text("nightly"), kBegin);
    Look(late);
    EXPECT_TRUE(evaluator.TakeUnkept().empty()) << "it is kept because it fires";
    now += kLookInterval;
    late[0].settled = true;
    Look(late);
    const auto settled = evaluator.TakeUnkept();
    ASSERT_EQ(settled.size(), 1u);
    EXPECT_TRUE(DecodeAlert(settled[0]->id, EncodeAlert(*settled[0]))->settled);
    Look(late);
    EXPECT_TRUE(evaluator.TakeUnkept().empty());
}

TEST_F(Evaluation, ADisabledRuleResolvesItsAlerts) {
    Hold(2min, Value("workers_online", 0));
    auto rules = BuiltinRules();
    rules[1].enabled = false;
    evaluator.SetRules(rules);
    const auto changed = Look(Value("workers_online", 0));
    ASSERT_EQ(changed.size(), 1u);
    EXPECT_EQ(changed[0].state, AlertState::kResolved);
}

// Ten thousand tasks are late together.
TEST_F(Evaluation, ARuleHasABoundedNumberOfAlerts) {
    AlertReadings readings;
    for (int i = 0; i < 10'000; ++i) {
        readings.push_back({.metric = kLatenessMetric,
                            .value = 100,
                            .subject = Text("t" + std::to_string(i)),
                            .occasion = kBegin});
    }
    Look(readings);
    EXPECT_EQ(evaluator.active().size(), AlertEvaluator::kSubjectsMax);
}

// Somebody asks for a word about one task only, and later what it was that woke them.
TEST_F(Evaluation, ARuleForOneTaskIsNotAboutTheOthers) {
    evaluator.SetRules({{.name = "invoices",
                         .metric = std::string(kFailedRunsMetric),
                         .comparison = Comparison::kAtLeast,
                         .threshold = 1,
                         .subject = "t-invoices"}});
    AlertReadings readings = Value(kFailedRunsMetric, 9, Text("t-other"));
    readings.push_back({.metric = kFailedRunsMetric,
                        .value = 2,
                        .subject = Text("t-invoices"),
                        .subject_name = Text("Send invoices")});
    const auto fired = Look(readings);
    ASSERT_EQ(fired.size(), 1u);
    EXPECT_EQ(fired[0].subject, Text("t-invoices"));
    EXPECT_EQ(fired[0].message, "Send invoices: task_failed_runs is 2, at least 1");
    readings[1].value = 5;
    now += kLookInterval;
    Look(readings);
    const Alert& alert = evaluator.active().begin()->second.alert;
    EXPECT_EQ(alert.value, 5);
    EXPECT_EQ(alert.firing_value, 2) << "as it was when it fired";
    const auto read = DecodeAlert(alert.id, EncodeAlert(alert));
    EXPECT_EQ(read->firing_value, 2);
    EXPECT_EQ(read->subject_name, Text("Send invoices"));
}

TEST(AlertRuleTest, AConditionThatCannotHoldOrAlwaysDoesIsRefused) {
    const auto field = [](std::string metric, Comparison comparison, double threshold,
                          std::string subject = {}) {
        const auto checked = CheckNewRule({.name = "r",
                                           .metric = std::move(metric),
                                           .comparison = comparison,
                                           .threshold = threshold,
                                           .subject = std::move(subject)});
        return checked ? std::string() : checked.error().field;
    };
    using enum Comparison;
    EXPECT_EQ(field("task_failure_rate", kAbove, 0.05), "");
    EXPECT_EQ(field("task_failure_rate", kAbove, 5), "threshold");
    EXPECT_EQ(field("task_failure_rate", kAbove, 1), "threshold");
    EXPECT_EQ(field("task_failure_rate", kAtLeast, 1), "");
    EXPECT_EQ(field("task_failure_rate", kAtMost, 1), "threshold");
    EXPECT_EQ(field("tasks_pending", kAbove, -1), "threshold");
    EXPECT_EQ(field("tasks_pending", kBelow, 0), "threshold");
    EXPECT_EQ(field("tasks_pending", kAtLeast, 0), "threshold");
    EXPECT_EQ(field("clock_jump_seconds", kAbove, 0), "");
    EXPECT_EQ(field("tasks_pending", kAbove, 1, "q"), "subject") << "it has one value for all";
    EXPECT_EQ(field("queue_oldest_wait_seconds", kAbove, 1, "media"), "");
    EXPECT_EQ(field("queue_oldest_wait_seconds", kAbove, 1, "no such id!"), "subject");
    for (const AlertRule& rule : BuiltinRules()) EXPECT_TRUE(CheckNewRule(rule)) << rule.name;
}

TEST(AlertRuleTest, ComparesAsItsOperatorSays) {
    const auto holds = [](Comparison comparison, double value) {
        return AlertRule{.comparison = comparison, .threshold = 2}.Holds(value);
    };
    EXPECT_TRUE(holds(Comparison::kAbove, 3) && !holds(Comparison::kAbove, 2));
    EXPECT_TRUE(holds(Comparison::kAtLeast, 2) && !holds(Comparison::kAtLeast, 1));
    EXPECT_TRUE(holds(Comparison::kBelow, 1) && !holds(Comparison::kBelow, 2));
    EXPECT_TRUE(holds(Comparison::kAtMost, 2) && !holds(Comparison::kAtMost, 3));
    EXPECT_TRUE(holds(Comparison::kEqual, 2) && !holds(Comparison::kEqual, 1));
    EXPECT_TRUE(holds(Comparison::kUnequal, 1) && !holds(Comparison::kUnequal, 2));
}

TEST(AlertRuleTest, IsReadBackAsItWasStored) {
    AlertRule rule{.name = "r",
                   .description = "a \"quoted\" word",
                   .metric = "tasks_pending",
                   .comparison = Comparison::kAtLeast,
                   .threshold = 1.5,
                   .duration = 90s,
                   .severity = Severity::kInfo,
                   .enabled = false,
                   .channels = {"log", "ops"}};
    const auto read = DecodeRule("r", EncodeRule(rule));
    ASSERT_TRUE(read) << read.error().detail;
    EXPECT_EQ(EncodeRule(*read), EncodeRule(rule));
    EXPECT_FALSE(DecodeRule("r", "nonsense"));
    EXPECT_FALSE(DecodeRule("r", R"({"metric": "no_such", "operator": ">", "threshold": 1})"));
}

}  // namespace
}  // namespace takt::internal
