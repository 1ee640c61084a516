#include "sdk/records.h"

#include "model/worker.h"

namespace takt {
namespace {

std::optional<ExecutionError> ReadError(const JsonFields& fields) {
    const internal::JsonView* error = fields.Find("error");
    if (!error || error->is_null()) return std::nullopt;
    const JsonFields inner(*error);
    return ExecutionError{.code = inner.Text("code"),
                          .message = inner.Text("message"),
                          .handler_code = static_cast<std::int32_t>(inner.Integer("handler_code"))};
}

std::vector<Attempt> ReadAttempts(const JsonFields& fields) {
    return ReadList<Attempt>(fields, "attempts", [](const JsonFields& attempt) {
        return Attempt{.attempt = attempt.Count<std::uint32_t>("attempt"),
                       .worker_id = attempt.Text("worker_id"),
                       .started_at = attempt.When("started_at"),
                       .finished_at = attempt.When("finished_at"),
                       .status = attempt.Text("status"),
                       .error = ReadError(attempt)};
    });
}

std::optional<Progress> ReadProgress(const JsonFields& fields) {
    const internal::JsonView* progress = fields.Find("progress");
    if (!progress || progress->is_null()) return std::nullopt;
    const JsonFields inner(*progress);
    return Progress{.fraction = inner.Number("percent") / 100,
                    .message = inner.Text("message"),
                    .at = inner.When("at")};
}

}  // namespace

Execution ReadExecution(const JsonFields& fields) {
    Execution execution;
    execution.id = fields.Text("id");
    execution.task_id = fields.Text("task_id");
    execution.task_name = fields.Text("task_name");
    execution.type = fields.Text("type");
    execution.queue = fields.Text("queue");
    execution.priority = fields.Count<int>("priority");
    execution.status = ParseStatus(fields.Text("status")).value_or(Status::kPending);
    execution.origin = fields.Text("origin");
    execution.attempt = fields.Count<std::uint32_t>("attempt");
    execution.failures = fields.Count<std::uint32_t>("failures");
    execution.losses = fields.Count<std::uint32_t>("losses");
    execution.worker_id = fields.Text("worker_id");
    execution.payload = fields.Raw("parameters");
    execution.created_at = fields.When("created_at").value_or(Time{});
    execution.scheduled_at = fields.When("scheduled_at").value_or(Time{});
    execution.started_at = fields.When("started_at");
    execution.finished_at = fields.When("finished_at");
    execution.result = fields.Raw("result");
    execution.message = fields.Text("message");
    execution.error = ReadError(fields);
    execution.parent_id = fields.Text("parent_id");
    execution.step = fields.Text("step");
    const JsonFields shard = fields.Inner("shard");
    execution.shard_index = shard.Count<std::uint32_t>("index");
    execution.shard_total = shard.Count<std::uint32_t>("total");
    execution.metadata = fields.Pairs("metadata");
    execution.attempts = ReadAttempts(fields);
    execution.progress = ReadProgress(fields);
    execution.trace_id = fields.Text("trace_id");
    return execution;
}

WorkerRecord ReadWorker(const JsonFields& fields) {
    const JsonFields load = fields.Inner("load");
    WorkerRecord worker;
    worker.id = fields.Text("id");
    worker.name = fields.Text("name");
    const auto status = internal::ParseWorkerStatus(fields.Text("status"));
    worker.state = static_cast<WorkerState>(status.value_or(internal::WorkerStatus::kOffline));
    worker.state_reason = fields.Text("status_reason");
    worker.link = fields.Text("link");
    worker.connected = fields.Bool("connected");
    worker.group = fields.Text("group");
    worker.types = fields.Texts("types");
    worker.queues = fields.Texts("queues");
    worker.labels = fields.Pairs("labels");
    worker.capacity = fields.Count<std::uint32_t>("capacity");
    worker.capacity_own = fields.Count<std::uint32_t>("capacity_own");
    const auto set = fields.Count<std::uint32_t>("capacity_set");
    if (set != 0) worker.capacity_set = set;
    worker.weight = fields.Count<std::uint32_t>("weight");
    worker.running = fields.Count<std::uint32_t>("running");
    worker.address = fields.Text("address");
    worker.version = fields.Text("version");
    worker.joined_at = fields.When("joined_at");
    worker.seen_at = fields.When("seen_at");
    worker.load = {.cpu = load.Number("cpu"),
                   .memory = load.Number("memory"),
                   .network_in = load.Number("network_in"),
                   .network_out = load.Number("network_out"),
                   .connections = load.Count<std::uint32_t>("connections")};
    return worker;
}

Metrics ReadMetrics(const JsonFields& fields) {
    const auto count = [&](std::string_view name) { return fields.Count<std::uint64_t>(name); };
    return {.tasks_total = count("tasks_total"),
            .tasks_pending = count("tasks_pending"),
            .tasks_scheduled = count("tasks_scheduled"),
            .tasks_running = count("tasks_running"),
            .tasks_retrying = count("tasks_retrying"),
            .tasks_completed = count("tasks_completed"),
            .tasks_failed = count("tasks_failed"),
            .tasks_cancelled = count("tasks_cancelled"),
            .workers_online = count("workers_online"),
            .workers_offline = count("workers_offline"),
            .worker_utilization = fields.Number("worker_utilization"),
            .task_throughput = fields.Number("task_throughput"),
            .scheduler_uptime = std::chrono::seconds(fields.Integer("scheduler_uptime"))};
}

SchedulerStatus ReadStatus(const JsonFields& fields) {
    const JsonFields leader = fields.Inner("leader");
    const JsonFields store = fields.Inner("store");
    SchedulerStatus status;
    status.node_id = fields.Text("node_id");
    status.role = fields.Text("role");
    status.is_leader = fields.Bool("is_leader");
    status.leader_node_id = leader.Text("node_id");
    status.leader_address = leader.Text("address");
    status.epoch = fields.Count<std::uint64_t>("epoch");
    status.version = fields.Text("version");
    status.started_at = fields.When("started_at").value_or(Time{});
    status.uptime = std::chrono::seconds(fields.Integer("uptime_seconds"));
    status.store = store.Text("description");
    status.store_reachable = store.Bool("reachable");
    status.trouble = store.Text("trouble");
    status.nodes = ReadList<SchedulerNode>(fields, "nodes", [](const JsonFields& node) {
        return SchedulerNode{.node_id = node.Text("node_id"),
                             .address = node.Text("address"),
                             .version = node.Text("version"),
                             .started_at = node.When("started_at")};
    });
    return status;
}

}  // namespace takt
