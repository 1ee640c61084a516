#include "api/executor_routes.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "api/audit.h"
#include "api/call_body.h"
#include "api/call_flow.h"
#include "api/executor_bounds.h"
#include "api/executor_call.h"
#include "api/executor_json.h"
#include "api/json_read.h"
#include "api/services.h"
#include "links/push_link.h"
#include "model/fire_plan.h"

namespace takt::internal {
namespace {

Error NoSuchExecutor(const WorkerId& id) {
    return {ErrorCode::kNotFound, "there is no executor '" + id.text().str() + "'", "id"};
}

// After a change too, so that the caller sees what became of it.
void SendExecutor(PushLink& link, Call call, WorkerId id, BroughtTasks brought, Error not_there) {
    WithEngine(
        std::move(call),
        [&link, id = std::move(id), brought = std::move(brought)](Call call, const Engine& engine) {
            const auto worker = engine.FindWorker(id);
            if (!worker || worker->row.link != LinkKind::kPush) {
                return call.RefuseAnswer(NoSuchExecutor(id));
            }
            std::string body;
            JsonWriter json(body);
            WriteExecutor(json, *worker, link.View(id), brought);
            call.Json(200, std::move(body));
        },
        std::move(not_there));
}

void List(PushLink& link, Call call) {
    WithEngine(std::move(call), [&link](Call call, const Engine& engine) {
        std::string body;
        JsonWriter json(body);
        json.BeginObject().Key("items").BeginArray();
        for (const WorkerView& worker : engine.Workers()) {
            if (worker.row.link != LinkKind::kPush) continue;
            WriteExecutor(json, worker, link.View(worker.row.id));
        }
        json.EndArray().Key("next_cursor").Null().EndObject();
        call.Json(200, std::move(body));
    });
}

void Get(PushLink& link, Call call) {
    auto id = PathId<WorkerId>(call);
    if (id) SendExecutor(link, std::move(call), std::move(*id), {}, LeaderChanged());
}

// --- Registering --------------------------------------------------------------------------------

Error NotItsTask(const Task& task) {
    return {ErrorCode::kConflict,
            "there is a task '" + task.id.text().str() +
                "' that is not this executor's; delete it or choose another task_name",
            "tasks"};
}

// The conflict of a registration with others: a name that stream workers go by, or a task that is
// not its service's. The role executor brings tasks, and decides about nobody else's.
std::optional<Error> ConflictOf(const Engine& engine, const Registration& registration) {
    const Text& name = registration.worker.group;
    for (const WorkerView& worker : engine.Workers()) {
        if (worker.row.link == LinkKind::kPush) continue;
        if (worker.row.group != name && worker.row.id.text() != name) continue;
        return Error{ErrorCode::kConflict,
                     "'" + name.str() + "' is the id or the group of the worker '" +
                         worker.row.id.text().str() +
                         "', which is no executor; register under another name",
                     "name"};
    }
    for (const TaskRequest& request : registration.tasks) {
        const auto known = engine.FindTask(request.task->id);
        if (known && known->row.task->opt().target != name) return NotItsTask(*request.task);
        const Recurrence& times = *request.task->opt().recurrence;
        // Of a task that has run its course nothing is left to fire; that is no fault of its
        // executor's.
        if (known && known->row.task->opt().recurrence == times) continue;
        const Time now = ReadClocks().wall;
        const auto plan = FirePlan::Make(times, now);
        const auto fires = plan ? plan->CheckFires(now) : Result<void>();
        if (!fires) {
            return Error{ErrorCode::kInvalid,
                         "the task '" + request.task->name.str() + "': " + fires.error().detail,
                         "tasks"};
        }
    }
    return std::nullopt;
}

// Of a registration of which a part is done, what says of the rest that it is not.
Error HalfDone(Error error) {
    if (error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kExhausted) {
        error.code = ErrorCode::kUnknown;
    }
    return error;
}

// Tasks that are being put; `done` is told the first failure, if there was one, when all are.
struct PuttingTasks {
    explicit PuttingTasks(std::move_only_function<void(std::optional<Error>)> then)
        : done(std::move(then)) {}

