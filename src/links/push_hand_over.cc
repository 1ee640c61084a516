// A lead that is handed over in order disturbs nothing that executors run: the next leader is left word
// of what they have, and is told the answers to calls that are still open.
#include "links/push_hand_over.h"

#include <algorithm>
#include <charconv>
#include <tuple>
#include <utility>

#include "base/json.h"
#include "base/log.h"
#include "links/push_link.h"
#include "node/node.h"

namespace takt::internal {
namespace {

// Of one setting: far less than any store takes at once.
constexpr std::size_t kLeftPerSetting = 500;

// A new leader is there within seconds; after that the attempt's timeout decides.
constexpr Duration kPassOnFor{60'000};
constexpr Duration kPassOnDelay{100};
constexpr Duration kPassOnDelayMax{2'000};
constexpr Duration kPassOnTimeout{5'000};

// While the only scheduler waits for executors before it stops. Another one may come meanwhile.
constexpr Duration kAnswersLook{20};
constexpr Duration kSchedulersLook{500};
constexpr Duration kStoreSilence{500};  // After which the answers are looked at all the same.

bool IsWorthRepeating(const Result<HttpAnswer>& answer) {
    return !answer || answer->status == 429 || answer->status >= 500;
}

}  // namespace

// A line for each: its attempt's number, the keeper or "-", the execution.
std::vector<SettingPut> WriteLeftAttempts(const LeftAttempts& left) {
    std::vector<SettingPut> settings;
    std::string lines;
    std::size_t count = 0;
    for (const auto& [execution, attempt] : left) {
        lines += std::to_string(attempt.attempt) + " ";
        lines += attempt.keeper.empty() ? std::string("-") : attempt.keeper.text().str();
        lines += " " + execution.str() + "\n";
        if (++count % kLeftPerSetting != 0 && count != left.size()) continue;
        settings.push_back({.key = Text(std::string(kLeftPrefix) + std::to_string(settings.size())),
                            .value = Text(std::exchange(lines, {}))});
    }
    return settings;
}

LeftAttempts ReadLeftAttempts(const std::vector<SettingPut>& settings) {
    LeftAttempts left;
    for (const SettingPut& setting : settings) {
        if (!setting.key.view().starts_with(kLeftPrefix)) continue;
        std::string_view lines = setting.value.view();
        while (!lines.empty()) {
            const std::size_t end = std::min(lines.find('\n'), lines.size());
            const std::string_view line = lines.substr(0, end);
            lines.remove_prefix(std::min(end + 1, lines.size()));
            const std::size_t first = line.find(' ');
            const std::size_t second = line.find(' ', first + 1);
            if (first == line.npos || second == line.npos) continue;
            LeftAttempt attempt;
            std::from_chars(line.data(), line.data() + first, attempt.attempt);
            const std::string_view keeper = line.substr(first + 1, second - first - 1);
            if (keeper != "-") attempt.keeper = NodeId(Text(keeper));
            left.emplace(Text(line.substr(second + 1)), std::move(attempt));
        }
    }
    return left;
}

std::string CallbackText(const ServiceReport& report) {
    std::string body;
    JsonWriter json(body);
    json.BeginObject().Field("status", report.success ? "success" : "failed");
    json.Field("retryable", report.retryable);
    if (!report.outcome->data.empty()) json.Key("result").Raw(report.outcome->data.view());
    if (!report.success) {
        json.Key("error").BeginObject();
        json.Field("code", report.outcome->code).Field("message", report.outcome->message.view());
        json.EndObject();
    }
    if (!report.log.empty()) json.Field("log", std::string_view(report.log));
    json.EndObject();
    return body;
}

// --- The leader that leaves ---------------------------------------------------------------------

// Whether somebody could lead after this one.
bool PushLink::HasOthers() const {
    const auto& known = context_->schedulers;
    const NodeId self = context_->node->status().node;
    return known && std::ranges::any_of(*known, [&](const auto& scheduler) {
               return scheduler.second && scheduler.first != self;
           });
}

// And of reports that the engine has not judged yet: a node that stops takes none.
std::size_t PushLink::open_calls() const {
    std::size_t open = context_->told.size();
    for (const auto& [id, instance] : instances_) open += instance->open_calls();
    return open;
}

void PushLink::Settle(Action done) {
    context_->leaving = true;
    for (const auto& [id, instance] : instances_) instance->TellLoad();
    Launch(AwaitAnswers(std::move(done)));
}

Flow<> PushLink::AwaitAnswers(Action done) {
    const Stay stay = home_.stay();
    const Steady stay_until = context_->runtime.Now().steady + context_->config.others_stay;
    Steady known_until{};
    bool said = false;
    while (ready_ && open_calls() > 0) {
        const Steady now = context_->runtime.Now().steady;
        if (now >= known_until) {
            const bool answered = co_await stay.Wait<bool>([&](auto known) {
                const auto once = std::make_shared<std::move_only_function<void(bool)>>(
                    [known = std::move(known)](bool by_store) mutable { known(by_store); });
                const auto tell = [once](bool by_store) {
                    if (*once) std::exchange(*once, nullptr)(by_store);
                };
                LearnSchedulers([tell] { tell(true); });
                stay.After(kStoreSilence, [tell] { tell(false); });
            });
            known_until = now + kSchedulersLook;
            // A store that is slow for a moment is no reason to have the same work done again: what is
            // answered meanwhile is written down when it is back.
            if (answered && HasOthers() && now >= stay_until) break;
        }
        if (!std::exchange(said, true)) {
            Log(LogLevel::kInfo, "executors", "waiting for answers to open calls before it stops",
                {{"calls", open_calls()}});
        }
        co_await stay.Sleep(kAnswersLook);
    }
    done();
}

std::vector<SettingPut> PushLink::LeaveWord(Parting why) {
    const NodeId self = context_->node->status().node;
    // When the only scheduler stops, nobody could be told an answer. An heir is there, known or not.
    if (why == Parting::kStop && !HasOthers()) return {};
    context_->parting = true;
    LeftAttempts left;
    for (const auto& [id, instance] : instances_) instance->AddTo(left, self);
    // Told to the node, which did not take it any more, or not in time.
    for (const auto& [key, told] : context_->told) {
        left.insert_or_assign(key.first, LeftAttempt{told.attempt.attempt, self});
    }
    // Executors that call back now are told to say it again, and say it to the next leader.
    for (const auto& [key, callers] : waiting_) left.insert_or_assign(key.first, LeftAttempt{});
    std::vector<SettingPut> words = WriteLeftAttempts(left);
    for (const SettingPut& word : words) words_left_.push_back(word.key);
    return words;
}

void PushLink::OnHandOverFailed() {
    context_->parting = false;
    // Else a leader after a crash would wait for answers that nobody passes on.
    for (Text& key : std::exchange(words_left_, {})) {
        context_->node->Tell(SetSetting{.key = std::move(key)});
    }
    for (const auto& [id, instance] : instances_) instance->GoOn();
}

// The node leads no more. One that stops keeps its calls only if it has left word of them; for how
// long, whoever stops it decides.
void PushLink::PartWith(bool stopped) {
    const bool drops = stopped && !context_->parting;
    if (const std::size_t open = drops ? open_calls() : 0; open > 0) {
        Log(LogLevel::kWarning, "executors",
            "stopped before executors had answered: the next leader sends them the same again",
            {{"calls", open}});
    }
    auto told = std::exchange(context_->told, {});
    words_left_.clear();
    std::erase_if(left_, [](const auto& instance) { return !instance->has_open_calls(); });
    context_->parting = false;
    for (auto& [id, instance] : instances_) {
        if (drops) {
            instance->Drop();
            continue;
        }
        instance->Part();
        if (instance->has_open_calls()) left_.push_back(instance);
    }
    instances_.clear();
    if (drops) return left_.clear();
    for (auto& [key, one] : told) context_->pass_on(one.attempt, std::move(one.report));
}

bool PushLink::keeps_calls() const {
    return passing_on_ > 0 || std::ranges::any_of(left_, [](const auto& instance) {
               return instance->has_open_calls();
           });
}

Flow<> PushLink::PassOn(AttemptRef attempt, ServiceReport report) {
    const Stay stay = home_.stay();
    ++passing_on_;
    const auto context = context_;
    const std::string& name = context->config.space;
    const std::string space = name.empty() ? "" : "/namespaces/" + name;
    const std::string path =
        "/api/v1" + space + "/executions/" + attempt.execution.text().str() + "/callback";
    const std::string body = CallbackText(report);
    const Steady until = context->runtime.Now().steady + kPassOnFor;
    Duration delay = kPassOnDelay;
    for (std::size_t turn = 0; context->runtime.Now().steady < until; ++turn) {
        const auto& bases = context->callback_bases;
        HttpCall call{.method = HttpMethod::kPost,
                      .url = bases[turn % bases.size()] + path,
                      .headers = {{"Content-Type", "application/json"},
                                  {"X-Takt-Token", TokenText(attempt.token)}},
                      .body = body,
                      .timeout = kPassOnTimeout};
        const auto answer = co_await stay.Wait<Result<HttpAnswer>>(
            [&](auto done) { context->execute(std::move(call), std::move(done)); });
        if (!IsWorthRepeating(answer)) co_return void(--passing_on_);
        co_await stay.Sleep(delay);
        delay = std::min(2 * delay, kPassOnDelayMax);
    }
    --passing_on_;
    Log(LogLevel::kWarning, "executors", "an answer could not be passed on to the new leader",
        {{"execution", attempt.execution}});
}

void PushInstance::AddTo(LeftAttempts& left, const NodeId& self) const {
    for (const auto& [id, attempt] : attempts_) {
        if (attempt.phase == Phase::kQueued) continue;
        const bool open = attempt.phase == Phase::kCalling;
        left[id] = {attempt.ref().attempt, open ? self : attempt.keeper};
    }
}

std::size_t PushInstance::open_calls() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        attempts_, [](const auto& entry) { return entry.second.phase == Phase::kCalling; }));
}

void PushInstance::Part() {
    if (session_ != 0) context_->sessions.erase(session_);
    session_ = 0;
    parted_ = true;
    queue_.clear();
    std::erase_if(attempts_,
                  [](const auto& entry) { return entry.second.phase != Phase::kCalling; });
    context_->runtime.Cancel(std::exchange(health_timer_, 0));
    context_->runtime.Cancel(std::exchange(breaker_timer_, 0));
    context_->runtime.Cancel(std::exchange(rest_timer_, 0));
    for (const auto& [attempt, answer] : std::exchange(late_, {})) PassOnAnswer(attempt, answer);
}

void PushInstance::GoOn() {
    for (const auto& [attempt, answer] : std::exchange(late_, {})) OnAnswer(attempt, answer);
    Pump();
}

// An order that did not arrive is told to nobody: the next leader sends it when the time of the call
// is over. Neither is a refused reminder.
void PushInstance::PassOnAnswer(const AttemptRef& ref, const Result<HttpAnswer>& answer) {
    --calls_;
    const Attempt* attempt = FindAttempt(ref);
    if (!attempt) return;
    const bool reminder = attempt->reminder;
    attempts_.erase(ref.execution.text());
    if (!answer && answer.error().code == ErrorCode::kCancelled) return;  // The server stops.
    PushAnswer meaning = ReadPushAnswer(answer);
    const bool refused = !answer || answer->status >= 300 || !meaning.understood;
    if ((reminder && refused) || meaning.unsent || !meaning.ended || !context_->pass_on) return;
    context_->pass_on(ref, std::move(*meaning.ended));
}

// --- The leader that comes ----------------------------------------------------------------------

void PushInstance::TakeBackLeft() {
    const Time now = context_->runtime.Now().wall;
    for (auto& [id, attempt] : attempts_) {
        if (attempt.keeper.empty()) continue;
        const Time started = attempt.deadline - attempt.assign.timeout;
        const bool over = now - started > context_->config.timeout;
        const bool gone = context_->schedulers && !context_->schedulers->contains(attempt.keeper);
        if (!over && !gone) continue;
        attempt.keeper = {};
        attempt.phase = Phase::kQueued;
        attempt.reminder = over;
    }
}

}  // namespace takt::internal
