// Lists that are searched: what is found by which words, page by page, and what is changed by them.
#include <string>
#include <vector>

#include "api/search_words.h"
#include "api/test_scheduler.h"

namespace takt::internal {
namespace {

std::vector<std::string> FoundIds(const Answered& list) {
    std::vector<std::string> ids;
    if (list.status != 200) return {list.body};
    for (const auto& item : list.json.at("items").as_array()) {
        ids.emplace_back(item.at("id").as_string());
    }
    return ids;
}

using Ids = std::vector<std::string>;

// Somebody has a name, half an id, a team or the words of an error, and no list of filters.
TEST(Search, ExecutionsAreFoundByNameIdMetadataAndErrorWithoutRegardToCase) {
    TestScheduler scheduler;
    scheduler.Post("/api/v1/tasks", R"({"id": "a1", "name": "Send Invoices", "type": "mail",
        "metadata": {"team": "Billing"}, "delay": "1h"})");
    scheduler.Post("/api/v1/tasks", R"({"id": "b2", "name": "resize", "queue": "Media",
        "metadata": {"team": "images"}, "delay": "1h"})");
    scheduler.Post("/api/v1/executions/b2/cancel", R"({"reason": "the Disk is full"})");
    const auto found = [&](const std::string& query) {
        return FoundIds(scheduler.Get("/api/v1/executions?" + query));
    };
    EXPECT_EQ(found("search=invoices"), Ids{"a1"});
    EXPECT_EQ(found("search=MAIL"), Ids{"a1"});
    EXPECT_EQ(found("search=A1"), Ids{"a1"});
    EXPECT_EQ(found("search=media"), Ids{"b2"});
    EXPECT_EQ(found("search=team%3Dbill"), Ids{"a1"});
    EXPECT_EQ(found("search=disk%20is"), Ids{"b2"});
    EXPECT_EQ(found("search=s"), (Ids{"b2", "a1"}));
    EXPECT_EQ(found("search=s&status=cancelled"), Ids{"b2"}) << "beside the other filters";
    EXPECT_EQ(found("search=nothing-like-it"), Ids{});
    EXPECT_EQ(found("metadata=team%3DBilling"), Ids{"a1"});
    EXPECT_EQ(found("metadata=team%3Dbilling"), Ids{}) << "metadata letter by letter";
    EXPECT_EQ(found("metadata=team%3Dimages&search=invoices"), Ids{});
    const Answered one = scheduler.Get("/api/v1/executions/a1");
    EXPECT_EQ(one.json.at("metadata").at("team").as_string(), "Billing");
}

// Half a character, cut by a program that knows only bytes: it was looked for, and never found.
TEST(Search, WordsThatAreNotUtf8AreRefused) {
    TestScheduler scheduler;
    for (const char* path : {"/api/v1/executions", "/api/v1/tasks"}) {
        const Answered bad = scheduler.Get(std::string(path) + "?search=%FF");
        EXPECT_EQ(bad.status, 400) << path;
        EXPECT_EQ(bad.Text("field"), "search");
        EXPECT_EQ(scheduler.Get(std::string(path) + "?search=%E4%B8%AD").status, 200);
        EXPECT_EQ(scheduler.Get(std::string(path) + "?%FF=x").status, 400);
    }
}

TEST(Search, PagesOfASearchMeetWithoutGapOrOverlap) {
    TestScheduler scheduler;
    for (int i = 0; i < 9; ++i) {
        const std::string kind = i % 2 == 0 ? "wanted" : "other";
        scheduler.Post("/api/v1/tasks", R"({"id": "e)" + std::to_string(i) + R"(", "name": ")" +
                                            kind + R"(", "delay": "1h"})");
    }
    Ids seen;
    std::string cursor;
    for (int page = 0; page < 10; ++page) {
        const Answered list = scheduler.Get("/api/v1/executions?search=wanted&limit=2" + cursor);
        for (const std::string& id : FoundIds(list)) seen.push_back(id);
        EXPECT_TRUE(list.json.at("searched_to").is_null()) << "it did not end early";
        if (list.json.at("next_cursor").is_null()) break;
        cursor = "&cursor=" + list.Text("next_cursor");
    }
    EXPECT_EQ(seen, (Ids{"e8", "e6", "e4", "e2", "e0"}));
}

// "Cancel all that match" beside a search must not touch what the list does not show.
TEST(Search, AChangeByFilterIsBoundByTheSearchToo) {
    TestScheduler scheduler;
    for (const char* id : {"keep", "drop-1", "drop-2"}) {
        scheduler.Post("/api/v1/tasks",
                       R"({"id": ")" + std::string(id) + R"(", "name": "n", "delay": "1h"})");
    }
    const Answered swept = scheduler.Post("/api/v1/executions/cancel", R"({"search": "DROP"})");
    ASSERT_EQ(swept.status, 200) << swept.body;
    EXPECT_EQ(swept.json.at("matched").to_number<int>(), 2);
    EXPECT_EQ(swept.json.at("changed").to_number<int>(), 2);
    EXPECT_EQ(scheduler.Get("/api/v1/executions/keep").Text("status"), "pending");
    EXPECT_EQ(scheduler.Get("/api/v1/executions/drop-1").Text("status"), "cancelled");
}

