// Bulk creation: thousands of tasks in one request, one answer for each, in their order.
//
// Nothing is submitted before the whole body has been read: a body that breaks off, or that is no
// JSON, creates nothing. A single task that cannot be taken does not stop the others.
#include <atomic>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <memory>

#include "api/json_read.h"
#include "api/resources.h"
#include "api/services.h"
#include "api/submission.h"

namespace takt::internal {
namespace {

struct BulkItem {
    NewTaskPtr task;  // Until it is submitted.
    Text id;
    bool created = false;
    std::unique_ptr<Problem> problem;
};

// Collects the answers, which come one by one on the node's thread.
struct Bulk : boost::intrusive_ref_counter<Bulk, boost::thread_safe_counter> {
    explicit Bulk(Call asked) : call(std::move(asked)) {}

    Call call;
    std::vector<BulkItem> items;
    std::atomic<std::size_t> waiting = 0;
};
using BulkPtr = boost::intrusive_ptr<Bulk>;

void Answered(Bulk& bulk) {
    std::size_t created = 0;
    std::size_t failed = 0;
    for (const BulkItem& item : bulk.items) {
        created += item.created;
        failed += item.problem != nullptr;
    }
    std::string body;
    body.reserve(64 + 48 * bulk.items.size());
    JsonWriter json(body);
    json.BeginObject().Field("created", created);
    json.Field("existing", bulk.items.size() - created - failed).Field("failed", failed);
    json.Key("items").BeginArray();
    for (const BulkItem& item : bulk.items) {
        json.BeginObject();
        if (item.problem) {
            json.Field("status", item.problem->status).Key("problem");
            WriteProblem(json, *item.problem, {});
        } else {
            json.Field("id", item.id.view()).Field("status", item.created ? 201 : 200);
        }
        json.EndObject();
    }
    json.EndArray().EndObject();
    bulk.call.Json(200, std::move(body));
}

// Sixteen bytes, so that the function it becomes needs no memory of its own.
struct TakeAnswer {
    BulkPtr bulk;
    std::uint32_t index;

