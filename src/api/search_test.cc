// Lists that are searched: what is found by which words, page by page, and what is changed by them.
#include <string>
#include <vector>

#include "api/search_text.h"
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

// An order is looked for by its number, which only the parameters have.
TEST(Search, ValuesInParametersAreFound) {
    TestScheduler scheduler;
    scheduler.Post("/api/v1/tasks", R"({"id": "a1", "name": "ship", "delay": "1h",
        "parameters": {"order": {"id": 4711, "lines": [{"sku": "AB-1"}, {"sku": "CD-2"}]}}})");
    scheduler.Post("/api/v1/tasks", R"({"id": "b2", "name": "ship", "delay": "1h",
        "parameters": {"order": {"id": 4712}, "to": "\u5317\u4eac"}})");
    scheduler.Post("/api/v1/tasks", R"({"id": "t3", "name": "bill", "interval": "1h",
        "parameters": {"customer": "Acme"}})");
    const auto found = [&](const std::string& query) {
        return FoundIds(scheduler.Get("/api/v1/executions?" + query));
    };
    EXPECT_EQ(found("search=4711"), Ids{"a1"});
    EXPECT_EQ(found("search=cd-2"), Ids{"a1"});
    EXPECT_EQ(found("search=%E5%8C%97%E4%BA%AC"), Ids{"b2"}) << "however it was escaped";
    EXPECT_EQ(found("search=order.id%3D4712"), Ids{"b2"});
    EXPECT_EQ(found("search=sku"), Ids{}) << "names alone are those of every run";
    EXPECT_EQ(found("parameters=order.id%3D4711"), Ids{"a1"});
    EXPECT_EQ(found("parameters=order.lines.sku%3DCD-2"), Ids{"a1"}) << "of any line";
    EXPECT_EQ(found("parameters=order.id%3D471"), Ids{}) << "letter by letter";
    EXPECT_EQ(found("parameters=id%3D4711"), Ids{}) << "by its whole path";
    const auto list = scheduler.Get("/api/v1/executions?search=4711");
    EXPECT_TRUE(list.json.at("parameters_searched_to").is_null());
    EXPECT_FALSE(list.json.at("items").at(0).as_object().contains("parameters"));
    const auto counts = scheduler.Get("/api/v1/execution-counts?search=4711");
    EXPECT_EQ(counts.json.at("total").to_number<int>(), 1) << "the counts are those of the list";
    EXPECT_EQ(FoundIds(scheduler.Get("/api/v1/tasks?search=acme")), Ids{"t3"});
    EXPECT_EQ(FoundIds(scheduler.Get("/api/v1/tasks?parameters=customer%3DAcme")), Ids{"t3"});
    const auto swept =
        scheduler.Post("/api/v1/executions/cancel", R"({"parameters": "order.id=4711"})");
    EXPECT_EQ(swept.json.at("changed").to_number<int>(), 1) << swept.body;
    EXPECT_EQ(scheduler.Get("/api/v1/executions/b2").Text("status"), "pending");
}

// Many megabytes of parameters: a word is still looked for in every name, and the answer says how
// far parameters were read; what is asked of parameters alone ends there and goes on by its cursor.
TEST(Search, LargeParametersEndTheirSearchAndNotThatOfNames) {
    TestScheduler scheduler;
    const std::string filler(800'000, 'x');
    for (int i = 0; i < 45; ++i) {
        const std::string id = "e" + std::to_string(i);
        const Answered made =
            scheduler.Post("/api/v1/tasks", R"({"id": ")" + id + R"(", "name": "big", "delay": "1h",
                "parameters": {"key": "k)" + std::to_string(i) +
                                                R"(.", "filler": ")" + filler + R"("}})");
        ASSERT_EQ(made.status, 201) << made.body;
    }
    const Answered by_name = scheduler.Get("/api/v1/executions?search=e0&limit=1");
    EXPECT_EQ(FoundIds(by_name), Ids{"e0"});
    EXPECT_TRUE(by_name.json.at("searched_to").is_null());
    EXPECT_TRUE(by_name.json.at("parameters_searched_to").is_string());
    EXPECT_EQ(FoundIds(scheduler.Get("/api/v1/executions?search=k0.")), Ids{}) << "too far back";
    EXPECT_EQ(FoundIds(scheduler.Get("/api/v1/executions?search=k44.")), Ids{"e44"});

    const Answered first = scheduler.Get("/api/v1/executions?parameters=key%3Dk0.");
    EXPECT_EQ(FoundIds(first), Ids{});
    ASSERT_TRUE(first.json.at("searched_to").is_string()) << first.body;
    const Answered second = scheduler.Get("/api/v1/executions?parameters=key%3Dk0.&cursor=" +
                                          first.Text("next_cursor"));
    EXPECT_EQ(FoundIds(second), Ids{"e0"});
    EXPECT_TRUE(second.json.at("searched_to").is_null());
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
    EXPECT_EQ(field("parameters=order"), "parameters");
    EXPECT_EQ(field("parameters=a%3Db&details=true"), "details");
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

TEST(SearchTextTest, TakesParametersApartOnlyWhereTheyAreJson) {
    EXPECT_TRUE(HasValue(R"({"a": [1, {"b": "Deep"}]})", "deep"));
    EXPECT_TRUE(HasValue(R"("Alone")", "alone"));
    EXPECT_TRUE(HasValue(R"({"a": true})", "a=tr"));
    EXPECT_TRUE(HasValue(R"({"a": "say \"hi\""})", "\"hi\""));
    EXPECT_FALSE(HasValue(R"({"deep": 1})", "deep"));
    EXPECT_FALSE(HasValue("", "x"));
    EXPECT_TRUE(HasValue("not JSON at all", "json"));
    EXPECT_TRUE(HasValueAt(R"({"a": {"b": 1.50}})", "a.b", "1.50")) << "as it was written";
    EXPECT_TRUE(HasValueAt(R"({"a": null})", "a", "null"));
    EXPECT_FALSE(HasValueAt(R"({"a": {"b": 1}})", "a", R"({"b": 1})"));
    EXPECT_FALSE(HasValueAt("a=1", "a", "1"));
}

}  // namespace
}  // namespace takt::internal