TEST(Search, ExecutionsAreCountedByStateAndOverTime) {
    TestScheduler scheduler;
    for (const char* id : {"a", "b", "c"}) {
        scheduler.Post("/api/v1/tasks", R"({"id": ")" + std::string(id) +
                                            R"(", "name": "n", "queue": ")" + id +
                                            R"(", "delay": "1h"})");
    }
    scheduler.Post("/api/v1/executions/c/cancel");
    const Answered all = scheduler.Get("/api/v1/execution-counts");
    ASSERT_EQ(all.status, 200) << all.body;
    EXPECT_EQ(all.json.at("total").to_number<int>(), 3);
    EXPECT_TRUE(all.json.at("complete").as_bool());
    EXPECT_EQ(all.json.at("counts").at("pending").to_number<int>(), 2);
    EXPECT_EQ(all.json.at("counts").at("cancelled").to_number<int>(), 1);
    int drawn = 0;
    for (const auto& column : all.json.at("items").as_array()) {
        drawn += column.at("pending").to_number<int>() + column.at("cancelled").to_number<int>();
    }
    EXPECT_EQ(drawn, 3) << "each is in one column";
    EXPECT_EQ(scheduler.Get("/api/v1/execution-counts?queue=a").json.at("total").to_number<int>(),
              1);
    EXPECT_EQ(
        scheduler.Get("/api/v1/execution-counts?search=nobody").json.at("items").as_array().size(),
        0u);
}

TEST(Search, TasksAreFoundByWordsTypeQueueAndState) {
    TestScheduler scheduler;
    scheduler.Post("/api/v1/tasks", R"({"id": "t1", "name": "Send Invoices", "type": "mail",
        "interval": "1h", "metadata": {"team": "billing"}})");
    scheduler.Post("/api/v1/tasks",
                   R"({"id": "t2", "name": "resize", "queue": "media", "interval": "1h"})");
    scheduler.Post("/api/v1/tasks", R"({"id": "t3", "name": "past", "cron": "0 0 * * *",
        "end_at": "2020-01-01T00:00:00Z"})");
    scheduler.Post("/api/v1/tasks/t2/pause");
    const auto found = [&](const std::string& query) {
        return FoundIds(scheduler.Get("/api/v1/tasks?" + query));
    };
    EXPECT_EQ(found("search=send"), Ids{"t1"});
    EXPECT_EQ(found("search=BILLING"), Ids{"t1"});
    EXPECT_EQ(found("type=mail"), Ids{"t1"});
    EXPECT_EQ(found("queue=media"), Ids{"t2"});
    EXPECT_EQ(found("state=paused"), Ids{"t2"});
    EXPECT_EQ(found("state=active"), Ids{"t1"});
    EXPECT_EQ(found("search=e&limit=1"), Ids{"t1"});
    const Answered first = scheduler.Get("/api/v1/tasks?search=e&limit=1");
    EXPECT_EQ(found("search=e&limit=1&cursor=" + first.Text("next_cursor")), Ids{"t2"});
    EXPECT_EQ(scheduler.Get("/api/v1/tasks?state=gone").Text("field"), "state");
}

TEST(Search, MistakesInASearchAreNamed) {
    TestScheduler scheduler;
    const auto field = [&](const std::string& query) {
        return scheduler.Get("/api/v1/executions?" + query).Text("field");
    };
    EXPECT_EQ(field("search="), "search");
    EXPECT_EQ(field("search=" + std::string(201, 'x')), "search");
    EXPECT_EQ(field("metadata=team"), "metadata");
    EXPECT_EQ(field("metadata=%3Dx"), "metadata");
    EXPECT_EQ(field("search=x&details=true"), "details");
}

// A word is found where it is, also at the very end, and not where it is only begun.
TEST(SearchWordsTest, FindsAWordAnywhere) {
    NewTaskPtr task(new Task);
    task->id = TaskId("id-1");
    task->name = "Aab";
    task->type = "t";
    task->queue = "q";
    const auto fits = [&](std::string_view text) {
        SearchWords words;
        EXPECT_TRUE(SetSearch(words, "search", text));
        return words.Fit(*task);
    };
    EXPECT_TRUE(fits("AB"));
    EXPECT_TRUE(fits("aab"));
    EXPECT_TRUE(fits("D-1"));
    EXPECT_FALSE(fits("abb"));
    EXPECT_FALSE(fits("aabx"));
}

}  // namespace
}  // namespace takt::internal
