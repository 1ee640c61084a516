#include "api/task_json.h"

#include <gtest/gtest.h>

#include "api/json_read.h"

namespace takt::internal {
namespace {

using namespace std::chrono_literals;

const Time kNow = *ParseTime("2026-11-15T02:00:00Z");

Result<TaskRequest> Read(std::string_view text, ReadTaskOptions options = {}) {
    static const TaskLimits limits{.payload_bytes_max = 1000, .own_strategies = {"mine"}};
    static TextPool pool;
    const auto object = ReadObject(text, 1 << 20);
    if (!object) return std::unexpected(object.error());
    options.now = kNow;
    return ReadTask(*object, limits, pool, options);
}

struct Bad {
    const char* text;
    const char* field;
    const char* says = "";  // Part of what is said.
};

// Bodies that people and programs send by mistake, and attackers on purpose.
TEST(TaskJson, BadFieldsAreRefusedByName) {
    const Bad cases[] = {
        {R"({})", "name", "missing"},
        {R"([])", "", "object"},
        {R"("x")", "", "object"},
        {R"({"name": ""})", "name"},
        {R"({"name": 5})", "name"},
        {R"({"name": null})", "name", "missing"},
        {R"({"name": "a\nb"})", "name", "control"},
        {R"({"name": "a\u0000b"})", "name", "control"},
        {R"({"nmae": "x"})", "nmae", "did you mean 'name'"},
        {R"({"name": "x", "max_retires": 1})", "max_retires", "did you mean 'max_retry'"},
        {R"({"name": "x", "completely_unknown": 1})", "completely_unknown"},
        {R"({"name": "x", "name": "y"})", "", "twice"},
        {R"({"name": "x", "id": "../etc"})", "id"},
        {R"({"name": "x", "id": "a/b"})", "id"},
        {R"({"name": "x", "id": ""})", "id"},
        {R"({"name": "x", "id": "a\nb"})", "id"},
        {R"({"name": "x", "id": 7})", "id"},
        {R"({"name": "x", "queue": "a b"})", "queue"},
        {R"({"name": "x", "priority": 10})", "priority"},
        {R"({"name": "x", "priority": -1})", "priority"},
        {R"({"name": "x", "priority": 5.5})", "priority"},
        {R"({"name": "x", "priority": "highest"})", "priority"},
        {R"({"name": "x", "timeout": 0})", "timeout"},
        {R"({"name": "x", "timeout": -1})", "timeout"},
        {R"({"name": "x", "timeout_seconds": 1000000000000000000})", "timeout_seconds"},
        {R"({"name": "x", "timeout": "soon"})", "timeout"},
        {R"({"name": "x", "timeout": 5, "timeout_seconds": 5})", "timeout_seconds", "twice"},
        {R"({"name": "x", "delay": -1})", "delay"},
        {R"({"name": "x", "delay": 1e18})", "delay"},
        {R"({"name": "x", "delay": 1e400})", "", "too large"},
        {R"({"name": "x", "delay": 18446744073709551616})", "", "64 bits"},
        {R"({"name": "x", "delay": "-5s"})", "delay"},
        {R"({"name": "x", "delay": true})", "delay"},
        {R"({"name": "x", "run_at": "tomorrow"})", "run_at"},
        {R"({"name": "x", "run_at": 1731636000})", "run_at"},
        {R"({"name": "x", "run_at": "2027-01-01T00:00:00Z", "delay": 5})", "delay"},
        {R"({"name": "x", "max_retry": "3"})", "max_retry"},
        {R"({"name": "x", "max_retry": -1})", "max_retry"},
        {R"({"name": "x", "max_retry": 2.5})", "max_retry"},
        {R"({"name": "x", "retry_policy": 3})", "retry_policy"},
        {R"({"name": "x", "retry_policy": {"max": 3}})", "retry_policy.max"},
        {R"({"name": "x", "retry_policy": {"jitter": 2}})", "retry_policy.jitter"},
        {R"({"name": "x", "retry_policy": {"backoff_rate": 0}})", "retry_policy.backoff_rate"},
        {R"({"name": "x", "retry_policy": {"delay": "x"}})", "retry_policy.delay"},
        {R"({"name": "x", "metadata": []})", "metadata"},
        {R"({"name": "x", "metadata": {"a": 1}})", "metadata.a"},
        {R"({"name": "x", "labels": {"": "x"}})", "labels."},
        {R"({"name": "x", "load_balance_strategy": "best"})", "load_balance_strategy"},
        {R"({"name": "x", "load_balance_strategy": "custom"})", "load_balance_strategy"},
        {R"({"name": "x", "payload": 1, "parameters": 2})", "parameters", "twice"},
        {R"({"name": "x", "unique_for": "1h"})", "unique_for", "unique_key"},
        {R"({"name": "x", "concurrency_key": "db"})", "concurrency_key", "or rate_limit"},
        {R"({"name": "x", "concurrency_max": 0})", "concurrency_max"},
        {R"({"name": "x", "rate_limit": {"per": "1s"}})", "rate_limit.count"},
        {R"({"name": "x", "execution_mode": "parallel"})", "execution_mode", "recurring"},
        {R"({"name": "x", "timezone": "Asia/Shanghai"})", "timezone", "recurring"},
        {R"({"name": "x", "enabled": false})", "enabled", "recurring"},
        {R"({"name": "x", "version": 3})", "version", "scheduler"},
        {R"({"name": "x", "cron_expression": ""})", "cron_expression"},
        {R"({"name": "x", "cron_expression": 5})", "cron_expression"},
        {R"({"name": "x", "cron_expression": "*/0 * * * *"})", "cron_expression", "column"},
        {R"({"name": "x", "cron_expression": "60 * * * *"})", "cron_expression", "column"},
        {R"({"name": "x", "cron": "60 * * * *"})", "cron", "column"},
        {R"({"name": "x", "cron": "0 0 1 1 *", "end_at": "2026-11-16T00:00:00Z"})", "end_at"},
        {R"({"name": "x", "cron": "0 0 1 12 *", "excluded_dates": ["2026-12-01"],
             "end_at": "2027-01-01T00:00:00Z"})",
         "end_at"},
        {R"({"name": "x", "cron_expression": "5-1 * * * *"})", "cron_expression"},
        {R"({"name": "x", "cron_expression": "0 0 30 2 *"})", "cron_expression"},
        {R"({"name": "x", "cron_expression": "0 0 0 1 1 * 2020"})", "cron_expression"},
        {R"({"name": "x", "cron": "@daily", "interval": "1h"})", "interval", "exactly one"},
        {R"({"name": "x", "every": "1h", "cron": "@daily"})", "cron", "exactly one"},
        {R"({"name": "x", "cron": "@daily", "cron_expression": "@daily"})", "cron_expression"},
        {R"({"name": "x", "cron": "@daily", "timezone": "Mars/Base"})", "timezone"},
        {R"({"name": "x", "cron": "@daily", "dst": "maybe"})", "dst"},
        {R"({"name": "x", "cron": "@daily", "run_at": "2027-01-01T00:00:00Z"})", "run_at"},
        {R"({"name": "x", "cron": "@daily", "misfire_policy": "x"})", "misfire_policy"},
        {R"({"name": "x", "cron": "@daily", "enabled": "yes"})", "enabled"},
        {R"({"name": "x", "cron": "@daily", "excluded_dates": ["2026-02-30"]})",
         "excluded_dates[0]"},
        {R"({"name": "x", "cron": "@daily", "unique_key": "k"})", "unique_key", "execution_mode"},
        {R"({"name": "x", "unique_for": "1h", "unique_key": "k", "every": "1m"})", "unique_key"},
        {R"({"name": "x", "interval": 0})", "interval", "from 100ms"},
        {R"({"name": "x", "interval": "1ms"})", "interval", "from 100ms"},
        {R"({"name": "x", "every_after_end": "99ms"})", "every_after_end", "from 100ms"},
        {R"({"name": "x", "max_retry": 3, "retry_policy": {"max_retries": 5}})", "max_retry",
         "retry_policy.max_retries is 5"},
        {R"({"name": "x", "retry_policy": {"max_retries": 5}, "max_retry": 3})", "max_retry"},
        {R"({"name": "x", "load_balance_strategy": "custom:unheard-of"})", "load_balance_strategy",
         "custom:mine"},
        {R"({"name": "x", "load_balance_strategy": "mine"})", "load_balance_strategy"},
        {R"({"name": "x", "interval": "1h", "end_at": "2020-01-01T00:00:00Z"})", "end_at"},
        {"{\"name\": \"x\xff\"}", ""},
        {R"({"name": "x)", ""},
        {R"({"name": "x"} {})", ""},
        {R"({"name": NaN})", ""},
        {"", "", "empty"},
    };
    for (const Bad& bad : cases) {
        const auto read = Read(bad.text);
        ASSERT_FALSE(read) << bad.text;
        EXPECT_EQ(read.error().code, ErrorCode::kInvalid) << bad.text;
        EXPECT_EQ(read.error().field, bad.field) << bad.text << "\n" << read.error().detail;
        EXPECT_NE(read.error().detail.find(bad.says), std::string::npos) << bad.text << "\n"
                                                                         << read.error().detail;
    }
}

