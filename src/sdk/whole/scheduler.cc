#include "takt/scheduler.h"

#include <condition_variable>
#include <mutex>
#include <stop_token>

#include "base/log.h"
#include "remote/remote.h"
#include "sdk/calls.h"
#include "sdk/convert.h"
#include "sdk/event_dispatcher.h"
#include "sdk/whole/leader_events.h"
#include "sdk/whole/node_events.h"
#include "sdk/whole/scheduler_config.h"
#include "server/server.h"

namespace takt {
namespace {

using internal::HttpMethod;

// How long Stop waits for event callbacks; about as long as the server takes at most for its own end.
constexpr Duration kEventPatience{5'000};

// Between questions whether somebody leads.
constexpr Duration kReadyPause{20};
// Answered by the leader alone, changes nothing, costs nothing.
constexpr std::string_view kLeaderQuestion = "/api/v1/scheduler/strategy";

// Where the server's thread leaves an answer for the thread that asked.
struct Waiter {
    std::mutex mutex;
    std::condition_variable_any answered;
    std::optional<internal::HttpResponse> response;
};

// One question inside the process costs nothing while it waits; this only bounds what a stop that was
// not told would leave behind.
constexpr Duration kEmbeddedWaitMax{20'000};

internal::Error Unanswered(bool stopped) {
    return {internal::ErrorCode::kUnknown,
            stopped ? "the scheduler was stopped before it answered"
                    : "the scheduler did not answer within call_timeout",
            {}};
}

internal::Result<std::string> BodyOf(internal::HttpResponse response) {
    if (response.status >= 200 && response.status <= 299) return std::move(response.body);
    return std::unexpected(internal::RefusalOf("the scheduler", response.status, response.body));
}

// A reply that is told also if the server drops it.
class SureReply {
  public:
    explicit SureReply(Calls::Answered answered) : answered_(std::move(answered)) {}
    SureReply(SureReply&& other) noexcept : answered_(std::exchange(other.answered_, nullptr)) {}
    SureReply& operator=(SureReply&&) = delete;
    ~SureReply() {
        if (answered_) answered_(std::unexpected(Unanswered(true)));
    }
    void operator()(internal::HttpResponse response) {
        std::exchange(answered_, nullptr)(BodyOf(std::move(response)));
    }

  private:
    Calls::Answered answered_;
};

}  // namespace

// Shared by the calls that are under way; those hold the server, too.
struct Scheduler::Impl final : Calls {
    explicit Impl(SchedulerOptions given)
        : options(std::move(given)),
          events(options.event_queue_size),
          leader_events(
              std::make_shared<LeaderEvents>(events, timers,
                                             [this](std::uint64_t last, internal::HttpReply reply) {
                                                 return WatchEvents(last, std::move(reply));
                                             })),
          node_events(events,
                      [heard = leader_events](internal::Role role) { heard->OnRole(role); }) {}

    const SchedulerOptions options;
    EventDispatcher events;
    const std::shared_ptr<LeaderEvents> leader_events;
    NodeEvents node_events;
    std::mutex lifecycle;  // Start and Stop take turns.

    mutable std::mutex mutex;  // Of what follows.
    std::condition_variable_any wake;
    std::shared_ptr<internal::Server> server;  // While it runs.
    std::stop_source stop;
    std::string node_id;
    std::string url;

    std::shared_ptr<internal::Server> Running() const {
        const std::scoped_lock lock(mutex);
        return server;
    }

    // The server, and the request for it; an error if there is none.
    struct Sending {
        std::shared_ptr<internal::Server> server;
        std::stop_token stopping;
        internal::HttpRequest request;
    };
    internal::Result<Sending> Prepare(Question question) const;

    bool WatchEvents(std::uint64_t last, internal::HttpReply reply) const;
    std::uint64_t AddCallback(std::optional<EventType> type, EventCallback callback);

    void Ask(Question question, Answered answered) override;
    internal::Result<std::string> Call(Question question) override;
    Duration wait_max() const override { return kEmbeddedWaitMax; }
    bool Pause(Duration duration) override;
    void Stop() override { StopThreads(); }
    bool stopped() const override;
    internal::Result<void> AwaitLeader();
    void StopServer();
};

internal::Result<Scheduler::Impl::Sending> Scheduler::Impl::Prepare(Question question) const {
    std::unique_lock state(mutex);
    Sending sending{server, stop.get_token(), {}};
    state.unlock();
    if (!sending.server || sending.stopping.stop_requested()) {
        return internal::Fail(internal::ErrorCode::kUnavailable,
                              "this scheduler does not run; call Start");
    }
    sending.request = {.method = question.method,
                       .body = std::move(question.body),
                       .remote_address = "127.0.0.1",
                       .request_id = "embedded"};
    if (auto parsed = internal::ParseTarget(question.path, sending.request); !parsed) {
        return std::unexpected(parsed.error());
    }
    for (const auto& [name, value] : question.headers) sending.request.headers.Add(name, value);
    if (!options.token.empty()) {
        sending.request.headers.Add("Authorization", "Bearer " + options.token);
    }
    return sending;
}

bool Scheduler::Impl::WatchEvents(std::uint64_t last, internal::HttpReply reply) const {
    Question question{.path = "/api/v1/events"};
    if (last != 0) question.headers.emplace_back("Last-Event-ID", std::to_string(last));
    auto sending = Prepare(std::move(question));
    if (!sending) return false;
    sending->server->Call(std::move(sending->request), std::move(reply));
    return true;
}

std::uint64_t Scheduler::Impl::AddCallback(std::optional<EventType> type, EventCallback callback) {
    const std::uint64_t number = events.Add(type, std::move(callback));
    leader_events->OnWanted();
    return number;
}

void Scheduler::Impl::Ask(Question question, Answered answered) {
    auto sending = Prepare(std::move(question));
    if (!sending) return answered(std::unexpected(sending.error()));
    sending->server->Call(std::move(sending->request), SureReply(std::move(answered)));
}

internal::Result<std::string> Scheduler::Impl::Call(Question question) {
    auto sending = Prepare(std::move(question));
    if (!sending) return std::unexpected(sending.error());
    const auto waiter = std::make_shared<Waiter>();
    sending->server->Call(std::move(sending->request), [waiter](internal::HttpResponse response) {
        const std::scoped_lock lock(waiter->mutex);
        waiter->response = std::move(response);
        waiter->answered.notify_all();
    });
    std::unique_lock lock(waiter->mutex);
    waiter->answered.wait_for(lock, sending->stopping, options.call_timeout,
                              [&] { return waiter->response.has_value(); });
    if (!waiter->response) return std::unexpected(Unanswered(sending->stopping.stop_requested()));
    return BodyOf(std::move(*waiter->response));
}

bool Scheduler::Impl::stopped() const {
    const std::scoped_lock lock(mutex);
    return stop.stop_requested();
}

bool Scheduler::Impl::Pause(Duration duration) {
    std::unique_lock lock(mutex);
    const std::stop_token stopping = stop.get_token();
    wake.wait_for(lock, stopping, duration, [] { return false; });
    return !stopping.stop_requested();
}

// A node that follows is ready when the leader it knows answers: the one that was there before a
// crash does not.
internal::Result<void> Scheduler::Impl::AwaitLeader() {
    const auto end = std::chrono::steady_clock::now() + options.start_timeout;
    while (true) {
        const auto answer = Call({.path = std::string(kLeaderQuestion)});
        if (answer) return {};
        // There is a leader that wants a token of this object's calls; the scheduler runs.
        if (answer.error().code == internal::ErrorCode::kInvalid) return {};
        if (std::chrono::steady_clock::now() > end || !Pause(kReadyPause)) {
            const std::string& trouble = server->node().status().trouble;
            return internal::Fail(internal::ErrorCode::kUnavailable,
                                  "no scheduler leads within start_timeout: " +
                                      (trouble.empty() ? answer.error().detail : trouble));
        }
    }
}

void Scheduler::Impl::StopServer() {
    std::shared_ptr<internal::Server> running;
    {
        const std::scoped_lock lock(mutex);
        running = server;
        stop.request_stop();
    }
    leader_events->Stop();
    if (!running) return;
    running->Stop();
    const std::scoped_lock lock(mutex);
    server.reset();
}

Scheduler::Scheduler(SchedulerOptions options)
    : Scheduler(std::make_shared<Impl>(std::move(options))) {}
Scheduler::Scheduler(std::shared_ptr<Impl> impl) : SchedulerApi(impl), impl_(std::move(impl)) {}
Scheduler::~Scheduler() {
    Stop();
}

Result<void> Scheduler::Start() {
    const std::scoped_lock lock(impl_->lifecycle);
    if (impl_->Running()) {
        return Error{ErrorCode::kConflict, "this scheduler runs already", {}};
    }
    auto config = ConfigOf(impl_->options);
    if (!config) return InOptionNames(ErrorOf(config.error()), impl_->options);
    impl_->events.Start();
    impl_->leader_events->Start();
    auto server = internal::Server::Start(std::move(*config), &impl_->node_events);
    if (!server) {
        impl_->leader_events->Stop();
        impl_->events.Stop(kEventPatience);
        return InOptionNames(ErrorOf(server.error()), impl_->options);
    }
    {
        const std::scoped_lock state(impl_->mutex);
        impl_->server = std::move(*server);
        impl_->stop = std::stop_source();
        impl_->url = impl_->server->url();
        impl_->node_id = impl_->server->node().status().node.text().str();
    }
    impl_->leader_events->OnWanted();
    auto ready = impl_->AwaitLeader();
    if (!ready) {
        impl_->StopServer();
        impl_->events.Stop(kEventPatience);
    }
    return ResultOf(std::move(ready));
}

void Scheduler::Stop() {
    std::unique_lock lock(impl_->lifecycle, std::defer_lock);
    // Another thread may be stopping it already, and wait for the very callback that asks.
    if (!impl_->events.on_own_thread() && !impl_->callbacks.on_own_thread()) {
        lock.lock();
    } else if (!lock.try_lock()) {
        return;
    }
    impl_->StopServer();
    impl_->events.Stop(kEventPatience);
    impl_->Stop();
}

bool Scheduler::running() const {
    return impl_->Running() != nullptr;
}

bool Scheduler::IsLeader() const {
    const std::scoped_lock lock(impl_->mutex);
    // While it stops, its node may be gone before the server is.
    return impl_->server && !impl_->stop.stop_requested() &&
           impl_->server->node().status().role == internal::Role::kLeader;
}

std::string Scheduler::GetNodeId() const {
    const std::scoped_lock lock(impl_->mutex);
    return impl_->node_id.empty() ? impl_->options.node_id : impl_->node_id;
}

std::string Scheduler::url() const {
    const std::scoped_lock lock(impl_->mutex);
    return impl_->url;
}

std::uint64_t Scheduler::RegisterEventCallback(EventType type, EventCallback callback) {
    return impl_->AddCallback(type, std::move(callback));
}

std::uint64_t Scheduler::RegisterEventCallback(EventCallback callback) {
    return impl_->AddCallback(std::nullopt, std::move(callback));
}

void Scheduler::UnregisterEventCallback(std::uint64_t number) {
    impl_->events.Remove(number);
}

std::uint64_t Scheduler::events_dropped() const {
    return impl_->events.dropped();
}

}  // namespace takt
