// Bulk creation: thousands of tasks in one request, one answer for each, in their order.
//
// Tasks are read as they arrive and submitted when all have: a body that breaks off, or that is no
// JSON, creates nothing. A single task that cannot be taken does not stop the others.
#include <atomic>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <memory>

#include "api/audit.h"
#include "api/bulk.h"
#include "api/bulk_reader.h"
#include "api/resources.h"
#include "api/services.h"
#include "api/submission.h"

namespace takt::internal {
namespace {

struct BulkItem {
    NewTaskPtr task;  // Until it is submitted.
    std::optional<bool> enabled;
    Text id = {};
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
    ActPtr by;
    for (std::uint32_t i = 0; i < bulk->items.size(); ++i) {
        BulkItem& item = bulk->items[i];
        if (item.problem) continue;
        if (item.task->recurring()) {
            const bool named = !item.task->id.empty();
            if (!by) by = ActOf(bulk->call);
            PutTask put{.task = std::move(item.task), .create_only = named, .by = by};
            if (item.enabled) put.paused = !*item.enabled;
            node.Ask(std::move(put), TakeAnswer{bulk, i});
        } else {
            node.Ask(Submit{.task = std::move(item.task)}, TakeAnswer{bulk, i});
        }
    }
}

void CreateMany(Call call) {
    // The body came whole: passed on by another scheduler's, or before it was known who may come
    // in.
    BulkReader reader(call.services(), call.request(), std::make_shared<BulkHeld>());
    reader.Feed(call.request().body);
    call.request().body = {};  // Everything that is kept has been copied.
    CreateFrom(std::move(call), reader);
}

}  // namespace

void CreateFrom(Call call, BulkReader& reader) {
    auto items = reader.Finish();
    if (!items) {
        return items.error().code == ErrorCode::kUnavailable ? call.RefuseAnswer(items.error())
                                                             : call.RefuseRequest(items.error());
    }
    const BulkPtr bulk(new Bulk(std::move(call)));
    bulk->items.reserve(items->size());
    for (BulkReader::Item& item : *items) {
        bulk->items.push_back({.task = std::move(item.task),
                               .enabled = item.enabled,
                               .problem = std::move(item.problem)});
    }
    SubmitAll(bulk);
}

void AddBulkRoutes(std::vector<Route>& routes) {
    routes.push_back({.method = HttpMethod::kPost,
                      .path = "/api/v1/tasks/bulk",
                      .permission = Permission::kOperator,
                      .where = Where::kLeader,
                      .handler = CreateMany,
                      .tag = "tasks",
                      .summary = "Create up to 10,000 tasks; each gets an answer of its own",
                      .headers = {kIdempotencyKey},
                      .takes = "Bulk",
                      .takes_lines = true,
                      .gives = "BulkAnswer",
                      .routine = true});
}

}  // namespace takt::internal
