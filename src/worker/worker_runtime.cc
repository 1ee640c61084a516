#include "worker/worker_runtime.h"

#include <unistd.h>

#include <array>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "base/check.h"
#include "base/id.h"
#include "base/random.h"
#include "worker/health.h"
#include "worker/worker_core.h"

namespace takt::internal {
namespace {

// Host name and a random part: workers of one image must not share an id.
std::string MakeId() {
    std::array<char, 33> host{};
    std::string id = gethostname(host.data(), host.size() - 1) == 0 ? host.data() : "worker";
    for (char& letter : id) {
        if (!IsValidId(std::string_view(&letter, 1))) letter = '-';
    }
    if (id.empty() || !IsValidId(id)) id = "worker";
    Random random(NewRandomSeed());
    return id + "-" + SerialText(random.Next() >> 20).substr(4);
}

// A type without a handler would be taken from workers that have one, and fail for good.
Result<void> CheckTypes(const std::vector<std::string>& types, const HandlerRegistry& handlers) {
    for (const std::string& type : types) {
        if (handlers.Find(type)) continue;
        std::string known;
        for (const std::string& has : handlers.Types()) {
            known += (known.empty() ? "" : ", ") + has;
        }
        return Fail(
            ErrorCode::kInvalid,
            "types names '" + type + "', for which this worker has no handler; it has " + known,
            "types");
    }
    return {};
}

}  // namespace

struct WorkerRuntime::State {
    WorkerOptions options;
    std::shared_ptr<const HandlerRegistry> handlers;
    boost::asio::io_context loop{1};
    std::unique_ptr<HttpClient> client;
    std::unique_ptr<WorkerCore> core;
    std::unique_ptr<HttpServer> health;
    std::thread thread;

    mutable std::mutex mutex;
    std::condition_variable changed;
    bool started = false;
    std::optional<Result<void>> outcome;
    std::string node_id;
    std::string trouble = "not connected yet";
    bool joining = false;
};

WorkerRuntime::WorkerRuntime(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<WorkerRuntime>> WorkerRuntime::Create(WorkerOptions options,
                                                             HandlerRegistry handlers) {
    if (auto fine = CheckWorkerOptions(options); !fine) return std::unexpected(fine.error());
    if (handlers.empty()) {
        return Fail(ErrorCode::kInvalid, "a worker needs at least one handler", "handlers");
    }
    if (auto fine = CheckTypes(options.types, handlers); !fine) {
        return std::unexpected(fine.error());
    }
    auto state = std::make_unique<State>();
    state->options = std::move(options);
    if (state->options.id.empty()) state->options.id = MakeId();
    state->handlers = std::make_shared<const HandlerRegistry>(std::move(handlers));
    auto client =
        HttpClient::Create(state->loop, {.connect_timeout = state->options.connect_timeout,
                                         .tls = {.ca_file = state->options.ca_file},
                                         .user_agent = "takt-worker"});
    if (!client) return std::unexpected(client.error());
    state->client = std::move(*client);

    State* raw = state.get();
    auto user = std::move(raw->options.on_event);
    raw->options.on_event = [raw, user](WorkerEvent event, std::string_view detail) {
        {
            const std::scoped_lock lock(raw->mutex);
            if (event == WorkerEvent::kAttached) raw->node_id = detail;
            if (event == WorkerEvent::kDisconnected) raw->trouble = detail;
        }
        if (user) user(event, detail);
    };
    std::shared_ptr<RunTracer> tracer;
    if (!raw->options.trace_endpoint.empty()) {
        auto started =
            RunTracer::Start(raw->options.trace_endpoint, raw->options.id, raw->options.space);
        if (!started) return std::unexpected(started.error());
        tracer = std::move(*started);
    }
    raw->core = std::make_unique<WorkerCore>(raw->loop, *raw->client, raw->options, raw->handlers,
                                             std::move(tracer), [raw](Result<void> outcome) {
                                                 const std::scoped_lock lock(raw->mutex);
                                                 raw->outcome = std::move(outcome);
                                                 raw->loop.stop();
                                                 raw->changed.notify_all();
                                             });
    return std::unique_ptr<WorkerRuntime>(new WorkerRuntime(std::move(state)));
}

WorkerRuntime::~WorkerRuntime() {
    if (state_->started) {
        Stop();
        Stop();
        static_cast<void>(Wait());
    }
    state_->health.reset();
    state_->core.reset();
    state_->client.reset();
}

Result<void> WorkerRuntime::Start() {
    TAKT_CHECK(!state_->started);
    if (!state_->options.health_listen.empty()) {
        auto health = ServeWorkerHealth(state_->loop, state_->options.health_listen,
                                        [this] { return status(); });
        if (!health) return std::unexpected(health.error());
        state_->health = std::move(*health);
    }
    state_->started = true;
    boost::asio::post(state_->loop, [core = state_->core.get()] { core->Start(); });
    state_->thread = std::thread([state = state_.get()] {
        const auto work = boost::asio::make_work_guard(state->loop);
        state->loop.run();
    });
    return {};
}

void WorkerRuntime::Stop() {
    boost::asio::post(state_->loop, [core = state_->core.get()] { core->Stop(); });
}

Result<void> WorkerRuntime::SetCapacity(std::uint32_t capacity) {
    WorkerOptions wanted = state_->options;
    wanted.capacity = capacity;
    if (auto fine = CheckWorkerOptions(wanted); !fine) return fine;
    boost::asio::post(state_->loop,
                      [core = state_->core.get(), capacity] { core->SetCapacity(capacity); });
    return {};
}

Result<void> WorkerRuntime::Wait() {
    std::unique_lock lock(state_->mutex);
    TAKT_CHECK(state_->started);
    state_->changed.wait(lock, [&] { return state_->outcome.has_value(); });
    if (!std::exchange(state_->joining, true)) {
        lock.unlock();
        state_->thread.join();
        lock.lock();
    }
    return *state_->outcome;
}

WorkerRuntimeStatus WorkerRuntime::status() const {
    const WorkerCore::Counters& counters = state_->core->counters();
    WorkerRuntimeStatus status{.id = state_->options.id,
                               .attached = counters.attached,
                               .draining = counters.draining,
                               .capacity = counters.capacity,
                               .in_hand = counters.in_hand,
                               .abandoned = counters.abandoned,
                               .assigned = counters.assigned,
                               .succeeded = counters.succeeded,
                               .failed = counters.failed,
                               .refused_stale = counters.refused_stale,
                               .reconnects = counters.reconnects,
                               .heartbeat_delay = Duration(counters.heartbeat_delay_ms)};
    const std::scoped_lock lock(state_->mutex);
    if (status.attached) {
        status.node_id = state_->node_id;
    } else {
        status.trouble = state_->trouble;
    }
    return status;
}

std::uint16_t WorkerRuntime::health_port() const {
    return state_->health ? state_->health->port() : 0;
}

}  // namespace takt::internal