    std::move_only_function<void(std::optional<Error>)> done;
    std::atomic<std::size_t> waiting = 1;
    std::atomic<bool> some_put = false;
    std::mutex mutex;
    std::optional<Error> failed;

    void OnePut(const Result<Answer>& answer) {
        if (answer) {
            some_put = true;
        } else {
            const std::scoped_lock lock(mutex);
            if (!failed) failed = answer.error();
        }
        Count();
    }
    void Count() {
        if (waiting.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
        if (failed && some_put) failed = HalfDone(std::move(*failed));
        done(std::move(failed));
    }
};

void PutTasks(Node& node, std::vector<TaskRequest> tasks, const ActPtr& by,
              std::move_only_function<void(std::optional<Error>)> done) {
    auto putting = std::make_shared<PuttingTasks>(std::move(done));
    for (TaskRequest& request : tasks) {
        // Somebody may make a task of that id after it was looked for.
        PutTask put{.task = std::move(request.task), .if_own = true, .by = by};
        if (request.enabled) put.paused = !*request.enabled;
        ++putting->waiting;
        node.Ask(std::move(put),
                 [putting](const Result<Answer>& answer) { putting->OnePut(answer); });
    }
    putting->Count();
}

// The service that an executor is known to be of; nothing if there is none of the id.
auto KnownService(const Call& call, const WorkerId& id) {
    return Looked<std::optional<Text>>(call, [id](const Engine& engine) -> std::optional<Text> {
        const auto view = engine.FindWorker(id);
        if (!view || view->row.link != LinkKind::kPush) return std::nullopt;
        return view->row.group;
    });
}

// Sent again, the same registration finishes what an earlier one left out.
Flow<> Register(PushLink& link, Call call) {
    const auto object = ReadObject(call.request().body, call.route().body_bytes_max);
    if (!object) co_return call.RefuseRequest(object.error());
    Services& services = call.services();
    auto registration = ReadRegistration(*object, {.policy = link.policy(),
                                                   .task_limits = services.config.task_limits,
                                                   .texts = services.texts});
    if (!registration) co_return call.RefuseRequest(registration.error());
    const WorkerId id = registration->worker.id;
    std::optional<Problem> no =
        WhyNotYours(call, id, registration->worker.group, {.id = "instance_id", .service = "name"});
    if (no) co_return call.Refuse(*no);
    // Else a token for one service could make another one's executors its own.
    const auto may_take = [&](const Text& service) {
        no = WhyNotYours(call, id, service, {.service = "instance_id"});
        if (no) no->detail += ", which has an executor '" + id.text().str() + "'";
        return !no;
    };
    const auto refuse = [&](const Error& error) {
        no ? call.Refuse(*no) : call.RefuseAnswer(error);
    };
    // Its tasks are its service's: whoever is refused must not have changed them.
    const auto free = co_await Answered<Result<void>>(
        call, [&](auto done) { link.CheckId(registration->worker, std::move(done), may_take); });
    if (!free) co_return refuse(free.error());
    const auto conflict = co_await Looked<std::optional<Error>>(
        call, [&](const Engine& engine) { return ConflictOf(engine, *registration); });
    if (!conflict) co_return call.RefuseAnswer(conflict.error());
    if (*conflict) co_return call.RefuseAnswer(**conflict);
    BroughtTasks brought;
    for (const TaskRequest& request : registration->tasks) {
        brought.emplace_back(request.task->name, request.task->id.text());
    }
    const auto failed = co_await Answered<std::optional<Error>>(call, [&](auto done) {
        PutTasks(services.node, std::move(registration->tasks), ActOf(call), std::move(done));
    });
    if (failed) co_return call.RefuseAnswer(*failed);
    auto registered = co_await Answered<Result<void>>(call, [&](auto done) {
        link.Register(std::move(registration->worker), std::move(done), may_take);
    });
    if (!registered && !brought.empty()) registered.error() = HalfDone(registered.error());
    if (!registered) co_return refuse(registered.error());
    SendExecutor(link, std::move(call), id, std::move(brought), DoneButNotShown());
}

// --- Changing -----------------------------------------------------------------------------------

Flow<> Beat(PushLink& link, Call call) {
    auto id = PathId<WorkerId>(call);
    if (!id) co_return;
    const auto load = ReadBody(call, ExecutorLoadFields());
    if (!load) co_return call.RefuseRequest(load.error());
    if (!call.who().bounds.none()) {
        const auto service = co_await KnownService(call, *id);
        if (!service) co_return call.RefuseAnswer(service.error());
        // One that is not known is told so: then it registers again.
        if (const auto no = *service ? WhyNotYours(call, *id, **service, {}) : std::nullopt) {
            co_return call.Refuse(*no);
        }
    }
    const auto beaten = co_await Answered<Result<void>>(
        call, [&](auto done) { link.Beat(*id, *load, std::move(done)); });
    if (!beaten) co_return call.RefuseAnswer(beaten.error());
    SendExecutor(link, std::move(call), std::move(*id), {}, DoneButNotShown());
}

Flow<> SetStatus(PushLink& link, Call call) {
    auto id = PathId<WorkerId>(call);
    if (!id) co_return;
    auto change = ReadBody(call, ExecutorStatusFields());
    if (!change) co_return call.RefuseRequest(change.error());
    const auto set = co_await Answered<Result<void>>(call, [&](auto done) {
        link.SetStatus({.worker = *id,
                        .status = change->status,
                        .reason = std::move(change->reason),
                        .by = ActOf(call)},
                       std::move(done));
    });
    if (!set) co_return call.RefuseAnswer(set.error());
    SendExecutor(link, std::move(call), std::move(*id), {}, DoneButNotShown());
}

void Remove(PushLink& link, Call call) {
    auto id = PathId<WorkerId>(call);
    if (!id) return;
    ActPtr by = ActOf(call);
    link.Remove(std::move(*id), std::move(by), [call = std::move(call)](Result<void> done) mutable {
        if (!done) return call.RefuseAnswer(done.error());
        call.Send({.status = 204});
    });
}

void AddFleetRoutes(std::vector<Route>& routes) {
    const auto add = [&](Route route, auto handler) {
        route.tag = "executors";
        AddExecutorRoute(routes, std::move(route), handler);
    };
    add({.method = HttpMethod::kPost,
         .path = "/api/v1/executors/register",
         .permission = Permission::kExecutor,
         .summary = "Register an executor with the tasks it brings, or update it",
         .takes = "Registration",
         .gives = "Executor",
         .repeatable = true},
        Register);
    add({.method = HttpMethod::kPost,
         .path = "/api/v1/executors/{id}/heartbeat",
         .permission = Permission::kExecutor,
         .summary = "Say that an executor lives, and how busy it is",
         .takes = "ExecutorLoad",
         .body_optional = true,
         .gives = "Executor",
         .routine = true,
         .repeatable = true},
        Beat);
    add({.method = HttpMethod::kGet,
         .path = "/api/v1/executors",
         .permission = Permission::kViewer,
         .summary = "List executors",
         .gives = "ExecutorList"},
        List);
    add({.method = HttpMethod::kGet,
         .path = "/api/v1/executors/{id}",
         .permission = Permission::kViewer,
         .summary = "Get an executor",
         .gives = "Executor"},
        Get);
    add({.method = HttpMethod::kPut,
         .path = "/api/v1/executors/{id}/status",
         .permission = Permission::kOperator,
         .summary = "Put an executor online, into maintenance or offline",
         .takes = "ExecutorStatus",
         .gives = "Executor"},
        SetStatus);
    add({.method = HttpMethod::kDelete,
         .path = "/api/v1/executors/{id}",
         .permission = Permission::kOperator,
         .summary = "Remove an executor; what it runs is given to others, its tasks stay",
         .success = 204},
        Remove);
}

}  // namespace

std::vector<Route> ExecutorRoutes() {
    std::vector<Route> routes;
    AddFleetRoutes(routes);
    AddExecutorCallbackRoutes(routes);
    return routes;
}

}  // namespace takt::internal
