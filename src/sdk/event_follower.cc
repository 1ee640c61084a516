#include "sdk/event_follower.h"

#include <algorithm>
#include <atomic>

#include "base/log.h"
#include "sdk/event_text.h"

namespace takt {
namespace {

constexpr std::size_t kEventsMax = 10'000;
// Between two tries: soon after a leader was lost, seldom while nobody is there.
constexpr Duration kListenAgainMin{50};
constexpr Duration kListenAgainMax{2'000};
constexpr std::size_t kComplaintBytesMax = 64 << 10;

}  // namespace

// Takes the stream apart. On the remote's thread, but for last_id, which nobody reads meanwhile.
class EventFollower::Reader final : public internal::HttpAnswerSink {
  public:
    explicit Reader(EventDispatcher& to) : to_(to) {}

    bool OnHead(const internal::HttpAnswer& head) override {
        rest_.clear();
        text_.Clear();
        good_ = head.status == 200;
        // Nothing came before the connection broke: what happened since cannot be asked for.
        if (good_ && heard_before_ && last_id_.empty()) TellMissed();
        heard_before_ = heard_before_ || good_;
        return true;
    }

    bool OnPiece(std::string_view piece) override {
        if (good_) {
            text_.Append(piece, [this](const HeardEvent& heard) { OnEvent(heard); });
            return true;
        }
        rest_.append(piece);
        return rest_.size() < kComplaintBytesMax;
    }

    const std::string& last_id() const { return last_id_; }
    bool good() const { return good_; }
    const std::string& complaint() const { return rest_; }  // If it was no good answer.

  private:
    void OnEvent(const HeardEvent& heard) {
        if (!heard.id.empty()) last_id_ = heard.id;
        if (heard.reset) return TellMissed();
        if (heard.event) to_.Tell(*heard.event);
    }

    void TellMissed() { to_.Tell(MissedEvent()); }

    EventDispatcher& to_;
    EventText text_;
    std::string rest_;     // Of an answer that is no stream.
    std::string last_id_;  // Of the last event seen.
    bool good_ = false;
    bool heard_before_ = false;
};

EventFollower::EventFollower(internal::RemoteOptions options)
    : options_(std::move(options)),
      events_(kEventsMax),
      reader_(std::make_shared<Reader>(events_)),
      pause_(kListenAgainMin) {}

EventFollower::~EventFollower() {
    std::unique_ptr<internal::AsyncRemote> remote;
    {
        const std::scoped_lock lock(mutex_);
        remote = std::move(remote_);
    }
    // Its thread tells of nothing after this, and no timer finds it any more.
    remote.reset();
    timers_.Stop(Duration(5'000));
    events_.Stop(Duration(5'000));
}

std::uint64_t EventFollower::Add(std::optional<EventType> type, EventCallback callback) {
    const std::uint64_t number = events_.Add(type, std::move(callback));
    std::call_once(begun_, [this] { Begin(); });
    return number;
}

void EventFollower::Begin() {
    events_.Start();
    auto remote = internal::AsyncRemote::Open(options_);
    if (!remote) {
        internal::Log(internal::LogLevel::kError, "sdk", "cannot listen for events",
                      {{"error", remote.error().detail}});
        return;
    }
    const std::scoped_lock lock(mutex_);
    remote_ = std::move(*remote);
    timers_.Post([this] { Listen(); });
}

void EventFollower::Listen() {
    const std::scoped_lock lock(mutex_);
    if (!remote_) return;
    remote_->Stream(
        "/api/v1/events", reader_->last_id(), reader_,
        [this](const internal::Result<internal::HttpAnswer>& ended) { OnEnded(ended); });
}

void EventFollower::OnEnded(const internal::Result<internal::HttpAnswer>& ended) {
    if (!ended && ended.error().code == internal::ErrorCode::kCancelled) return;
    const std::scoped_lock lock(mutex_);
    if (ended && reader_->good()) {
        pause_ = kListenAgainMin;
        trouble_.clear();
    } else {
        std::string why =
            ended ? internal::RefusalOf("the scheduler", ended->status, reader_->complaint()).detail
                  : ended.error().detail;
        if (why != trouble_) {
            internal::Log(internal::LogLevel::kWarning, "sdk", "cannot hear events for now",
                          {{"error", why}});
        }
        trouble_ = std::move(why);
    }
    timers_.After(pause_, [this] { Listen(); });
    pause_ = std::min(pause_ * 2, kListenAgainMax);
}

}  // namespace takt