// Names that people bring along, and a rate whose time nobody should guess.
TEST(TaskJson, FieldsThatAreMeantAreNamed) {
    const Bad cases[] = {
        {R"({"name": "x", "retry_delay": "1s"})", "retry_delay", "'retry_policy.delay'"},
        {R"({"name": "x", "retry_backoff": 2})", "retry_backoff", "'retry_policy.backoff_rate'"},
        {R"({"name": "x", "retry": {"max": 3}})", "retry", "'retry_policy': {"},
        {R"({"name": "x", "retries": 3})", "retries", "'max_retry': {\"max_retry\": 3}"},
        {R"({"name": "x", "retry_policy": {"retry": {"delay": "1s"}}})", "retry_policy.retry",
         "it has max_retries, delay, backoff_rate, delay_max, jitter"},
        {R"({"name": "x", "retry_policy": {"max_retry": 3}})", "retry_policy.max_retry",
         "did you mean 'max_retries'?"},
        {R"({"name": "x", "rate_limit": {"count": 5}})", "rate_limit.per", "is missing"},
        {R"({"name": "x", "rate_limit": {"per": "1s"}})", "rate_limit.count", "is missing"},
    };
    for (const Bad& bad : cases) {
        const auto read = Read(bad.text);
        ASSERT_FALSE(read) << bad.text;
        EXPECT_EQ(read.error().field, bad.field) << bad.text;
        EXPECT_TRUE(read.error().detail.contains(bad.says)) << read.error().detail;
    }
}

