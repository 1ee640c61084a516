#include "alerts/alerts.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/log.h"

namespace takt::internal {
namespace {

// Begins the keys of rules, silences and alerts alike.
constexpr std::string_view kAllPrefix = "alert";
constexpr Duration kLoadRetry{1'000};
// Alerts of one rule in one look that are told one by one; the last of them counts the others.
constexpr std::size_t kToldMax = 5;

bool NeverFired(const Alert& alert) {
    return alert.state == AlertState::kResolved && alert.firing_at == Time{};
}

}  // namespace

Alerts::Alerts(Runtime& runtime, PartitionReader rows, Delivery& delivery, AlertsConfig config,
               ReadMetrics read)
    : runtime_(runtime),
      rows_(rows),
      delivery_(delivery),
      config_(std::move(config)),
      read_(std::move(read)),
      book_(config_.rules) {}

void Alerts::OnCommit(const Committed& committed) {
    for (const Change& change : committed.changes) {
        const auto* execution = std::get_if<ExecutionChange>(&change);
        if (!execution || execution->row.origin == Origin::kOnce) continue;
        late_.Note(execution->row);
        failed_.Note(*execution);
    }
}

void Alerts::OnRole(Role role) {
    const bool leads = role == Role::kLeader;
    if (leads == leading_) return;
    leading_ = leads;
    home_.NextTerm();
    loaded_ = false;
    // The next leader's word is what counts; it is read again when this node leads again.
    evaluator_.Clear();
    late_.Clear();
    failed_.Clear();
    storing_ = 0;
    book_.Reset();
    over_.clear();
    unkept_.clear();
    partly_told_.clear();
    values_.clear();
    if (leads && config_.enabled) Launch(Watch(home_.term()));
    // Changes that waited for one of the last term hear that nothing is ready.
    TakeTurns();
}

void Alerts::With(std::move_only_function<void(Alerts&)> look) {
    home_.Post([this, look = std::move(look)]() mutable { look(*this); });
}

Result<void> Alerts::Ready() const {
    if (!config_.enabled) {
        return Fail(ErrorCode::kConflict, "alerts are switched off (alerts.enabled)");
    }
    if (loaded_) return {};
    return Fail(ErrorCode::kUnavailable, "alerts are being read; try again shortly");
}

// --- A term's beginning -------------------------------------------------------------------------

Flow<> Alerts::Watch(Stay term) {
    TakeOver(co_await ReadRows(term));
    for (;;) {
        co_await term.Sleep(config_.interval);
        Look();
    }
}

Flow<std::vector<SettingPut>> Alerts::ReadRows(Stay term) {
    for (;;) {
        auto rows = co_await term.Wait<Result<std::vector<SettingPut>>>(
            [&](auto done) { rows_.ListSettings(Text(kAllPrefix), std::move(done)); });
        if (rows) co_return std::move(*rows);
        Log(LogLevel::kWarning, "alerts", "cannot read the rules, trying again",
            {{"error", rows.error().detail}});
        co_await term.Sleep(kLoadRetry);
    }
}

void Alerts::TakeOver(const std::vector<SettingPut>& rows) {
    const auto complain = [](const SettingPut& row, const Error& error) {
        Log(LogLevel::kError, "alerts", "a stored row is passed over",
            {{"key", row.key.view()}, {"error", error.detail}});
    };
    for (const Error& error : delivery_.TakeStored(rows)) {
        Log(LogLevel::kError, "alerts", "a stored channel is passed over",
            {{"error", error.detail}});
    }
    const Time now = runtime_.Now().wall;
    for (const SettingPut& row : rows) {
        const std::string_view key = row.key;
        if (!key.starts_with(kAlertPrefix)) {
            if (auto applied = book_.Apply(row); !applied) complain(row, applied.error());
            continue;
        }
        const auto alert = DecodeAlert(key.substr(kAlertPrefix.size()), row.value);
        if (!alert) {
            complain(row, alert.error());
            continue;
        }
        if (alert->state == AlertState::kResolved) {
            over_.push_back(*alert);
        } else {
            evaluator_.Restore(*alert, now);
            if (alert->metric != kLatenessMetric) continue;
            const Duration late(alert->settled ? std::llround(alert->value * 1'000) : 0);
            late_.Adopt(alert->subject, alert->occasion, late);
        }
    }
    std::ranges::sort(over_, std::ranges::greater{}, &Alert::resolved_at);
    evaluator_.SetRules(book_.rules());
    loaded_ = true;
    TellOwed();
}

// --- Looking ------------------------------------------------------------------------------------

void Alerts::Look() {
    node_->Look(home_.term().Guard([this](const Engine* engine) {
        if (loaded_ && engine) Judge(*engine);
    }));
}

void Alerts::Judge(const Engine& engine) {
    const Instant now = runtime_.Now();
    AlertReadings readings;
    read_(engine, now, readings);
    late_.Read(engine, now.wall, readings);
    failed_.Read(now.wall, readings);
    const SortedReadings sorted(std::move(readings));
    values_.clear();
    for (const AlertRule& rule : book_.rules()) {
        const bool low_is_bad =
            rule.comparison == Comparison::kBelow || rule.comparison == Comparison::kAtMost;
        for (const AlertReading* reading : sorted.Of(rule)) {
            const auto [known, fresh] = values_.try_emplace(rule.name, reading->value);
            if (!fresh) {
                known->second = low_is_bad ? std::min(known->second, reading->value)
                                           : std::max(known->second, reading->value);
            }
        }
    }
    // First what the store did not take at the last look, and only then what is newer.
    for (const auto& [id, alert] : std::exchange(unkept_, {})) Post(alert);
    std::vector<Alert> changed = evaluator_.Step(now.wall, sorted);
    for (Alert& alert : changed) {
        if (alert.state == AlertState::kResolved && !NeverFired(alert)) Bury(alert);
        Post(alert);
    }
    for (const Alert* alert : evaluator_.TakeUnkept()) Keep(*alert);
    // One channel is away, the others have heard: the next leader tells only the one.
    for (const std::string& id : std::exchange(partly_told_, {})) {
        if (const Alert* alert = FindAlert(id); alert && !alert->heard.empty()) Keep(*alert);
    }
    TellOwed();
    ForgetOldest();
}

void Alerts::Bury(Alert& alert) {
    const bool heard =
        alert.told || !alert.heard.empty() || telling_.contains({alert.id, AlertState::kFiring});
    // A silence hid all of it: who did not hear that it fires need not hear that it is over.
    if (!heard) alert.told = AlertState::kResolved;
    over_.push_front(alert);
}

void Alerts::ForgetOldest() {
    for (; over_.size() > config_.resolved_max; over_.pop_back()) {
        node_->Tell(SetSetting{.key = AlertKey(over_.back())});
    }
}

// The row and the event. A pending alert that never fired leaves no row.
void Alerts::Post(const Alert& alert) {
    const AlertMetric* metric = FindAlertMetric(alert.metric);
    const AlertSubject about = metric ? metric->subject : AlertSubject::kAll;
    PostAlert input{.key = AlertKey(alert),
                    .value = NeverFired(alert) ? Text() : Text(EncodeAlert(alert)),
                    .detail = Text(AlertEventText(alert))};
    if (about == AlertSubject::kTask) input.task = TaskId(alert.subject);
    if (about == AlertSubject::kWorker) input.worker = WorkerId(alert.subject);
    node_->Ask(std::move(input), home_.term().Guard([this, alert](const Result<Answer>& answer) {
        if (!answer) unkept_.insert_or_assign(alert.id, alert);
    }));
}

// --- Telling ------------------------------------------------------------------------------------

bool Alerts::IsOwed(const Alert& alert, Time now) const {
    return alert.state != AlertState::kPending && alert.told != alert.state &&
           !telling_.contains({alert.id, alert.state}) && book_.silenced_until(alert.rule) <= now;
}

// Alerts that channels were not told and are not being told.
std::vector<const Alert*> Alerts::Owed() const {
    const Time now = runtime_.Now().wall;
    std::vector<const Alert*> owed;
    for (const auto& [key, entry] : evaluator_.active()) {
        // An alert that a silence hid, and that does not hold just now, may well be over.
        if (entry.well_since == Time{} && IsOwed(entry.alert, now)) owed.push_back(&entry.alert);
    }
    for (const Alert& alert : over_) {
        if (IsOwed(alert, now)) owed.push_back(&alert);
    }
    return owed;
}

void Alerts::TellOwed() {
    std::map<std::pair<std::string, AlertState>, std::vector<const Alert*>> groups;
    for (const Alert* alert : Owed()) groups[{alert->rule, alert->state}].push_back(alert);
    for (const auto& [key, alerts] : groups) TellGroup(alerts);
}

// Alerts of one rule that came to one state.
void Alerts::TellGroup(const std::vector<const Alert*>& alerts) {
    const AlertRule* rule = book_.Find(alerts[0]->rule);
    for (std::size_t i = 0; i < alerts.size(); ++i) {
        const Alert& alert = *alerts[i];
        if (i >= kToldMax) {
            OnTold(alert.id, alert.state);
            continue;
        }
        const bool last = i + 1 == kToldMax;
        const Notice notice{.alert = alert,
                            .rule_description = rule ? rule->description : "",
                            .more = last ? alerts.size() - kToldMax : 0};
        // Until all channels are done with it, however long a slow one takes, it is not owed.
        telling_.emplace(alert.id, alert.state);
        delivery_.Send(notice, rule ? rule->channels : std::vector<std::string>{},
                       home_.Guard([this, id = alert.id, state = alert.state] {
                           telling_.erase({id, state});
                           OnTold(id, state);
                       }),
                       [this, id = alert.id, state = alert.state,
                        stay = home_.stay()](const std::string& channel) {
                           if (stay.holds()) OnHeard(id, state, channel);
                       });
    }
}

// Written down at the next look, unless all have heard by then: mostly they have.
void Alerts::OnHeard(const std::string& id, AlertState state, const std::string& channel) {
    Alert* alert = FindAlert(id);
    if (!alert || (alert->told && *alert->told >= state)) return;
    AlertState& heard = alert->heard.try_emplace(channel, state).first->second;
    heard = std::max(heard, state);
    partly_told_.insert(id);
}

// Remembered, so that the next leader does not tell it again. Not worth an event.
void Alerts::OnTold(const std::string& id, AlertState state) {
    Alert* alert = FindAlert(id);
    // It may be gone, or gone on to the next state, which is told by itself, meanwhile.
    if (!alert || (alert->told && *alert->told >= state)) return;
    alert->told = state;
    std::erase_if(alert->heard, [&](const auto& one) { return one.second <= state; });
    Keep(*alert);
}

void Alerts::Keep(const Alert& alert) {
    node_->Tell(SetSetting{.key = AlertKey(alert), .value = Text(EncodeAlert(alert))});
}

Alert* Alerts::FindAlert(std::string_view id) {
    if (Alert* alert = evaluator_.FindAlert(id)) return alert;
    const auto found = std::ranges::find(over_, id, &Alert::id);
    return found == over_.end() ? nullptr : &*found;
}

}  // namespace takt::internal
