#include "sdk/whole/leader_events.h"

#include <algorithm>
#include <utility>

#include "http/event_stream.h"
#include "sdk/event_text.h"

namespace takt {
namespace {

// Between two tries: soon after a leader was lost, seldom while nobody is there.
constexpr Duration kHearAgainMin{50};
constexpr Duration kHearAgainMax{2'000};

}  // namespace

// The end of the stream that the server writes to.
class LeaderEvents::Stream final : public internal::EventStream {
  public:
    explicit Stream(std::shared_ptr<LeaderEvents> owner) : owner_(std::move(owner)) {}
    ~Stream() override { End(); }

    bool Write(const internal::ServerSentEvent& event) override {
        return WriteFormatted(internal::FormatEvent(event));
    }

    bool WriteFormatted(std::string_view text) override {
        const std::scoped_lock lock(mutex_);
        if (!owner_) return false;
        {
            const std::scoped_lock state(owner_->mutex_);
            if (!owner_->running_) return false;
        }
        text_.Append(text, [&](const HeardEvent& heard) {
            if (heard.reset) owner_->to_.Tell(MissedEvent());
            if (heard.event)
                owner_->to_.TellHeard(heard.event->serial, [&] { return *heard.event; });
        });
        return true;
    }

    void Close() override { End(); }
    std::uint64_t dropped() const override { return 0; }

  private:
    void End() {
        std::unique_lock lock(mutex_);
        const auto owner = std::exchange(owner_, nullptr);
        lock.unlock();
        if (owner) owner->OnEnded();
    }

    std::mutex mutex_;
    std::shared_ptr<LeaderEvents> owner_;  // Null when it has ended.
    EventText text_;
};

void LeaderEvents::Start() {
    const std::scoped_lock lock(mutex_);
    running_ = true;
    following_ = true;  // Until it hears otherwise.
    listening_ = false;
    pause_ = kHearAgainMin;
}

void LeaderEvents::Stop() {
    const std::scoped_lock lock(mutex_);
    running_ = false;
    following_ = false;
    heard_ = false;
}

void LeaderEvents::OnRole(internal::Role role) {
    std::unique_lock lock(mutex_);
    following_ = role == internal::Role::kFollower;
    // The leader before may have told of something that has not come here.
    const bool missed = role == internal::Role::kLeader && std::exchange(heard_, false);
    lock.unlock();
    if (missed) to_.Tell(MissedEvent());
    OnWanted();
}

void LeaderEvents::OnWanted() {
    const std::scoped_lock lock(mutex_);
    if (!running_ || !following_ || listening_) return;
    // A node that is alone leads in less than that, and need not ask.
    timers_.After(kHearAgainMin, [self = shared_from_this()] { self->Listen(); });
}

void LeaderEvents::Listen() {
    {
        const std::scoped_lock lock(mutex_);
        if (!running_ || !following_ || listening_ || !to_.wanted()) return;
        listening_ = true;
    }
    const bool asked = ask_(to_.last_serial(), [self = shared_from_this()](auto response) {
        self->OnAnswer(std::move(response));
    });
    if (!asked) OnEnded();
}

void LeaderEvents::OnAnswer(internal::HttpResponse response) {
    if (response.status != 200 || !response.event_stream) return OnEnded();
    internal::EventStreamOptions& stream = *response.event_stream;
    std::unique_lock lock(mutex_);
    pause_ = kHearAgainMin;
    heard_ = heard_ || following_;
    const bool wanted = running_ && following_;
    lock.unlock();
    if (wanted) return stream.on_open(std::make_shared<Stream>(shared_from_this()));
    // It leads by now. A stream is opened all the same, and closed: so it is let go.
    stream.on_open(std::make_shared<Stream>(nullptr));
    if (stream.on_close) stream.on_close();
    OnEnded();
}

void LeaderEvents::OnEnded() {
    Duration pause{0};
    {
        const std::scoped_lock lock(mutex_);
        listening_ = false;
        if (!running_) return;
        pause = pause_;
        pause_ = std::min(pause_ * 2, kHearAgainMax);
    }
    timers_.After(pause, [self = shared_from_this()] { self->Listen(); });
}

}  // namespace takt
