#include "takt/worker.h"

#include <atomic>
#include <mutex>
#include <optional>

#include "sdk/convert.h"
#include "sdk/executor_bridge.h"
#include "sdk/own_names.h"
#include "sdk/parts.h"
#include "takt/version.h"
#include "worker/worker_runtime.h"

namespace takt {
namespace {

internal::Result<std::vector<std::string>> ServersOf(const WorkerOptions& options) {
    if (!options.servers.empty() && !options.store_url.empty()) {
        return internal::Fail(internal::ErrorCode::kInvalid,
                              "servers and store_url exclude each other; give one of them",
                              "store_url");
    }
    if (!options.store_url.empty()) return FindByStore(options.store_url);
    if (!options.servers.empty()) return options.servers;
    return std::vector<std::string>{"http://127.0.0.1:8080"};
}

internal::WorkerOptions RuntimeOptionsOf(const WorkerOptions& options) {
    internal::WorkerOptions inner{.space = options.name_space,
                                  .id = options.id,
                                  .name = options.name,
                                  .types = options.types,
                                  .queues = options.queues,
                                  .labels = options.labels,
                                  .capacity = options.max_concurrency,
                                  .weight = options.weight,
                                  .group = options.group,
                                  .version = kVersion,
                                  .token = options.token,
                                  .ca_file = options.ca_file,
                                  .heartbeat = options.heartbeat_interval,
                                  .lease = options.worker_ttl,
                                  .task_timeout = options.task_timeout,
                                  .idle_timeout = options.idle_timeout,
                                  .stop_grace = options.stop_grace,
                                  .drain_timeout = options.drain_timeout,
                                  .buffer_size = options.buffer_size,
                                  .compression = options.enable_compression,
                                  .health_listen = options.health_listen};
    if (options.enable_tracing) inner.trace_endpoint = options.tracing_endpoint;
    if (!options.store_url.empty()) {
        inner.find_servers = [store = options.store_url] { return ListByStore(store); };
    }
    return inner;
}

}  // namespace

struct Worker::Impl {
    explicit Impl(WorkerOptions given) : options(std::move(given)) {}

    const WorkerOptions options;
    std::mutex starting;
    std::atomic<bool> drained = false;
    std::atomic<bool> stopped = false;

    mutable std::mutex mutex;  // Of what follows.
    ExecutorRegistry registry;
    std::vector<std::shared_ptr<internal::TaskHandler>> async_handlers;
    std::optional<Error> mistake;  // The first that was made while it was filled.
    std::shared_ptr<internal::WorkerRuntime> runtime;