TEST(TaskJson, WhatIsTooLargeOrTooDeepIsRefused) {
    const std::string deep = R"({"name": "x", "payload": )" + std::string(1'000'000 / 2, '[');
    EXPECT_EQ(Read(deep).error().code, ErrorCode::kInvalid);
    const std::string payload = R"({"name": "x", "payload": ")" + std::string(2000, 'p') + "\"}";
    EXPECT_EQ(Read(payload).error().code, ErrorCode::kExhausted);
    EXPECT_EQ(Read(payload).error().field, "payload");
    const std::string body = R"({"name": ")" + std::string(2 << 20, 'n') + "\"}";
    EXPECT_EQ(Read(body).error().code, ErrorCode::kExhausted);
    EXPECT_EQ(Read(R"({"name": ")" + std::string(201, 'n') + "\"}").error().field, "name");
    EXPECT_EQ(Read(R"({"name": "x", "id": ")" + std::string(65, 'i') + "\"}").error().field, "id");
    std::string many = R"({"name": "x", "metadata": {)";
    for (int i = 0; i < 65; ++i) many += (i ? ",\"k" : "\"k") + std::to_string(i) + "\": \"\"";
    EXPECT_EQ(Read(many + "}}").error().field, "metadata");
    const std::string cron = R"({"name": "x", "cron": ")" + std::string(100'000, '*') + "\"}";
    EXPECT_EQ(Read(cron).error().field, "cron");
    const std::string unknown = "{\"" + std::string(100'000, 'u') + "\": 1}";
    EXPECT_LT(Read(unknown).error().detail.size(), 200u);
}

