// Why something does not run: executions, tasks, queues and workers, each asked for itself.
#include "api/call_flow.h"
#include "api/query.h"
#include "api/resources.h"
#include "api/services.h"
#include "base/json.h"

namespace takt::internal {
namespace {

// The thing that an explanation is about, as its answer names it.
struct Explained {
    std::string_view field;  // "execution_id", "task_id", "queue" or "worker_id".
    Text name;
};

void SendExplanation(Call& call, const Explained& about, const Explanation& explanation) {
    std::string body;
    JsonWriter json(body);
    json.BeginObject().Field(about.field, about.name.view()).Field("code", explanation.code);
    json.Field("explanation", std::string_view(explanation.sentence));
    json.Key("values").BeginObject();
    for (const auto& [name, value] : explanation.values) {
        json.Key(name);
        std::visit([&](const auto& each) { json.Value(each); }, value);
    }
    json.EndObject().EndObject();
    call.Json(200, std::move(body));
}

// An execution that is finished explains itself by how it ended.
Explanation HowItEnded(const Execution& execution) {
    const std::string status(Name(execution.status));
    Explanation explanation{
        Name(execution.status), "it is finished: " + status, {{"status", status}}};
    if (execution.outcome && !execution.outcome->message.empty()) {
        std::string message = execution.outcome->message.str();
        explanation.sentence += " (" + message + ")";
        explanation.values.push_back({"message", std::move(message)});
    }
    return explanation;
}

void ExplainFinished(Call call, Explained about) {
    const PartitionReader& rows = call.services().rows;
    std::vector<ExecutionId> ids = {ExecutionId(about.name)};
    rows.FindExecutions(
        std::move(ids), [call = std::move(call), about = std::move(about)](
                            Result<std::vector<std::optional<Execution>>> found) mutable {
            if (!found) return call.RefuseAnswer(found.error());
            if (found->front()) return SendExplanation(call, about, HowItEnded(*found->front()));
            const char* kind = about.field == "task_id" ? "task" : "execution";
            call.RefuseAnswer({ErrorCode::kNotFound,
                               "there is no " + std::string(kind) + " '" + about.name.str() + "'",
                               "id"});
        });
}

void ExplainExecution(Call call) {
    auto id = PathId<ExecutionId>(call);
    if (!id) return;
    Node& node = call.services().node;
    node.Look([call = std::move(call), id = std::move(*id)](const Engine* engine) mutable {
        const Explained about{"execution_id", id.text()};
        const auto explanation =
            engine ? engine->Explain(id, ReadClocks()) : std::optional<Explanation>();
        if (!explanation) return ExplainFinished(std::move(call), about);
        SendExplanation(call, about, *explanation);
    });
}

// A task that runs once is its execution.
void ExplainTask(Call call) {
    auto id = PathId<TaskId>(call);
    if (!id) return;
    Node& node = call.services().node;
    node.Look([call = std::move(call), id = std::move(*id)](const Engine* engine) mutable {
        const Explained about{"task_id", id.text()};
        std::optional<Explanation> explanation;
        if (engine) explanation = engine->ExplainTask(id, ReadClocks());
        if (engine && !explanation) {
            explanation = engine->Explain(ExecutionId(id.text()), ReadClocks());
        }
        if (!explanation) return ExplainFinished(std::move(call), about);
        SendExplanation(call, about, *explanation);
    });
}

void ExplainQueue(Call call) {
    const std::string_view given = call.request().Parameter("name");
    if (!IsValidId(given)) {
        return call.RefuseRequest({ErrorCode::kInvalid, "name is not the name of a queue", "name"});
    }
    Node& node = call.services().node;
    node.Look([call = std::move(call), name = Text(given)](const Engine* engine) mutable {
        if (!engine) return call.RefuseAnswer(LeaderChanged());
        const auto explanation = engine->ExplainQueue(name);
        if (explanation) return SendExplanation(call, {"queue", name}, *explanation);
        call.RefuseAnswer(
            {ErrorCode::kNotFound, "nothing is in a queue '" + name.str() + "'", "name"});
    });
}

void ExplainWorker(Call call) {
    auto id = PathId<WorkerId>(call);
    if (!id) return;
    Node& node = call.services().node;
    node.Look([call = std::move(call), id = std::move(*id)](const Engine* engine) mutable {
        if (!engine) return call.RefuseAnswer(LeaderChanged());
        const auto explanation = engine->ExplainWorker(id);
        if (explanation) return SendExplanation(call, {"worker_id", id.text()}, *explanation);
        call.RefuseAnswer(
            {ErrorCode::kNotFound, "there is no worker '" + id.text().str() + "'", "id"});
    });
}

}  // namespace

void AddExplainRoutes(std::vector<Route>& routes) {
    const auto add = [&](Route route) {
        route.method = HttpMethod::kGet;
        route.permission = Permission::kViewer;
        route.where = Where::kLeader;
        route.gives = "Explanation";
        routes.push_back(std::move(route));
    };
    add({.path = "/api/v1/executions/{id}/explain",
         .handler = ExplainExecution,
         .tag = "executions",
         .summary = "Why an execution has not started or is not finished"});
    add({.path = "/api/v1/tasks/{id}/explain",
         .handler = ExplainTask,
         .tag = "tasks",
         .summary = "Why a task does not run, or when it does"});
    add({.path = "/api/v1/queues/{name}/explain",
         .handler = ExplainQueue,
         .tag = "queues",
         .summary = "Why what waits in a queue does not start"});
    add({.path = "/api/v1/workers/{id}/explain",
         .handler = ExplainWorker,
         .tag = "workers",
         .summary = "Why a worker gets nothing, or no more"});
}

}  // namespace takt::internal
