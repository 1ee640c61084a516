#include "takt/client.h"

#include <future>

#include "remote/async_remote.h"
#include "sdk/calls.h"
#include "sdk/event_follower.h"
#include "takt/version.h"

namespace takt {
namespace {

constexpr Duration kRetryPause{200};
// The answer to a question that waited comes at once when its wait is over.
constexpr Duration kAnswerGrace{5'000};
// One question waits no longer: a server that hangs is left for the next one.
constexpr Duration kRemoteWaitMax{10'000};

internal::Error ClientStopped() {
    return {internal::ErrorCode::kCancelled, "this client was destroyed", {}};
}

internal::RemoteOptions RemoteOptionsOf(const ClientOptions& options) {
    return {.servers = options.servers,
            .space = options.name_space,
            .token = options.token,
            .ca_file = options.ca_file,
            .user_agent = std::string("takt-cpp/") + kVersion,
            .timeout = options.timeout,
            .token_advice = ": ClientOptions::token gives one"};
}

class RemoteCalls final : public Calls, public std::enable_shared_from_this<RemoteCalls> {
  public:
    explicit RemoteCalls(ClientOptions options)
        : options_(std::move(options)),
          remote_(internal::AsyncRemote::Open(RemoteOptionsOf(options_))) {}

    void Ask(Question question, Answered answered) override {
        const auto end = std::chrono::steady_clock::now() + options_.patience;
        AskUntil(std::move(question), end, std::move(answered));
    }

    internal::Result<std::string> Call(Question question) override {
        std::promise<internal::Result<std::string>> answer;
        Ask(std::move(question),
            [&](internal::Result<std::string> given) { answer.set_value(std::move(given)); });
        return answer.get_future().get();
    }

    Duration wait_max() const override {
        const bool full = waits_ >= internal::AsyncRemote::kWaitsMax;
        return full ? Duration(0) : std::min<Duration>(kRemoteWaitMax, options_.timeout);
    }

    std::shared_ptr<Calls> MakeAnother() override {
        return std::make_shared<RemoteCalls>(options_);
    }

    bool Pause(Duration duration) override {
        std::unique_lock lock(mutex_);
        return !changed_.wait_for(lock, duration, [&] { return stopped_.load(); });
    }

    void Stop() override {
        std::shared_ptr<internal::AsyncRemote> remote;
        {
            const std::scoped_lock lock(mutex_);
            stopped_ = true;
            changed_.notify_all();
            if (remote_) remote = std::exchange(*remote_, nullptr);
        }
        // A call that is being handed over may hold it too.
        if (remote) remote->Stop();
        StopThreads();
    }
    bool stopped() const override { return stopped_; }

  private:
    using Until = std::chrono::steady_clock::time_point;

    // The way there, held while a call is handed over to it.
    internal::Result<std::shared_ptr<internal::AsyncRemote>> Remote() {
        const std::scoped_lock lock(mutex_);
        if (stopped_) return std::unexpected(ClientStopped());
        return remote_;
    }

    void AskUntil(Question question, Until end, Answered answered) {
        const auto remote = Remote();
        if (!remote) return answered(std::unexpected(remote.error()));
        internal::RemoteQuestion asked{.method = question.method,
                                       .path = question.path,
                                       .body = question.body,
                                       .headers = question.headers};
        if (question.wait > Duration(0)) {
            asked.waits = true;
            asked.timeout = question.wait + std::min<Duration>(options_.timeout, kAnswerGrace);
            ++waits_;
        }
        (*remote)->Call(
            std::move(asked), [self = shared_from_this(), question = std::move(question), end,
                               answered = std::move(answered)](auto answer) mutable {
                self->OnAnswer(std::move(question), end, std::move(answered), std::move(answer));
            });
    }

    void OnAnswer(Question question, Until end, Answered answered,
                  internal::Result<internal::RemoteAnswer> answer) {
        if (question.wait > Duration(0)) --waits_;
        if (answer) return answered(std::move(answer->body));
        const bool again = answer.error().code == internal::ErrorCode::kUnavailable &&
                           std::chrono::steady_clock::now() + kRetryPause < end && !stopped_;
        if (!again) return answered(std::unexpected(answer.error()));
        timers.After(kRetryPause, [self = shared_from_this(), question = std::move(question), end,
                                   answered = std::move(answered)]() mutable {
            self->AskUntil(std::move(question), end, std::move(answered));
        });
    }

    const ClientOptions options_;
    std::mutex mutex_;  // Of what follows, but for those that are atomic.
    std::condition_variable changed_;
    internal::Result<std::shared_ptr<internal::AsyncRemote>> remote_;
    std::atomic<bool> stopped_ = false;
    std::atomic<std::size_t> waits_ = 0;  // Under way.
};

}  // namespace

struct Client::Impl {
    EventFollower events;
};

Client::Client(ClientOptions options)
    : SchedulerApi(std::make_shared<RemoteCalls>(options)),
      impl_(new Impl{EventFollower(RemoteOptionsOf(options))}) {}
Client::~Client() = default;

std::uint64_t Client::RegisterEventCallback(EventType type, EventCallback callback) {
    return impl_->events.Add(type, std::move(callback));
}

std::uint64_t Client::RegisterEventCallback(EventCallback callback) {
    return impl_->events.Add(std::nullopt, std::move(callback));
}

void Client::UnregisterEventCallback(std::uint64_t number) {
    impl_->events.Remove(number);
}

std::uint64_t Client::events_dropped() const {
    return impl_->events.dropped();
}

}  // namespace takt