TEST(TaskJson, PlainTaskTakesTheDefaultsAndNoRoom) {
    const auto read = Read(R"({"name": "mail", "payload": {"to": [1, 2]} })");
    ASSERT_TRUE(read);
    const Task& task = *read->task;
    EXPECT_EQ(task.type, "mail");
    EXPECT_EQ(task.queue, "default");
    EXPECT_EQ(task.priority, kPriorityNormal);
    EXPECT_EQ(task.payload, R"({"to": [1, 2]})");
    EXPECT_FALSE(task.recurring());
    EXPECT_EQ(task.options, nullptr);
    EXPECT_EQ(Read(R"({"name": "n", "payload": null, "labels": null})")->task->options, nullptr);
}

TEST(TaskJson, EveryFieldFindsItsPlace) {
    const auto read = Read(R"({"id": "t1", "name": "n\u00e9\ud83d\ude00", "type": "ty",
        "queue": "q", "priority": "urgent", "parameters": [1], "timeout": "1m30s",
        "retry_policy": {"max_retries": 7, "delay": 1.5, "backoff_rate": 3, "delay_max": "1m",
        "jitter": 0}, "max_retry": 7, "load_balance_strategy": "sticky",
        "metadata": {"b": "2", "a": "1"}, "labels": {"gpu": "yes"}, "executor": "ex",
        "expires_after": 60, "concurrency_key": "c",
        "concurrency_max": 4, "rate_limit": {"count": 5, "per": 2}, "cron_expression": "0 2 * * *",
        "timezone": "Asia/Shanghai", "dst": "twice", "start_at": "2027-01-01T00:00:00Z",
        "end_at": "2028-01-01T00:00:00+08:00", "fires_max": 9, "jitter": "5s",
        "excluded_dates": ["2027-12-25", "2027-01-01"], "execution_mode": "replace",
        "misfire_policy": "fire_all", "misfires_max": 8, "backlog_max": 6, "start_deadline": "10m",
        "catch_up_after_pause": true, "enabled": false})");
    ASSERT_TRUE(read) << read.error().detail;
    const Task& task = *read->task;
    EXPECT_EQ(task.name, "né😀");
    EXPECT_EQ(task.priority, 9);
    EXPECT_EQ(task.timeout, 90s);
    EXPECT_EQ(read->enabled, false);
    const TaskOptions& options = task.opt();
    EXPECT_EQ(options.retry, (RetryPolicy{7, 1500ms, 3, 60s, 0}));
    EXPECT_EQ(options.strategy, Strategy::kSticky);
    EXPECT_EQ(options.metadata, (Pairs{{"a", "1"}, {"b", "2"}}));
    EXPECT_EQ(options.expires_after, 60s);
    EXPECT_EQ(options.rate, (RateLimit{5, 2s}));
    EXPECT_EQ(options.mode, Mode::kReplace);
    EXPECT_EQ(options.misfire, Misfire::kFireAll);
    EXPECT_TRUE(options.catch_up_after_pause);
    const Recurrence& recurrence = *options.recurrence;
    EXPECT_EQ(recurrence.cron, "0 2 * * *");
    EXPECT_EQ(recurrence.dst, Dst::kTwice);
    EXPECT_EQ(FormatTime(recurrence.end_at), "2027-12-31T16:00:00.000Z");
    EXPECT_EQ(recurrence.excluded_dates, (std::vector<Text>{"2027-01-01", "2027-12-25"}));

    // A task that is written reads back as the same task.
    std::string written;
    JsonWriter json(written);
    WriteTask(json, {read->task, {.paused = true}});
    const auto again = Read(written, {.accept_read_only = true});
    ASSERT_TRUE(again) << again.error().detail << written;
    EXPECT_TRUE(SameRequest(*read->task, *again->task)) << written;
}

