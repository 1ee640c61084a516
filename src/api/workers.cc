// Workers: list, get, drain, resume, set their capacity, remove.
#include <algorithm>
#include <limits>

#include "api/audit.h"
#include "api/call_body.h"
#include "api/call_flow.h"
#include "api/query.h"
#include "api/reason_body.h"
#include "api/request_kinds.h"
#include "api/resources.h"
#include "api/services.h"
#include "api/worker_json.h"

namespace takt::internal {
namespace {

Error NoSuchWorker(const WorkerId& id) {
    return {ErrorCode::kNotFound, "there is no worker '" + id.text().str() + "'", "id"};
}

void ListWorkers(Call call) {
    // All of them unless a limit is given: the console wants to see every one.
    constexpr CountRange kLimit{.standard = std::numeric_limits<std::size_t>::max()};
    const auto limit = QueryCount(call.request(), "limit", kLimit);
    if (!limit) return call.RefuseRequest(limit.error());
    std::string after;
    if (const auto cursor = call.request().Query("cursor")) {
        auto id = ParseIdCursor(*cursor);
        if (!id) return call.RefuseRequest(id.error());
        after = std::move(*id);
    }
    WithEngine(std::move(call), [limit = *limit, after = std::move(after)](Call call,
                                                                           const Engine& engine) {
        std::string body;
        JsonWriter json(body);
        json.BeginObject().Key("items").BeginArray();
        // One more than the page holds, unless it holds all, tells whether there is another.
        const auto workers = engine.WorkersAfter(Text(after), std::max(limit, limit + 1));
        const std::size_t shown = std::min<std::size_t>(workers.size(), limit);
        for (std::size_t i = 0; i < shown; ++i) WriteWorker(json, workers[i]);
        std::optional<std::string> next;
        if (workers.size() > shown) next = IdCursor(workers[shown - 1].row.id.view());
        EndPage(json, next);
        call.Json(200, std::move(body));
    });
}

// After a change too, so that the caller sees what became of it.
void SendWorker(Call call, WorkerId id, Error not_there = LeaderChanged()) {
    WithEngine(
        std::move(call),
        [id = std::move(id)](Call call, const Engine& engine) {
            const auto worker = engine.FindWorker(id);
            if (!worker) return call.RefuseAnswer(NoSuchWorker(id));
            std::string body;
            JsonWriter json(body);
            WriteWorker(json, *worker);
            call.Json(200, std::move(body));
        },
        std::move(not_there));
}

void GetWorker(Call call) {
    auto id = PathId<WorkerId>(call);
    if (id) SendWorker(std::move(call), std::move(*id));
}

void SetStatus(Call call, WorkerStatus status) {
    auto id = PathId<WorkerId>(call);
    if (!id) return;
    auto body = ReadBody(call, ReasonFields());
    if (!body) return call.RefuseRequest(body.error());
    Node& node = call.services().node;
    SetWorkerStatus set{
        .worker = *id, .status = status, .reason = std::move(body->reason), .by = ActOf(call)};
    node.Ask(std::move(set), [call = std::move(call), id = *id](Result<Answer> answer) mutable {
        if (!answer) return call.RefuseAnswer(answer.error());
        SendWorker(std::move(call), std::move(id), DoneButNotShown());
    });
}

struct CapacityBody {
    std::uint32_t capacity = 0;
};

const RequestTable<CapacityBody>& CapacityFields() {
    static const RequestTable<CapacityBody> fields = {
        {"capacity", "How many attempts it is given at once; null: what it says itself.",
         TakenBy<CapacityBody>::Count(&CapacityBody::capacity, {1, kCapacityMax})
             .Clears([](CapacityBody& body) { body.capacity = 0; })
             .Required()}};
    return fields;
}

void SetCapacity(Call call) {
    auto id = PathId<WorkerId>(call);
    if (!id) return;
    const auto body = ReadBody(call, CapacityFields());
    if (!body) return call.RefuseRequest(body.error());
    Node& node = call.services().node;
    SetWorkerCapacity set{.worker = *id, .capacity = body->capacity, .by = ActOf(call)};
    node.Ask(std::move(set), [call = std::move(call), id = *id](Result<Answer> answer) mutable {
        if (!answer) return call.RefuseAnswer(answer.error());
        SendWorker(std::move(call), std::move(id), DoneButNotShown());
    });
}

void RemoveOne(Call call) {
    auto id = PathId<WorkerId>(call);
    if (!id) return;
    const std::string force = call.request().Query("force").value_or("false");
    if (force != "true" && force != "false") {
        return call.RefuseRequest(BadField("force", "must be true or false").error());
    }
    Node& node = call.services().node;
    RemoveWorker remove{.worker = std::move(*id), .force = force == "true", .by = ActOf(call)};
    node.Ask(std::move(remove), [call = std::move(call)](Result<Answer> answer) mutable {
        if (!answer) return call.RefuseAnswer(answer.error());
        call.Send({.status = 204});
    });
}

}  // namespace

std::string WorkerCapacitySchema() {
    return RequestSchema(CapacityFields());
}

void AddWorkerRoutes(std::vector<Route>& routes) {
    const auto add = [&](Route route) {
        route.where = Where::kLeader;
        route.tag = "workers";
        routes.push_back(std::move(route));
    };
    add({.method = HttpMethod::kGet,
         .path = "/api/v1/workers",
         .permission = Permission::kViewer,
         .handler = ListWorkers,
         .summary = "List workers",
         .query = {{"limit", "1 to 1000; all unless given."},
                   {"cursor", "Where the last page ended."}},
         .gives = "WorkerList"});
    add({.method = HttpMethod::kGet,
         .path = "/api/v1/workers/{id}",
         .permission = Permission::kViewer,
         .handler = GetWorker,
         .summary = "Get a worker",
         .gives = "Worker"});
    add({.method = HttpMethod::kPost,
         .path = "/api/v1/workers/{id}/drain",
         .permission = Permission::kOperator,
         .handler = [](Call call) { SetStatus(std::move(call), WorkerStatus::kDraining); },
         .summary = "Give a worker nothing new; it finishes what it has",
         .takes = "Reason",
         .body_optional = true,
         .gives = "Worker"});
    add({.method = HttpMethod::kPost,
         .path = "/api/v1/workers/{id}/resume",
         .permission = Permission::kOperator,
         .handler = [](Call call) { SetStatus(std::move(call), WorkerStatus::kOnline); },
         .summary = "Put a worker back into rotation",
         .takes = "Reason",
         .body_optional = true,
         .gives = "Worker"});
    add({.method = HttpMethod::kPut,
         .path = "/api/v1/workers/{id}/capacity",
         .permission = Permission::kOperator,
         .handler = SetCapacity,
         .summary = "Say how many attempts a worker is given at once; what runs goes on",
         .takes = "WorkerCapacity",
         .gives = "Worker"});
    add({.method = HttpMethod::kDelete,
         .path = "/api/v1/workers/{id}",
         .permission = Permission::kOperator,
         .handler = RemoveOne,
         .summary = "Remove a worker; what it runs is given to others",
         .query = {{"force",
                    "true: also while it is connected and has executions in hand, which it goes on "
                    "with beside whoever gets them next. Else that is 409."}},
         .success = 204});
}

}  // namespace takt::internal
