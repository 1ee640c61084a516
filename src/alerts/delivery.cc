#include "alerts/delivery.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/log.h"

namespace takt::internal {
namespace {

constexpr std::array<Duration, 5> kRetryDelays = {std::chrono::seconds(1), std::chrono::seconds(5),
                                                  std::chrono::seconds(30), std::chrono::minutes(2),
                                                  std::chrono::minutes(10)};

constexpr Duration kWebhookTimeout = std::chrono::seconds(10);
constexpr std::size_t kWebhookAnswerMax = 64 << 10;

// A call is over when the last who holds the pointer lets go.
std::shared_ptr<Action> WhenAllAreDone(Action done) {
    return {new Action(std::move(done)), [](Action* action) {
                (*action)();
                delete action;
            }};
}

bool MayPass(const Error& error) {
    return error.code != ErrorCode::kInvalid && error.code != ErrorCode::kExhausted &&
           error.code != ErrorCode::kCancelled;
}

Result<void> Judge(const Channel& channel, const Result<HttpAnswer>& answer) {
    if (!answer) return std::unexpected(answer.error());
    const std::string who = channel.target();
    if (answer->status >= 200 && answer->status < 300) {
        const std::string refusal = RefusalIn(channel.format, answer->body);
        if (refusal.empty()) return {};
        return Fail(ErrorCode::kUnavailable, who + " refused it: " + refusal);
    }
    // Too many requests and trouble of their own pass; that it is wrong does not.
    const bool passes = answer->status >= 500 || answer->status == 429 || answer->status == 408;
    return Fail(passes ? ErrorCode::kUnavailable : ErrorCode::kInvalid,
                who + " answered " + std::to_string(answer->status));
}

void WriteToLog(const Notice& notice) {
    const Alert& alert = notice.alert;
    const bool calm = notice.test || alert.state == AlertState::kResolved;
    Log(calm ? LogLevel::kInfo : LogLevel::kWarning, "alert", NoticeTitle(notice),
        {{"id", alert.id},
         {"rule", alert.rule},
         {"state", Name(alert.state)},
         {"severity", Name(alert.severity)},
         {"text", alert.message},
         {"subject", alert.subject.view()},
         {"observer", notice.observer}});
}

}  // namespace

Tell TellBy(HttpClient& client, Mailer& mailer) {
    return [&client, &mailer](const Channel& channel, const Notice& notice, auto done) {
        const Time now = ReadClocks().wall;
        switch (channel.kind) {
            case ChannelKind::kLog:
                WriteToLog(notice);
                return done({});
            case ChannelKind::kEmail:
                return mailer.Send(channel, MailOf(channel, notice, now), std::move(done));
            case ChannelKind::kWebhook: {
                WebhookRequest request = WebhookOf(channel, notice, now);
                return client.Send({.method = HttpMethod::kPost,
                                    .url = std::move(request.url),
                                    .headers = std::move(request.headers),
                                    .body = std::move(request.body),
                                    .timeout = kWebhookTimeout,
                                    .response_bytes_max = kWebhookAnswerMax,
                                    .status_only = !IsRobot(channel.format),
                                    .allow_address = channel.allow_address},
                                   [channel, done = std::move(done)](auto answer) mutable {
                                       done(Judge(channel, answer));
                                   });
            }
        }
    };
}

Delivery::Delivery(Runtime& runtime, std::vector<Channel> channels, Tell tell, std::string space,
                   ChannelGuard guard)
    : runtime_(runtime),
      space_(std::move(space)),
      tell_(std::move(tell)),
      guard_(std::move(guard)) {
    for (Channel& channel : channels) {
        lines_.push_back(std::make_shared<Line>());
        lines_.back()->channel = std::move(channel);
    }
}

Delivery::~Delivery() {
    for (const auto& line : lines_) {
        // The one who waits to hear is going too.
        for (Item& item : line->waiting) *item.done = [] {};
    }
}

std::shared_ptr<Delivery::Line> Delivery::HoldLine(std::string_view channel) const {
    const auto found = std::ranges::find_if(
        lines_, [&](const auto& line) { return !line->gone && line->channel.name == channel; });
    return found == lines_.end() ? nullptr : *found;
}

Delivery::Line* Delivery::FindLine(std::string_view channel) const {
    return HoldLine(channel).get();
}

const Channel* Delivery::Find(std::string_view channel) const {
    const Line* line = FindLine(channel);
    return line ? &line->channel : nullptr;
}

// --- Channels of operators ----------------------------------------------------------------------

Result<AddressTest> Delivery::Guard(const Channel& channel) const {
    return guard_ && channel.kind != ChannelKind::kLog ? guard_(channel)
                                                       : Result<AddressTest>(AddressTest());
}

std::vector<Error> Delivery::TakeStored(const std::vector<SettingPut>& rows) {
    std::vector<Error> wrong;
    std::set<std::string, std::less<>> named;
    for (const SettingPut& row : rows) {
        const std::string_view key = row.key;
        if (!key.starts_with(kChannelPrefix)) continue;
        named.emplace(key.substr(kChannelPrefix.size()));
        if (auto applied = ApplyStored(row); !applied) wrong.push_back(applied.error());
    }
    std::vector<Line*> left;
    for (const auto& line : lines_) {
        const Channel& channel = line->channel;
        if (channel.stored && !line->gone && !named.contains(channel.name)) {
            left.push_back(line.get());
        }
    }
    for (Line* line : left) RemoveLine(*line);
    return wrong;
}

Result<void> Delivery::ApplyStored(const SettingPut& row) {
    const std::string name(row.key.view().substr(kChannelPrefix.size()));
    Line* line = FindLine(name);
    if (line && !line->channel.stored) {
        return Fail(ErrorCode::kConflict, "channel '" + name +
                                              "' stands in the configuration too, "
                                              "which counts");
    }
    if (row.value.empty()) {
        if (line) RemoveLine(*line);
        return {};
    }
    auto channel = DecodeChannel(name, row.value);
    if (!channel) return std::unexpected(channel.error());
    auto allows = Guard(*channel);
    if (!allows) return std::unexpected(allows.error());
    channel->allow_address = std::move(*allows);
    if (!line) line = lines_.emplace_back(std::make_shared<Line>()).get();
    // How the last delivery went says nothing of another target, or of another password.
    if (line->channel.version != channel->version) line->last.reset();
    line->channel = std::move(*channel);
    return {};
}

// The notice that is being told just now is not called back; those behind it are dropped.
void Delivery::RemoveLine(Line& line) {
    line.gone = true;
    const std::size_t kept = line.busy ? 1 : 0;
    std::deque<Item> dropped;
    while (line.waiting.size() > kept) {
        dropped.push_back(std::move(line.waiting.back()));
        line.waiting.pop_back();
    }
    if (!line.busy) std::erase_if(lines_, [&](const auto& one) { return one.get() == &line; });
}

// --- Telling ------------------------------------------------------------------------------------

std::vector<Delivery::View> Delivery::channels() const {
    std::vector<View> views;
    for (const auto& line : lines_) {
        if (line->gone) continue;
        views.push_back({line->channel, line->last, line->counts, line->waiting.size()});
    }
    return views;
}

void Delivery::Send(const Notice& notice, const std::vector<std::string>& channels, Action done,
                    const Heard& heard) {
    const auto all = WhenAllAreDone(std::move(done));
    for (const auto& line : lines_) {
        const bool named = std::ranges::find(channels, line->channel.name) != channels.end();
        if (line->gone || (!channels.empty() && !named)) continue;
        if (notice.alert.HasHeard(line->channel.name)) continue;
        if (line->waiting.size() >= kWaitingMax) {
            Note(*line, line->channel.version,
                 Fail(ErrorCode::kExhausted, "too many alerts wait for this channel"));
            continue;
        }
        line->waiting.push_back({notice, all, heard});
        line->waiting.back().notice.space = space_;
        if (!line->busy) Launch(TellAll(*line));
    }
}

Flow<> Delivery::TellAll(Line& line) {
    line.busy = true;
    while (!line.waiting.empty()) {
        const Told told = co_await TellFirst(line);
        Note(line, told.version, told.result);
        // Held until the line is in order again: it may say that all are done, and be sent to
        // again.
        const Item ended = std::move(line.waiting.front());
        line.waiting.pop_front();
        if (told.result) ended.heard(line.channel.name);
    }
    line.busy = false;
    if (line.gone) std::erase_if(lines_, [&](const auto& one) { return one.get() == &line; });
}

Flow<Delivery::Told> Delivery::TellFirst(Line& line) {
    for (std::size_t tries = 0;; ++tries) {
        const std::uint32_t version = line.channel.version;
        // In a turn of its own, as a channel such as the log answers at once: a storm of alerts
        // holds up nobody.
        const auto told = co_await Wait<Result<void>>([&](auto done) {
            tell_(line.channel, line.waiting.front().notice, home_.Here(std::move(done)));
        });
        const bool last = tries == kRetryDelays.size() || line.gone;
        if (told || !MayPass(told.error()) || last) co_return Told{version, told};
        if (version == line.channel.version) {
            line.last = Last{runtime_.Now().wall, false, told.error().detail};
        }
        co_await home_.Sleep(kRetryDelays[tries]);
        if (line.gone) co_return Told{version, told};
    }
}

void Delivery::Note(Line& line, std::uint32_t version, const Result<void>& result) {
    if (version == line.channel.version) {
        line.last =
            Last{runtime_.Now().wall, result.has_value(), result ? "" : result.error().detail};
    }
    ++(result ? line.counts.told : line.counts.failed);
    if (result) return;
    Log(LogLevel::kError, "alerts", "a channel was not told",
        {{"channel", line.channel.name}, {"error", result.error().detail}});
}

void Delivery::Test(const std::string& channel, std::move_only_function<void(Result<void>)> done) {
    const std::shared_ptr<Line> found = HoldLine(channel);
    if (!found) {
        return done(Fail(ErrorCode::kNotFound, "there is no channel '" + channel + "'", "name"));
    }
    if (found->testing) {
        return done(Fail(ErrorCode::kConflict, "a test of this channel is under way", "name"));
    }
    found->testing = true;
    Notice notice;
    notice.test = true;
    notice.space = space_;
    notice.alert.id = "test";
    notice.alert.rule = "test";
    notice.alert.severity = Severity::kInfo;
    notice.alert.state = AlertState::kFiring;
    notice.alert.firing_at = notice.alert.pending_at = runtime_.Now().wall;
    notice.alert.message = "this is a test: nothing is wrong";
    tell_(found->channel, notice,
          [this, of = std::weak_ptr(found), version = found->channel.version, &runtime = runtime_,
           stay = home_.stay(), done = std::move(done)](Result<void> result) mutable {
              runtime.Post([this, of = std::move(of), version, stay, result = std::move(result),
                            done = std::move(done)]() mutable {
                  // One that was made anew meanwhile, under the same name, is another.
                  const auto line = stay.holds() ? of.lock() : nullptr;
                  if (line && !line->gone) {
                      line->testing = false;
                      Note(*line, version, result);
                  }
                  done(std::move(result));
              });
          });
}

}  // namespace takt::internal
