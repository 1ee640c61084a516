// Events: a stream of what happens, as it happens.
#include "api/event_hub.h"
#include "api/json_read.h"
#include "api/resources.h"
#include "api/services.h"

namespace takt::internal {
namespace {

Result<EventFilter> ReadFilter(const HttpRequest& request) {
    EventFilter filter;
    if (const auto types = request.Query("type")) {
        const auto parsed = ParseEventTypes(*types);
        if (!parsed) {
            return BadField("type", "must be names such as task.failed, worker.joined or task");
        }
        filter.types = *parsed;
    }
    if (const auto task = request.Query("task_id")) {
        auto id = TaskId::Parse(*task, "task_id");
        if (!id) return std::unexpected(id.error());
        filter.task = std::move(*id);
    }
    if (const auto run = request.Query("run_id")) {
        auto id = ExecutionId::Parse(*run, "run_id");
        if (!id) return std::unexpected(id.error());
        filter.run = std::move(*id);
    }
    if (const auto worker = request.Query("worker_id")) {
        auto id = WorkerId::Parse(*worker, "worker_id");
        if (!id) return std::unexpected(id.error());
        filter.worker = std::move(*id);
    }
    return filter;
}

// Which events come first, and whether others follow.
struct PastWish {
    bool first = false;
    bool only = false;
};

Result<PastWish> ReadPast(const HttpRequest& request) {
    const auto past = request.Query("past");
    if (!past) return PastWish{};
    if (*past != "all" && *past != "only") return BadField("past", "must be all or only");
    return PastWish{.first = true, .only = *past == "only"};
}

void WatchEvents(Call call) {
    auto filter = ReadFilter(call.request());
    if (!filter) return call.RefuseRequest(filter.error());
    const auto past = ReadPast(call.request());
    if (!past) return call.RefuseRequest(past.error());
    const NodeStatus status = call.services().node.status();
    auto services = call.shared_services();
    if (status.role != Role::kLeader)
        return PassOn(std::move(call), status, services->gate->stream);
    const auto number = std::make_shared<std::uint64_t>(0);
    HttpResponse response;
    response.event_stream = std::make_shared<EventStreamOptions>();
    response.event_stream->on_open =
        [services, number, filter = std::move(*filter), past = *past,
         last = LastEventSeen(call.request())](std::shared_ptr<EventStream> stream) {
            *number = past.first && !last ? services->events.WatchPast(filter, stream)
                                          : services->events.Watch(filter, last, stream);
            if (*number == 0 || past.only) stream->Close();
        };
    response.event_stream->on_close = [services, number] { services->events.Unwatch(*number); };
    call.Send(std::move(response));
}

}  // namespace

void AddEventRoutes(std::vector<Route>& routes) {
    routes.push_back(
        {.method = HttpMethod::kGet,
         .path = "/api/v1/events",
         .permission = Permission::kViewer,
         .handler = WatchEvents,
         .tag = "events",
         .summary = "Server-sent events; Last-Event-ID resumes, `reset` tells of a gap",
         .query = {{"type", "Names or groups, separated by commas: task.failed,worker."},
                   {"task_id", "Of this task."},
                   {"run_id", "Of this run and all executions in it."},
                   {"worker_id", "Of this worker."},
                   {"past", "all: first the newest 500 that are kept; only: these, and no others."},
                   {"last_event_id", "For clients that cannot set the header."}},
         .gives_type = "text/event-stream"});
}

}  // namespace takt::internal