// A task as it was made, and what a PATCH makes of it.
class TaskJsonChange : public ::testing::Test {
  protected:
    void Make(std::string_view text) {
        const auto made = Read(text);
        ASSERT_TRUE(made) << made.error().detail;
        task_ = made->task;
    }
    Result<TaskRequest> Change(std::string_view text) {
        return Read(text, {.base = task_.get(), .accept_read_only = true});
    }
    std::optional<RetryPolicy> RetryAfter(std::string_view text) {
        const auto changed = Change(text);
        EXPECT_TRUE(changed) << text << changed.error().detail;
        return changed ? changed->task->opt().retry : std::nullopt;
    }

    TaskPtr task_;
};

// An operator lengthens the delay of a task, and expects the rest to be as it was.
TEST_F(TaskJsonChange, OneFieldOfTheRetryPolicyLeavesTheOthers) {
    Make(R"({"name": "x", "interval": "1h", "retry_policy": {"max_retries": 7, "delay": "5s",
             "backoff_rate": 3}})");
    const RetryPolicy standard;
    EXPECT_EQ(RetryAfter(R"({"retry_policy": {"delay": "9s"}})"),
              (RetryPolicy{7, 9s, 3, standard.delay_max, standard.jitter}));
    EXPECT_EQ(RetryAfter(R"({"retry_policy": {"delay": null}})"),
              (RetryPolicy{7, standard.delay, 3, standard.delay_max, standard.jitter}));
    EXPECT_EQ(RetryAfter(R"({"max_retry": 2})"),
              (RetryPolicy{2, 5s, 3, standard.delay_max, standard.jitter}));
    EXPECT_EQ(RetryAfter(R"({"max_retry": null})"),
              (RetryPolicy{standard.retries_max, 5s, 3, standard.delay_max, standard.jitter}));
    EXPECT_EQ(RetryAfter(R"({"max_retry": null, "retry_policy": {"max_retries": 4}})")->retries_max,
              4u);
    EXPECT_EQ(RetryAfter(R"({"retry_policy": {"max_retries": 4}, "max_retry": null})")->retries_max,
              4u);
    EXPECT_EQ(RetryAfter(R"({"retry_policy": null})"), std::nullopt);
    EXPECT_EQ(RetryAfter(R"({"retry_policy": null, "max_retry": 1})")->delay, standard.delay);
    EXPECT_FALSE(Change(R"({"max_retry": 3, "retry_policy": {"max_retries": 5}})"));
    EXPECT_TRUE(Change(R"({"max_retry": 5, "retry_policy": {"max_retries": 5}})"));

    // A policy that says no more than the default is none: it follows the configuration again.
    Make(R"({"name": "x", "interval": "1h", "max_retry": 7})");
    EXPECT_EQ(RetryAfter(R"({"max_retry": null})"), std::nullopt);
}

TEST_F(TaskJsonChange, OneFieldOfTheRateLimitLeavesTheOther) {
    Make(R"({"name": "x", "interval": "1h", "rate_limit": {"count": 5, "per": "1m"}})");
    EXPECT_EQ(Change(R"({"rate_limit": {"count": 9}})")->task->opt().rate, (RateLimit{9, 60s}));
    EXPECT_EQ(Change(R"({"rate_limit": {"per": "1h"}})")->task->opt().rate, (RateLimit{5, 1h}));
    EXPECT_EQ(Change(R"({"rate_limit": null})")->task->opt().rate, RateLimit());
}

