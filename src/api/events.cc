// Events: a stream of what happens, as it happens.
#include <charconv>

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
    if (const auto worker = request.Query("worker_id")) {
        auto id = WorkerId::Parse(*worker, "worker_id");
        if (!id) return std::unexpected(id.error());
        filter.worker = std::move(*id);
    }
    return filter;
}

// What browsers send when they come back; a number that is none of ours starts with a reset.
std::optional<Serial> LastSeen(const HttpRequest& request) {
    std::string text(request.headers.Find("Last-Event-ID").value_or(""));
    if (text.empty()) text = request.Query("last_event_id").value_or("");
    if (text.empty()) return std::nullopt;
    Serial serial = 0;
    std::from_chars(text.data(), text.data() + text.size(), serial);
    return serial;
}

// A stream cannot be passed on like an answer; its client is sent to the leader instead.
void SendToLeader(Call call, const NodeStatus& status) {
    if (!status.leader || status.leader->node == status.node || status.leader->address.empty()) {
        return call.Refuse({.status = 503,
                            .code = "no_leader",
                            .detail = "no scheduler leads at the moment; try again in a second",
                            .retry_after_seconds = 1});
    }
    HttpResponse response;
    response.status = 307;
    response.headers.emplace_back("Location", status.leader->address.str() + call.request().target);
    call.Send(std::move(response));
}

void WatchEvents(Call call) {
    auto filter = ReadFilter(call.request());
    if (!filter) return call.RefuseRequest(filter.error());
    const NodeStatus status = call.services().node.status();
    if (status.role != Role::kLeader) return SendToLeader(std::move(call), status);
    auto services = call.shared_services();
    const auto number = std::make_shared<std::uint64_t>(0);
    HttpResponse response;
    response.event_stream = std::make_shared<EventStreamOptions>();
    response.event_stream->on_open =
        [services, number, filter = std::move(*filter),
         last = LastSeen(call.request())](std::shared_ptr<EventStream> stream) {
            *number = services->events.Watch(filter, last, stream);
            if (*number == 0) stream->Close();
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
                   {"worker_id", "Of this worker."},
                   {"last_event_id", "For clients that cannot set the header."}},
         .gives_type = "text/event-stream"});
}

}  // namespace takt::internal
