#include "api/test_scheduler.h"

namespace takt::internal {
namespace {

// A job that ran wild is stopped by hand, and run again when its cause is gone.
TEST(Executions, CancelledExecutionCanBeRetried) {
    TestScheduler scheduler;
    scheduler.AttachWorker("w", true);
    scheduler.Post("/api/v1/tasks", R"({"id": "job", "name": "job"})");
    scheduler.sink().Await(EventType::kTaskStarted, "job");

    const Answered cancelled =
        scheduler.Post("/api/v1/executions/job/cancel", R"({"reason": "runs wild"})");
    ASSERT_EQ(cancelled.status, 200) << cancelled.body;
    EXPECT_EQ(cancelled.Text("status"), "cancelled");
    EXPECT_EQ(cancelled.json.at("error").at("code").as_string(), "cancelled");
    EXPECT_EQ(cancelled.json.at("error").at("message").as_string(), "runs wild");
    EXPECT_EQ(scheduler.Post("/api/v1/executions/job/cancel").status, 409);

    EXPECT_EQ(scheduler.Post("/api/v1/executions/job/retry").status, 200);
    EXPECT_EQ(scheduler.Post("/api/v1/executions/job/retry").status, 409) << "not finished";
    EXPECT_EQ(scheduler.Post("/api/v1/executions/none/retry").status, 404);
}

TEST(Executions, StatusMayBeGivenInOtherSpellings) {
    TestScheduler scheduler;
    scheduler.AttachWorker("w");
    scheduler.Post("/api/v1/tasks", R"({"id": "a", "name": "a"})");
    scheduler.sink().Await(EventType::kTaskCompleted, "a");
    for (const char* status : {"success", "completed", "succeeded", "failed,completed"}) {
        const Answered list = scheduler.Get("/api/v1/executions?status=" + std::string(status));
        ASSERT_EQ(list.status, 200) << list.body;
        EXPECT_EQ(list.json.at("items").as_array().size(), 1u) << status;
    }
    const Answered bad = scheduler.Get("/api/v1/executions?status=done");
    EXPECT_EQ(bad.status, 400);
    EXPECT_EQ(bad.Text("field"), "status");
}

TEST(Executions, PagesOfAListMeetWithoutGapOrOverlap) {
    TestScheduler scheduler;
    for (int i = 0; i < 5; ++i) {
        scheduler.Post("/api/v1/tasks",
                       R"({"id": "e)" + std::to_string(i) + R"(", "name": "n", "delay": "1h"})");
    }
    std::vector<std::string> seen;
    std::string cursor;
    for (int page = 0; page < 10; ++page) {
        const Answered list = scheduler.Get("/api/v1/executions?limit=2" + cursor);
        ASSERT_EQ(list.status, 200) << list.body;
        for (const auto& item : list.json.at("items").as_array()) {
            seen.emplace_back(item.at("id").as_string());
        }
        if (list.json.at("next_cursor").is_null()) break;
        cursor = "&cursor=" + list.Text("next_cursor");
    }
    EXPECT_EQ(seen, (std::vector<std::string>{"e4", "e3", "e2", "e1", "e0"}));
}

// Mistakes that people and programs make in an address.
TEST(Executions, BadQueriesAndIdsAreRefusedByName) {
    TestScheduler scheduler;
    const struct {
        const char* target;
        int status;
        const char* field;
    } cases[] = {
        {"/api/v1/executions?limit=0", 400, "limit"},
        {"/api/v1/executions?limit=1000000000", 400, "limit"},
        {"/api/v1/executions?limit=-1", 400, "limit"},
        {"/api/v1/executions?limit=ten", 400, "limit"},
        {"/api/v1/executions?limit=1&limit=2", 400, "limit"},
        {"/api/v1/executions?cursor=zzz", 400, "cursor"},
        {"/api/v1/executions?from=yesterday", 400, "from"},
        {"/api/v1/executions?from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z", 400, "to"},
        {"/api/v1/executions?taskid=1", 400, "taskid"},
        {"/api/v1/executions?worker_id=..%2f", 400, "worker_id"},
        {"/api/v1/executions/..%2fetc", 400, "(absent)"},  // The HTTP layer knows that one.
        {"/api/v1/executions/a%2fb", 400, "id"},
        {"/api/v1/executions/a%20b", 400, "id"},
        {"/api/v1/executions/none", 404, "id"},
        {"/api/v1/tasks/none", 404, "id"},
        {"/api/v1/nothing", 404, "(absent)"},
        {"/api/v1/tasks/x/fires?count=1001", 400, "count"},
    };
    for (const auto& bad : cases) {
        const Answered answer = scheduler.Get(bad.target);
        EXPECT_EQ(answer.status, bad.status) << bad.target << answer.body;
        EXPECT_EQ(answer.Text("field"), bad.field) << bad.target << answer.body;
    }
    EXPECT_EQ(scheduler.Get("/api/v1/executions/" + std::string(4096, 'a')).status, 400);
    const Answered wrong = scheduler.Delete("/api/v1/executions");
    EXPECT_EQ(wrong.status, 405);
    EXPECT_EQ(wrong.Header("Allow"), "GET");
}

// The console lists a thousand reports of a megabyte each.
TEST(Executions, ListsLeaveResultsOutUnlessTheyAreAskedFor) {
    TestScheduler scheduler;
    scheduler.AttachWorker("w", true);
    for (const auto& [name, bytes] : {std::pair("short", 10), std::pair("long", 100'000)}) {
        const std::string id = name;
        ASSERT_EQ(scheduler.Post("/api/v1/tasks", R"({"name": "n", "id": ")" + id + "\"}").status,
                  201);
        scheduler.sink().Await(EventType::kTaskStarted, id);
        const std::string result(static_cast<std::size_t>(bytes), 'x');
        const Answered ended =
            scheduler.Put("/api/v1/executions/" + id + "/status",
                          R"({"status": "success", "result": ")" + result + "\"}");
        ASSERT_EQ(ended.status, 200) << ended.body;
    }
    const Answered list = scheduler.Get("/api/v1/executions");
    ASSERT_EQ(list.json.at("items").as_array().size(), 2U);
    EXPECT_LT(list.body.size(), 5'000U);
    const Answered details = scheduler.Get("/api/v1/executions?details=true");
    EXPECT_EQ(details.json.at("items").at(1).at("result").as_string(), "xxxxxxxxxx");
    EXPECT_GT(details.body.size(), 100'000U);
    EXPECT_EQ(scheduler.Get("/api/v1/executions?details=some").status, 400);
    EXPECT_GT(scheduler.Get("/api/v1/executions/long").body.size(), 100'000U);
}

// Somebody who looks later wants to know what was said.
TEST(Executions, WhatWasSaidOfASuccessIsKept) {
    TestScheduler scheduler;
    scheduler.AttachWorker("w", true);
    for (const std::string id : {"good", "bad"}) {
        ASSERT_EQ(scheduler.Post("/api/v1/tasks", R"({"name": "n", "id": ")" + id + "\"}").status,
                  201);
        scheduler.sink().Await(EventType::kTaskStarted, id);
    }
    const auto end = [&](const std::string& id, const std::string& body) {
        return scheduler.Put("/api/v1/executions/" + id + "/status", body).status;
    };
    ASSERT_EQ(end("good", R"({"status": "success", "message": "by phone"})"), 200);
    ASSERT_EQ(end("bad", R"({"status": "failed", "message": "no answer"})"), 200);

    EXPECT_EQ(scheduler.Get("/api/v1/executions/good").json.at("message"), "by phone");
    EXPECT_TRUE(scheduler.Get("/api/v1/executions/bad").json.at("message").is_null());
    EXPECT_EQ(scheduler.Get("/api/v1/executions/bad").json.at("error").at("message"), "no answer");
}

TEST(Executions, ExplainSaysWhyNothingHappens) {
    TestScheduler scheduler;
    scheduler.Post("/api/v1/tasks", R"({"id": "lonely", "name": "n"})");
    const Answered why = scheduler.Get("/api/v1/executions/lonely/explain");
    ASSERT_EQ(why.status, 200) << why.body;
    EXPECT_EQ(why.Text("code"), "no_worker") << why.body;
    EXPECT_TRUE(why.json.at("values").as_object().empty()) << why.body;
    scheduler.Post("/api/v1/executions/lonely/cancel", R"({"reason": "enough"})");
    const Answered ended = scheduler.Get("/api/v1/executions/lonely/explain");
    EXPECT_EQ(ended.Text("code"), "cancelled");
    EXPECT_NE(ended.Text("explanation").find("enough"), std::string::npos);
    EXPECT_EQ(ended.json.at("values").at("status").as_string(), "cancelled");
    EXPECT_EQ(ended.json.at("values").at("message").as_string(), "enough");
    EXPECT_EQ(scheduler.Get("/api/v1/executions/none/explain").status, 404);
}

// A console says it in its reader's language, and needs the names and numbers by themselves.
TEST(Executions, ExplainGivesWhatItsSentenceNames) {
    TestScheduler scheduler;
    scheduler.AttachWorker("w", true);
    scheduler.Put("/api/v1/queues/slow", R"({"paused": true})");
    scheduler.Post("/api/v1/tasks", R"({"id": "x", "name": "n", "queue": "slow"})");
    const Answered paused = scheduler.Get("/api/v1/executions/x/explain");
    EXPECT_EQ(paused.Text("code"), "queue_paused") << paused.body;
    EXPECT_EQ(paused.json.at("values").at("queue").as_string(), "slow");
    scheduler.Put("/api/v1/queues/slow", R"({"concurrency_max": 1, "paused": false})");
    scheduler.Post("/api/v1/tasks", R"({"id": "y", "name": "n", "queue": "slow"})");
    const Answered full = scheduler.Get("/api/v1/executions/y/explain");
    EXPECT_EQ(full.Text("code"), "queue_limit") << full.body;
    EXPECT_EQ(full.json.at("values").at("limit").as_int64(), 1) << full.body;
}

TEST(Executions, LogShowsWhatTheWorkerWrote) {
    TestScheduler scheduler;
    scheduler.AttachWorker("w", true);
    scheduler.sink().on_assign = [&](const Assign& assign) {
        scheduler.node().Tell(LogLines{
            .session = assign.session,
            .attempt = {assign.execution.id, assign.execution.attempt, assign.execution.token},
            .lines = Text("first\nsecond\n")});
        scheduler.node().Tell(Report{
            .session = assign.session,
            .attempt = {assign.execution.id, assign.execution.attempt, assign.execution.token},
            .success = true});
    };
    scheduler.Post("/api/v1/tasks", R"({"id": "talks", "name": "n"})");
    scheduler.sink().Await(EventType::kTaskCompleted, "talks");
    const Answered log = scheduler.Get("/api/v1/executions/talks/log");
    ASSERT_EQ(log.json.at("items").as_array().size(), 1u) << log.body;
    EXPECT_EQ(log.json.at("items").at(0).at("lines").as_string(), "first\nsecond\n");
    EXPECT_EQ(scheduler.Get("/api/v1/executions/talks/log?format=text").body, "first\nsecond\n");
    EXPECT_EQ(scheduler.Get("/api/v1/executions/talks/log?format=xml").status, 400);
}

// A worker that talks when the test says so.
class TalkingWorker {
  public:
    explicit TalkingWorker(TestScheduler& scheduler) : scheduler_(scheduler) {
        scheduler.AttachWorker("talker", true);
        scheduler.sink().on_assign = [this](const Assign& assign) {
            const std::scoped_lock lock(mutex_);
            assigns_.push_back(assign);
            changed_.notify_all();
            scheduler_.node().Tell(Started{.session = assign.session, .attempt = RefOf(assign)});
        };
    }
    // The assignment with this number, counted from 1.
    Assign Await(std::size_t number) {
        std::unique_lock lock(mutex_);
        EXPECT_TRUE(changed_.wait_for(lock, 10s, [&] { return assigns_.size() >= number; }));
        return assigns_.at(number - 1);
    }
    void Say(const Assign& assign, const std::string& lines) {
        scheduler_.node().Tell(
            LogLines{.session = assign.session, .attempt = RefOf(assign), .lines = Text(lines)});
    }
    void End(const Assign& assign, bool success, const char* message = "") {
        auto outcome = boost::intrusive_ptr<Outcome>(new Outcome);
        outcome->reason = success ? Reason::kNone : Reason::kHandlerFailed;
        outcome->message = Text(message);
        scheduler_.node().Tell(Report{.session = assign.session,
                                      .attempt = RefOf(assign),
                                      .success = success,
                                      .outcome = std::move(outcome)});
    }
    static AttemptRef RefOf(const Assign& assign) {
        return {assign.execution.id, assign.execution.attempt, assign.execution.token};
    }

  private:
    TestScheduler& scheduler_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Assign> assigns_;
};

// A long import: how far is it, and what happened before?
TEST(Executions, ShowTheirProgressAndEarlierAttempts) {
    const auto database = std::make_shared<MemoryDatabase>();
    TestScheduler scheduler({.database = database});
    TestScheduler follower({.node = "node-b", .database = database, .await_lead = false});
    follower.AwaitLeaderKnown();
    TalkingWorker worker(scheduler);
    const Answered made = scheduler.Post(
        "/api/v1/tasks",
        R"({"id": "import", "name": "n", "retry_policy": {"max_retries": 1, "delay": "1ms"},
            "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"})");
    ASSERT_EQ(made.status, 201) << made.body;
    worker.End(worker.Await(1), false, "disk full");
    const Assign second = worker.Await(2);
    scheduler.node().Tell(Progress{.session = second.session,
                                   .attempt = TalkingWorker::RefOf(second),
                                   .fraction = 0.25,
                                   .message = "3 of 12"});
    scheduler.sink().AwaitStored("import", Status::kRunning, 2);
    const Answered shown = scheduler.Get("/api/v1/executions/import");
    ASSERT_TRUE(shown.json.at("progress").is_object()) << shown.body;
    EXPECT_EQ(shown.json.at("progress").at("percent").to_number<double>(), 25);
    EXPECT_EQ(shown.json.at("progress").at("message").as_string(), "3 of 12");
    EXPECT_EQ(shown.Text("trace_id"), "4bf92f3577b34da6a3ce929d0e0e4736");
    const auto& attempts = shown.json.at("attempts").as_array();
    ASSERT_EQ(attempts.size(), 2u) << shown.body;
    EXPECT_EQ(attempts[0].at("status").as_string(), "failed");
    EXPECT_EQ(attempts[0].at("error").at("message").as_string(), "disk full");
    EXPECT_EQ(attempts[0].at("worker_id").as_string(), "talker");
    EXPECT_EQ(attempts[1].at("attempt").as_int64(), 2);
    EXPECT_EQ(attempts[1].at("status").as_string(), "running");
    EXPECT_TRUE(attempts[1].at("error").is_null());
    // Another scheduler asks the leader.
    const Answered far = follower.Get("/api/v1/executions/import");
    EXPECT_EQ(far.json.at("progress").at("message").as_string(), "3 of 12") << far.body;

    worker.End(second, true);
    scheduler.sink().Await(EventType::kTaskCompleted, "import");
    const Answered ended = scheduler.Get("/api/v1/executions/import");
    EXPECT_TRUE(ended.json.at("progress").is_null());
    ASSERT_EQ(ended.json.at("attempts").as_array().size(), 2u) << ended.body;
    EXPECT_EQ(ended.json.at("attempts").at(1).at("status").as_string(), "success");
    EXPECT_TRUE(ended.json.at("error").is_null());
}

// A worker is being stopped: it finishes what it has and takes nothing new.
TEST(Workers, ThatDrainThemselvesAreShownAsDraining) {
    TestScheduler scheduler;
    scheduler.AttachWorker("w", true);
    EXPECT_EQ(scheduler.Get("/api/v1/workers/w").Text("status"), "online");
    scheduler.node().Tell(Heartbeat{.session = 1, .load = {.draining = true}});
    EXPECT_EQ(scheduler.Get("/api/v1/workers/w").Text("status"), "draining");
}

// Somebody watches a build as it runs, from the first line to the last.
TEST(ExecutionLog, IsFollowedUntilItsEnd) {
    TestScheduler scheduler;
    TalkingWorker worker(scheduler);
    scheduler.Post("/api/v1/tasks", R"({"id": "build", "name": "n"})");
    const Assign assign = worker.Await(1);
    worker.Say(assign, "before\n");

    TestStream log(scheduler.address() + "/api/v1/executions/build/log?follow=true");
    ASSERT_TRUE(log.Await("before")) << log.text();
    EXPECT_EQ(log.status(), 200);
    worker.Say(assign, "while\n");
    ASSERT_TRUE(log.Await("while")) << log.text();
    EXPECT_EQ(log.text().find("event: end"), std::string::npos);
    worker.Say(assign, "last\n");
    worker.End(assign, true);

    ASSERT_TRUE(log.AwaitEnd()) << log.text();
    const std::string text = log.text();
    EXPECT_NE(text.find("event: lines\ndata: {\"attempt\":1,\"at\":"), std::string::npos) << text;
    EXPECT_LT(text.find("last"), text.find("event: end\ndata: {\"status\":\"success\"}")) << text;
}

// A train goes into a tunnel: who comes back goes on behind the last line it saw.
TEST(ExecutionLog, IsGoneOnWithFromTheLastLineSeen) {
    TestScheduler scheduler;
    TalkingWorker worker(scheduler);
    scheduler.Post("/api/v1/tasks", R"({"id": "talks", "name": "n"})");
    const Assign assign = worker.Await(1);
    // More than one page.
    for (int i = 0; i < 30; ++i) worker.Say(assign, "line " + std::to_string(i) + ".\n");
    worker.End(assign, true);
    scheduler.sink().Await(EventType::kTaskCompleted, "talks");
    TestStream whole(scheduler.address() + "/api/v1/executions/talks/log",
                     {{"Accept", "text/event-stream"}});
    ASSERT_TRUE(whole.AwaitEnd());
    const std::string text = whole.text();
    std::size_t at = 0;
    for (int i = 0; i < 30; ++i) {
        at = text.find("line " + std::to_string(i) + ".", at);
        ASSERT_NE(at, text.npos) << i << "\n" << text;
    }
    const std::size_t twentieth = text.find("line 19.");
    const std::size_t id = text.rfind("id: ", twentieth) + 4;
    const std::string seen = text.substr(id, text.find('\n', id) - id);

    TestStream rest(scheduler.address() + "/api/v1/executions/talks/log?follow=true",
                    {{"Last-Event-ID", seen}});
    ASSERT_TRUE(rest.AwaitEnd());
    EXPECT_EQ(rest.text().find("line 19."), std::string::npos) << rest.text();
    EXPECT_LT(rest.text().find("line 20."), rest.text().find("event: end"));
}

// The same from a scheduler that does not lead, while it runs and after.
TEST(ExecutionLog, IsFollowedThroughAnyScheduler) {
    const auto database = std::make_shared<MemoryDatabase>();
    TestScheduler leader({.database = database});
    TestScheduler follower({.node = "node-b", .database = database, .await_lead = false});
    TalkingWorker worker(leader);
    follower.AwaitLeaderKnown();
    leader.Post("/api/v1/tasks", R"({"id": "far", "name": "n"})");
    const Assign assign = worker.Await(1);

    const std::string target = follower.address() + "/api/v1/executions/far/log?follow=true";
    TestStream log(target);
    log.AwaitHead();
    worker.Say(assign, "hello\n");
    EXPECT_TRUE(log.Await("hello"));
    worker.End(assign, true);
    EXPECT_TRUE(log.AwaitEnd());
    EXPECT_NE(log.text().find("event: end"), std::string::npos) << log.text();

    leader.StopNode();
    TestStream again(target);
    EXPECT_TRUE(again.AwaitEnd());
    EXPECT_NE(again.text().find("hello"), std::string::npos) << again.text();
}

TEST(ExecutionLog, OfNothingIsNotFollowed) {
    TestScheduler scheduler;
    EXPECT_EQ(scheduler.Get("/api/v1/executions/none/log").status, 404);
    EXPECT_EQ(scheduler.Get("/api/v1/executions/none/log?format=text").status, 404);
    EXPECT_EQ(scheduler.Get("/api/v1/executions/none/log?follow=true").status, 404);
    EXPECT_EQ(scheduler.Get("/api/v1/executions/none/log?follow=yes").status, 400);
}

}  // namespace
}  // namespace takt::internal