// Somebody takes the schedule away, under whichever of its names.
TEST_F(TaskJsonChange, AScheduleThatIsTakenAwayIsNamedAsItWasGiven) {
    Make(R"({"name": "x", "interval": "1h"})");
    for (const char* name : {"interval", "every"}) {
        const auto changed = Change("{\"" + std::string(name) + "\": null}");
        ASSERT_FALSE(changed);
        EXPECT_EQ(changed.error().field, name);
        EXPECT_EQ(changed.error().detail,
                  std::string(name) + " cannot be taken away; delete the task instead");
    }
    EXPECT_EQ(Change(R"({"cron": "@daily"})").error().field, "cron");
    EXPECT_TRUE(Change(R"({"interval": null, "cron": "@daily"})"));
}

TEST_F(TaskJsonChange, NullOfEnabledIsTheDefault) {
    Make(R"({"name": "x", "interval": "1h", "enabled": false})");
    EXPECT_EQ(Change(R"({"enabled": null})")->enabled, true);
    EXPECT_EQ(Change(R"({"priority": 1})")->enabled, std::nullopt);
}

// A program that embeds Takt brings a strategy of its own, and one of its tasks asks for it.
TEST_F(TaskJsonChange, AnOwnStrategyIsAskedForAndShownByTheSameName) {
    Make(R"({"name": "x", "interval": "1h", "load_balance_strategy": "custom:mine"})");
    EXPECT_EQ(task_->opt().strategy, Strategy::kCustom);
    EXPECT_EQ(task_->opt().strategy_name, "mine");
    std::string written;
    JsonWriter json(written);
    WriteTask(json, {task_, {}});
    EXPECT_NE(written.find(R"("load_balance_strategy":"custom:mine")"), written.npos) << written;
    EXPECT_EQ(Change(R"({"load_balance_strategy": null})")->task->options->strategy_name, "");
    const auto other = Change(R"({"load_balance_strategy": "least_load"})");
    EXPECT_EQ(other->task->opt().strategy, Strategy::kLeastTasks);
    EXPECT_EQ(other->task->opt().strategy_name, "");
}

// A client made from the OpenAPI page must not refuse what the scheduler takes.
TEST(TaskJson, EveryNameOfAStrategyIsInTheSchema) {
    for (const TaskField& field : TaskFields()) {
        if (field.name != "load_balance_strategy") continue;
        for (const char* name : {"least_loaded", "least_load", "weighted"}) {
            EXPECT_TRUE(ParseStrategy(name));
            EXPECT_NE(field.takes.find("\"" + std::string(name) + "\""), field.takes.npos) << name;
        }
        for (int i = 0; i < static_cast<int>(Strategy::kCustom); ++i) {
            const std::string name(Name(static_cast<Strategy>(i)));
            EXPECT_NE(field.takes.find("\"" + name + "\""), field.takes.npos) << name;
        }
    }
}

// The names of a million tasks are held once.
TEST(TaskJson, EqualNamesShareOneText) {
    TextPool pool;
    EXPECT_EQ(pool.Get("report").view().data(), pool.Get("report").view().data());
    EXPECT_EQ(pool.Get("report"), "report");
    EXPECT_EQ(pool.Get(""), "");
}

TEST(TaskJson, OutputThatIsNoJsonBecomesAText) {
    std::string out;
    JsonWriter json(out);
    json.BeginArray();
    WriteJsonText(json, R"({"a":1})");
    WriteJsonText(json, "plain \xff");
    WriteJsonText(json, "");
    json.EndArray();
    EXPECT_EQ(out, R"([{"a":1},"plain \ufffd",null])");
}

}  // namespace
}  // namespace takt::internal