    void Note(const Result<void>& added) {
        if (!added && !mistake) mistake = added.error();
    }
    void Add(std::shared_ptr<Executor> executor) {
        const std::scoped_lock lock(mutex);
        if (runtime) {
            mistake = Error{ErrorCode::kConflict, "handlers are added before Start", {}};
            return;
        }
        Note(registry.Add(std::move(executor)));
    }
    std::shared_ptr<internal::WorkerRuntime> Running() const {
        const std::scoped_lock lock(mutex);
        return runtime;
    }
    internal::Result<internal::HandlerRegistry> Handlers() const;
};

internal::Result<internal::HandlerRegistry> Worker::Impl::Handlers() const {
    internal::HandlerRegistry handlers;
    for (auto& executor : registry.All()) {
        auto added = handlers.Add(BridgeTo(std::move(executor)));
        if (!added) return std::unexpected(added.error());
    }
    for (const auto& handler : async_handlers) {
        if (auto added = handlers.Add(handler); !added) return std::unexpected(added.error());
    }
    for (const std::string& type : options.types) {
        if (handlers.empty() || handlers.Find(type)) continue;
        return internal::Fail(internal::ErrorCode::kInvalid,
                              "types names '" + type +
                                  "', and there is no handler for it: its tasks would be sent here "
                                  "and fail",
                              "types");
    }
    if (handlers.empty()) {
        return internal::Fail(internal::ErrorCode::kInvalid,
                              "this worker has nothing to run tasks with: call Handle, "
                              "SetTaskProcessor or AddExecutor before Start");
    }
    return handlers;
}

Worker::Worker(WorkerOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
// The runtime's destructor stops everything at once.
Worker::~Worker() = default;

void Worker::Handle(std::string type, TaskFunction function) {
    const std::scoped_lock lock(impl_->mutex);
    impl_->Note(impl_->registry.Add(std::move(type), std::move(function)));
}

void Worker::HandleAsync(std::string type, AsyncTaskFunction function) {
    const std::scoped_lock lock(impl_->mutex);
    if (!function) {
        return impl_->Note(
            Error{ErrorCode::kInvalid, "the function for '" + type + "' is empty", "function"});
    }
    impl_->async_handlers.push_back(BridgeTo(std::move(type), std::move(function)));
}

void Worker::AddExecutor(std::shared_ptr<Executor> executor) {
    impl_->Add(std::move(executor));
}

void Worker::SetTaskProcessor(std::shared_ptr<TaskProcessor> processor) {
    impl_->Add(processor ? ExecutorOf(std::move(processor)) : nullptr);
}

Result<void> Worker::Start() {
    const std::scoped_lock starting(impl_->starting);
    if (impl_->Running()) {
        return Error{ErrorCode::kConflict, "this worker was started before; make another", {}};
    }
    if (impl_->mistake) return *impl_->mistake;
    auto handlers = impl_->Handlers();
    if (!handlers) return ErrorOf(handlers.error());
    internal::WorkerOptions options = RuntimeOptionsOf(impl_->options);
    auto servers = ServersOf(impl_->options);
    if (!servers) return ErrorOf(servers.error());
    options.servers = std::move(*servers);
    auto runtime = internal::WorkerRuntime::Create(std::move(options), std::move(*handlers));
    if (!runtime) {
        return InOwnNames(ErrorOf(runtime.error()), {{"capacity", "max_concurrency"},
                                                     {"heartbeat", "heartbeat_interval"},
                                                     {"lease", "worker_ttl"},
                                                     {"compression", "enable_compression"},
                                                     {"trace_endpoint", "tracing_endpoint"}});
    }
    if (auto started = (*runtime)->Start(); !started) return ErrorOf(started.error());
    const std::scoped_lock lock(impl_->mutex);
    impl_->runtime = std::move(*runtime);
    return {};
}

// The runtime takes a second Stop for impatience, which Drain twice, or Stop after Drain, is not.
void Worker::Drain() {
    const auto runtime = impl_->Running();
    if (runtime && !impl_->drained.exchange(true)) runtime->Stop();
}

void Worker::Stop() {
    const auto runtime = impl_->Running();
    if (!runtime) return;
    Drain();
    if (impl_->stopped.exchange(true)) runtime->Stop();
    // Why it was turned away, if it was, Wait tells who asks.
    static_cast<void>(runtime->Wait());
}

Result<void> Worker::SetCapacity(std::uint32_t capacity) {
    const auto runtime = impl_->Running();
    if (!runtime) {
        return Error{
            ErrorCode::kConflict, "not started: max_concurrency is what it begins with", {}};
    }
    return ResultOf(runtime->SetCapacity(capacity));
}

Result<void> Worker::Wait() {
    const auto runtime = impl_->Running();
    if (!runtime) return Error{ErrorCode::kConflict, "this worker was not started", {}};
    return ResultOf(runtime->Wait());
}

WorkerStatus Worker::status() const {
    const auto runtime = impl_->Running();
    if (!runtime) return {.id = impl_->options.id};
    const internal::WorkerRuntimeStatus status = runtime->status();
    return {.id = status.id,
            .attached = status.attached,
            .scheduler_node_id = status.node_id,
            .trouble = status.trouble,
            .draining = status.draining,
            .capacity = status.capacity,
            .in_hand = status.in_hand,
            .abandoned = status.abandoned,
            .assigned = status.assigned,
            .succeeded = status.succeeded,
            .failed = status.failed,
            .refused_stale = status.refused_stale,
            .reconnects = status.reconnects,
            .health_port = runtime->health_port()};
}

}  // namespace takt
