#include "api/test_scheduler.h"

namespace takt::internal {
namespace {

// An importer sends a file of jobs; some of its lines are wrong.
TEST(Bulk, EachTaskGetsItsAnswerInOrder) {
    TestScheduler scheduler;
    const Answered answer = scheduler.Post("/api/v1/tasks/bulk", R"([
        {"id": "b1", "name": "n", "delay": "1h"},
        {"name": "n", "priority": 77},
        {"id": "b1", "name": "n", "delay": "1h"},
        {"id": "b1", "name": "other"},
        {"id": "c1", "name": "n", "cron": "@daily"},
        5])");
    ASSERT_EQ(answer.status, 200) << answer.body;
    const auto& items = answer.json.at("items").as_array();
    ASSERT_EQ(items.size(), 6u);
    const int expected[] = {201, 400, 200, 409, 201, 400};
    for (std::size_t i = 0; i < items.size(); ++i) {
        EXPECT_EQ(items[i].at("status").as_int64(), expected[i]) << i << answer.body;
    }
    EXPECT_EQ(items[1].at("problem").at("field").as_string(), "priority");
    EXPECT_EQ(answer.json.at("created").as_int64(), 2);
    EXPECT_EQ(answer.json.at("existing").as_int64(), 1);
    EXPECT_EQ(answer.json.at("failed").as_int64(), 3);
    EXPECT_EQ(scheduler.Get("/api/v1/tasks/c1").status, 200);
}

TEST(Bulk, TenThousandTasksInOneRequest) {
    TestScheduler scheduler;
    std::string body = R"({"tasks": [)";
    for (int i = 0; i < 10'000; ++i) {
        if (i > 0) body += ',';
        body += R"({"id":"t)" + std::to_string(i) + R"(","name":"n","delay":"1h"})";
    }
    const Answered answer = scheduler.Post("/api/v1/tasks/bulk", body + "]}");
    ASSERT_EQ(answer.status, 200);
    EXPECT_EQ(answer.json.at("created").as_int64(), 10'000);
    EXPECT_EQ(answer.json.at("items").at(9'999).at("id").as_string(), "t9999");
    EXPECT_EQ(scheduler.Get("/api/v1/executions/t5000").status, 200);

    const Answered more =
        scheduler.Post("/api/v1/tasks/bulk", body + R"(,{"id": "one-more", "name": "n"}]})");
    EXPECT_EQ(more.status, 413);
    EXPECT_EQ(scheduler.Get("/api/v1/executions/one-more").status, 404) << "nothing of it";
}

TEST(Bulk, LinesAreTakenToo) {
    TestScheduler scheduler;
    const Answered answer = scheduler.Post(
        "/api/v1/tasks/bulk",
        "{\"id\": \"l1\", \"name\": \"n\"}\r\n\n{broken\n{\"id\": \"l2\", \"name\": \"n\"}",
        {{"Content-Type", "application/x-ndjson"}});
    ASSERT_EQ(answer.status, 200) << answer.body;
    const auto& items = answer.json.at("items").as_array();
    ASSERT_EQ(items.size(), 3u);
    EXPECT_EQ(items[0].at("status").as_int64(), 201);
    EXPECT_EQ(items[1].at("status").as_int64(), 400);
    EXPECT_EQ(items[2].at("id").as_string(), "l2");
}

// A body that is no JSON as a whole creates nothing at all.
TEST(Bulk, BrokenBodyCreatesNothing) {
    TestScheduler scheduler;
    for (const char* body : {R"([{"id": "h1", "name": "n"}, )", R"([{"id": "h1", "name": "n"}] x)",
                             "[]", R"({"task": []})", R"({"tasks": 5})", "5", "{}"}) {
        const Answered answer = scheduler.Post("/api/v1/tasks/bulk", body);
        EXPECT_EQ(answer.status, 400) << body << answer.body;
    }
    EXPECT_EQ(scheduler.Get("/api/v1/executions/h1").status, 404);
    EXPECT_EQ(scheduler.Post("/api/v1/tasks/bulk").status, 400);
}

// A member that is not known, before the list or behind it, is told by its name.
TEST(Bulk, AnUnknownMemberIsNamed) {
    TestScheduler scheduler;
    for (const char* body : {R"({"x": 1, "tasks": [{"name": "n"}]})",
                             R"({"tasks": [{"name": "n"}], "x": 1})", R"({"tasks": [], "x": 1})"}) {
        const Answered answer = scheduler.Post("/api/v1/tasks/bulk", body);
        EXPECT_EQ(answer.status, 400) << body;
        EXPECT_EQ(answer.Text("field"), "x") << answer.body;
    }
    const Answered twice =
        scheduler.Post("/api/v1/tasks/bulk", R"({"tasks": [{"name": "n"}], "tasks": []})");
    EXPECT_EQ(twice.status, 400);
    EXPECT_EQ(twice.Text("field"), "tasks");
}

// More than a megabyte belongs into bulk, more than its limit nowhere.
TEST(Bulk, TenMegabytesAreRefusedWhereOneTaskBelongs) {
    TestScheduler scheduler;
    const std::string large = R"({"name": "n", "payload": ")" + std::string(10 << 20, 'x') + "\"}";
    const Answered answer = scheduler.Post("/api/v1/tasks", large);
    EXPECT_EQ(answer.status, 413);
    const Answered item = scheduler.Post("/api/v1/tasks/bulk", "[" + large + "]");
    ASSERT_EQ(item.status, 200) << item.body.substr(0, 500);
    EXPECT_EQ(item.json.at("items").at(0).at("status").as_int64(), 413);
}

// An operator sets other limits than ours.
TEST(Bulk, BodiesAreLimitedByTheConfiguration) {
    TestScheduler scheduler({.config = {.body_bytes_max = 100, .bulk_bytes_max = 1000}});
    const auto task = [](std::size_t bytes) {
        const std::string frame = R"({"name": "n", "payload": ""})";
        return frame.substr(0, frame.size() - 2) + std::string(bytes - frame.size(), 'x') + "\"}";
    };
    EXPECT_EQ(scheduler.Post("/api/v1/tasks", task(100)).status, 201);
    EXPECT_EQ(scheduler.Post("/api/v1/tasks", task(101)).status, 413);
    EXPECT_EQ(scheduler.Post("/api/v1/tasks/bulk", "[" + task(998) + "]").status, 200);
    EXPECT_EQ(scheduler.Post("/api/v1/tasks/bulk", "[" + task(999) + "]").status, 413);
}

// A client's connection breaks in the middle of its file.
TEST(Bulk, ABodyThatBreaksOffCreatesNothing) {
    TestScheduler scheduler;
    {
        RawClient client(scheduler.port());
        client.Send(
            "POST /api/v1/tasks/bulk HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-ndjson\r\n"
            "Content-Length: 1000\r\n\r\n{\"id\": \"half-1\", \"name\": \"n\"}\n{\"id\": \"ha");
    }
    // The next call on the server's thread comes after its end.
    EXPECT_EQ(scheduler.Get("/api/v1/executions/half-1").status, 404);
    EXPECT_EQ(scheduler.Post("/api/v1/tasks/bulk", R"([{"id": "whole", "name": "n"}])").status,
              200);
    EXPECT_EQ(scheduler.Get("/api/v1/executions/half-1").status, 404);
    EXPECT_EQ(scheduler.Get("/api/v1/executions/whole").status, 200);
}

// Texts with brackets, quotes and escapes in them, and bodies that say nothing.
TEST(Bulk, TasksAreToldApartWhateverTheirTextsSay) {
    TestScheduler scheduler;
    const Answered answer = scheduler.Post("/api/v1/tasks/bulk", R"( { "tasks" : [
        {"id": "a", "name": "],[{\"", "payload": {"x": ["\\", {"y": "}"}]}, "delay": "1h"} ,
        {"id": "b", "name": "n", "delay": "1h", "enabled": null}
      ] } )");
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.json.at("created").as_int64(), 2) << answer.body;
    for (const char* body : {"[,]", R"([{"name": "n"},])", R"([{"name": "n"}}])", "[1 2]", "[[]",
                             R"({"tasks": [{"name": "n"}], "more": 1})", R"({"tasks": []}})"}) {
        EXPECT_EQ(scheduler.Post("/api/v1/tasks/bulk", body).status, 400) << body;
    }
}

