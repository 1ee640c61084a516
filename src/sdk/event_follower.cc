#include "sdk/event_follower.h"

#include <algorithm>
#include <atomic>
#include <charconv>

#include "base/json.h"
#include "base/log.h"
#include "sdk/json_fields.h"

namespace takt {
namespace {

constexpr std::size_t kEventsMax = 10'000;
// Between two tries: soon after a leader was lost, seldom while nobody is there.
constexpr Duration kListenAgainMin{50};
constexpr Duration kListenAgainMax{2'000};
constexpr std::size_t kComplaintBytesMax = 64 << 10;

// "data: …" of an event as it is sent.
std::string_view FieldOf(std::string_view event, std::string_view name) {
    while (!event.empty()) {
        const std::size_t end = std::min(event.find('\n'), event.size());
        const std::string_view line = event.substr(0, end);
        if (line.starts_with(name)) return line.substr(name.size());
        event.remove_prefix(std::min(end + 1, event.size()));
    }
    return {};
}

std::optional<Event> ReadEvent(std::string_view kind, std::string_view data, std::uint64_t serial) {
    const auto type = ParseEventType(kind);
    // Of a later version: nobody can have asked for it by name.
    if (!type || !internal::CheckJson(data, {.bytes_max = data.size()})) return std::nullopt;
    const JsonFields fields{internal::JsonView(data)};
    Event event{.serial = serial, .type = *type};
    event.at = fields.When("at").value_or(Time());
    event.task_id = fields.Text("task_id");
    event.execution_id = fields.Text("execution_id");
    event.worker_id = fields.Text("worker_id");
    event.attempt = fields.Count<std::uint32_t>("attempt");
    event.detail = *type == EventType::kAlert ? std::string(data) : fields.Text("detail");
    return event;
}

}  // namespace

// Takes the stream apart. On the remote's thread, but for last_id, which nobody reads meanwhile.
class EventFollower::Reader final : public internal::HttpAnswerSink {
  public:
    explicit Reader(EventDispatcher& to) : to_(to) {}

    bool OnHead(const internal::HttpAnswer& head) override {
        rest_.clear();
        good_ = head.status == 200;
        // Nothing came before the connection broke: what happened since cannot be asked for.
        if (good_ && heard_before_ && last_id_.empty()) TellMissed();
        heard_before_ = heard_before_ || good_;
        return true;
    }

    bool OnPiece(std::string_view piece) override {
        rest_.append(piece);
        if (!good_) return rest_.size() < kComplaintBytesMax;
        std::size_t begin = 0;
        for (std::size_t end = 0; (end = rest_.find("\n\n", begin)) != rest_.npos;) {
            OnEvent(std::string_view(rest_).substr(begin, end - begin));
            begin = end + 2;
        }
        rest_.erase(0, begin);
        return true;
    }

    const std::string& last_id() const { return last_id_; }
    bool good() const { return good_; }
    const std::string& complaint() const { return rest_; }  // If it was no good answer.

  private:
    void OnEvent(std::string_view text) {
        const std::string_view id = FieldOf(text, "id: ");
        const std::string_view kind = FieldOf(text, "event: ");
        if (!id.empty()) last_id_ = id;
        if (kind == "reset") return TellMissed();
        std::uint64_t serial = 0;
        std::from_chars(id.data(), id.data() + id.size(), serial);
        if (auto event = ReadEvent(kind, FieldOf(text, "data: "), serial)) {
            to_.Tell(std::move(*event));
        }
    }

    void TellMissed() {
        to_.Tell({.type = EventType::kMissed,
                  .at = Now(),
                  .detail = "events were missed; read the state again"});
    }

    EventDispatcher& to_;
    std::string rest_;     // Of an event that has not come whole.
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