    void operator()(Result<Answer> answer) {
        BulkItem& item = bulk->items[index];
        if (answer) {
            const bool recurring = answer->task.task != nullptr;
            item.id = recurring ? answer->task.task->id.text() : answer->execution.id.text();
            item.created = answer->created;
        } else {
            item.problem = std::make_unique<Problem>(ProblemOfAnswer(answer.error()));
        }
        if (bulk->waiting.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
        // Writing ten thousand answers is not the node's business.
        bulk->call.services().post([bulk = bulk] { Answered(*bulk); });
    }
};

void SubmitAll(const BulkPtr& bulk) {
    std::size_t good = 0;
    for (const BulkItem& item : bulk->items) good += item.problem == nullptr;
    if (good == 0) return Answered(*bulk);
    bulk->waiting = good;
    Node& node = bulk->call.services().node;
    for (std::uint32_t i = 0; i < bulk->items.size(); ++i) {
        BulkItem& item = bulk->items[i];
        if (item.problem) continue;
        if (item.task->recurring()) {
            const bool named = !item.task->id.empty();
            node.Ask(PutTask{.task = std::move(item.task), .create_only = named},
                     TakeAnswer{bulk, i});
        } else {
            node.Ask(Submit{.task = std::move(item.task)}, TakeAnswer{bulk, i});
        }
    }
}

void ReadItem(Bulk& bulk, const JsonView& object, Time now) {
    Services& services = bulk.call.services();
    BulkItem& item = bulk.items.emplace_back();
    auto request = ReadTask(object, services.config.task_limits, services.texts, {.now = now});
    if (!request) {
        item.problem = std::make_unique<Problem>(ProblemOfRequest(request.error()));
    } else if (request->enabled == false) {
        item.problem = std::make_unique<Problem>(ProblemOfRequest(
            BadField("enabled", "cannot be false in bulk; create the task, then pause it")
                .error()));
    } else {
        item.task = std::move(request->task);
    }
}

std::unexpected<Error> TooMany(std::size_t most) {
    return Fail(ErrorCode::kExhausted,
                "at most " + std::to_string(most) + " tasks are taken in one request", "tasks");
}

Result<void> ReadArray(Bulk& bulk, const JsonView& array, Time now) {
    const std::size_t most = bulk.call.services().config.bulk_tasks_max;
    JsonView::Elements elements(array);
    while (elements.Next()) {
        if (bulk.items.size() == most) return TooMany(most);
        ReadItem(bulk, elements.value(), now);
    }
    return {};
}

Result<void> ReadWhole(Bulk& bulk, Time now) {
    const std::string& body = bulk.call.request().body;
    if (auto checked = CheckJson(body, {.bytes_max = bulk.call.route().body_bytes_max}); !checked) {
        return checked;
    }
    const JsonView whole(body);
    if (whole.kind() == JsonView::Kind::kArray) return ReadArray(bulk, whole, now);
    static constexpr std::array<std::string_view, 1> kNames = {"tasks"};
    if (whole.kind() == JsonView::Kind::kObject) {
        JsonView::Members members(whole);
        while (members.Next()) {
            if (members.key() != kNames[0]) return UnknownField(members.key(), kNames);
            if (members.value().kind() != JsonView::Kind::kArray) break;
            return ReadArray(bulk, members.value(), now);
        }
    }
    return Fail(ErrorCode::kInvalid,
                "send a list of tasks: [{…}, …], {\"tasks\": […]} or one task in each line",
                "tasks");
}

Result<void> ReadLines(Bulk& bulk, Time now) {
    const std::size_t most = bulk.call.services().config.bulk_tasks_max;
    std::string_view rest = bulk.call.request().body;
    while (!rest.empty()) {
        const std::size_t end = rest.find('\n');
        std::string_view line = rest.substr(0, end);
        rest = end == rest.npos ? std::string_view() : rest.substr(end + 1);
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.empty()) continue;
        if (bulk.items.size() == most) return TooMany(most);
        if (auto checked = CheckJson(line, {.bytes_max = line.size()})) {
            ReadItem(bulk, JsonView(line), now);
        } else {
            bulk.items.emplace_back().problem =
                std::make_unique<Problem>(ProblemOfRequest(checked.error()));
        }
    }
    return {};
}

bool IsLines(const HttpRequest& request) {
    const std::string_view type = request.headers.Find("Content-Type").value_or("");
    return type.find("ndjson") != type.npos || type.find("jsonl") != type.npos;
}

void CreateMany(Call call) {
    const BulkPtr bulk(new Bulk(std::move(call)));
    const Time now = ReadClocks().wall;
    const auto read = IsLines(bulk->call.request()) ? ReadLines(*bulk, now) : ReadWhole(*bulk, now);
    if (!read) return bulk->call.RefuseRequest(read.error());
    if (bulk->items.empty()) {
        return bulk->call.RefuseRequest(
            {ErrorCode::kInvalid, "there is no task in the body", "tasks"});
    }
    bulk->call.request().body = {};  // Everything that is kept has been copied.
    SubmitAll(bulk);
}

}  // namespace

void AddBulkRoutes(std::vector<Route>& routes) {
    routes.push_back({.method = HttpMethod::kPost,
                      .path = "/api/v1/tasks/bulk",
                      .permission = Permission::kOperator,
                      .where = Where::kLeader,
                      .handler = CreateMany,
                      .tag = "tasks",
                      .summary = "Create up to 10,000 tasks; each gets an answer of its own",
                      .takes = "Bulk",
                      .takes_lines = true,
                      .gives = "BulkAnswer",
                      .routine = true,
                      .body_bytes_max = ApiConfig().bulk_bytes_max});
}

}  // namespace takt::internal