// A slow client: its body comes in pieces of so many bytes, cut wherever.
TEST(Bulk, TasksAreFoundWhereverTheirPiecesAreCut) {
    TestScheduler scheduler;
    const std::string body =
        R"({"tasks": [{"name": "],[{\"", "payload": {"x": ["\\", {"y": "}"}]}, "delay": "1h"},)"
        R"({"name":"n","delay":"1h"}]})";
    for (std::size_t size = 1; size < 40; ++size) {
        std::string request =
            "POST /api/v1/tasks/bulk HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
            "application/json\r\n"
            "Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
        for (std::size_t at = 0; at < body.size(); at += size) {
            const std::string piece = body.substr(at, size);
            char length[8];
            std::snprintf(length, sizeof length, "%zx\r\n", piece.size());
            request += length + piece + "\r\n";
        }
        RawClient client(scheduler.port());
        ASSERT_TRUE(client.Send(request + "0\r\n\r\n"));
        EXPECT_NE(client.ReadAll().find("\"created\":2"), std::string::npos) << size;
    }
}

// A deployment brings many tasks, some switched off.
TEST(Bulk, RecurringTasksMayBeMadePaused) {
    TestScheduler scheduler;
    const Answered answer =
        scheduler.Post("/api/v1/tasks/bulk",
                       R"([{"id": "off", "name": "n", "cron": "@daily", "enabled": false}])");
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_FALSE(scheduler.Get("/api/v1/tasks/off").json.at("enabled").as_bool());
}

TEST(Bulk, ARepetitionWithTheSameKeyCreatesNothingNew) {
    TestScheduler scheduler;
    const HttpHeaderList key = {{"Idempotency-Key", "import 7"}};
    const std::string body = R"([{"name": "a"}, {"name": "a"}, {"id": "mine", "name": "a"}])";
    const Answered first = scheduler.Post("/api/v1/tasks/bulk", body, key);
    const Answered again = scheduler.Post("/api/v1/tasks/bulk", body, key);
    EXPECT_EQ(first.json.at("created").to_number<int>(), 3);
    EXPECT_EQ(again.json.at("created").to_number<int>(), 0);
    EXPECT_EQ(first.json.at("items").at(0).at("id"), again.json.at("items").at(0).at("id"));
    EXPECT_NE(first.json.at("items").at(0).at("id"), first.json.at("items").at(1).at("id"));
}

}  // namespace
}  // namespace takt::internal
