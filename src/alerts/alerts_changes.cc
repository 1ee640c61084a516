// Alerts: what operators see and say.
#include <algorithm>
#include <utility>

#include "alerts/alerts.h"

namespace takt::internal {
namespace {

// Of a rule or channel of this version; 0: there is none that an operator made.
Result<void> CheckCondition(const WriteCondition& condition, bool exists, std::uint32_t version,
                            const std::string& what) {
    if (condition.absent && exists) {
        return Fail(ErrorCode::kConflict, what + " is there already", "name");
    }
    if (condition.version && (!exists || *condition.version != version)) {
        return Fail(ErrorCode::kConflict,
                    exists
                        ? what + " was changed meanwhile: its version is " + std::to_string(version)
                        : what + " is not there any more",
                    "version");
    }
    return {};
}

}  // namespace

std::vector<const Alert*> Alerts::alerts() const {
    std::vector<const Alert*> alerts;
    for (const auto& [key, entry] : evaluator_.active()) alerts.push_back(&entry.alert);
    std::ranges::sort(alerts, std::ranges::greater{}, &Alert::pending_at);
    for (const Alert& alert : over_) alerts.push_back(&alert);
    return alerts;
}

std::optional<AlertState> Alerts::StateOf(const std::string& rule) const {
    std::optional<AlertState> worst;
    for (const auto& [key, entry] : evaluator_.active()) {
        if (key.first == rule && worst != AlertState::kFiring) worst = entry.alert.state;
    }
    return worst;
}

void Alerts::InTurn(std::move_only_function<void(Alerts&)> change) {
    home_.Post([this, change = std::move(change)]() mutable {
        changes_.push_back(std::move(change));
        TakeTurns();
    });
}

// A change that is refused is over at once, and may be answered by a call of this: hence the loop.
void Alerts::TakeTurns() {
    if (std::exchange(taking_turns_, true)) return;
    while (storing_ == 0 && !changes_.empty()) {
        auto change = std::move(changes_.front());
        changes_.pop_front();
        change(*this);
    }
    taking_turns_ = false;
}

// Stores a row, and only then lives by it. A silence is judged by nothing, and has no version: it
// waits for no turn, and the last one counts.
void Alerts::StoreThenApply(SettingPut row, ActPtr by, Done<void> done) {
    const std::size_t turn = row.key.view().starts_with(kSilencePrefix) ? 0 : 1;
    storing_ += turn;
    node_->Ask(SetSetting{.key = row.key, .value = row.value, .by = std::move(by)},
               [this, row, turn, done = std::move(done),
                term = home_.term()](Result<Answer> answer) mutable {
                   Result<void> stored;
                   if (!answer) stored = std::unexpected(answer.error());
                   if (stored && term.holds()) {
                       const bool channel = row.key.view().starts_with(kChannelPrefix);
                       stored = channel ? delivery_.ApplyStored(row) : book_.Apply(row);
                       if (stored) evaluator_.SetRules(book_.rules());
                   }
                   done(std::move(stored));
                   if (!term.holds()) return;
                   storing_ -= turn;
                   TakeTurns();
               });
}

void Alerts::PutRule(AlertRule rule, const WriteCondition& condition, ActPtr by, Done<void> done) {
    if (auto checked = CheckNewRule(rule); !checked) return done(std::unexpected(checked.error()));
    for (const std::string& channel : rule.channels) {
        if (delivery_.Has(channel)) continue;
        return done(Fail(ErrorCode::kInvalid,
                         "channels: there is no channel '" + channel +
                             "'; GET /api/v1/alert-channels lists them",
                         "channels"));
    }
    const AlertRule* known = book_.Find(rule.name);
    auto fits = CheckCondition(condition, known != nullptr, known ? known->version : 0,
                               "rule '" + rule.name + "'");
    if (!fits) return done(std::move(fits));
    if (!known && book_.size() >= kRulesMax) {
        return done(Fail(ErrorCode::kExhausted, "there are too many rules; delete some"));
    }
    rule.version = known ? known->version + 1 : 1;
    StoreThenApply({Text(std::string(kRulePrefix) + rule.name), Text(EncodeRule(rule))},
                   std::move(by), std::move(done));
}

void Alerts::DeleteRule(const std::string& name, const WriteCondition& condition, ActPtr by,
                        Done<void> done) {
    const AlertRule* rule = book_.Find(name);
    if (!rule) return done(Fail(ErrorCode::kNotFound, "there is no rule '" + name + "'", "name"));
    if (book_.IsGiven(name)) {
        const bool builtin = rule->origin == RuleOrigin::kBuiltin;
        return done(Fail(ErrorCode::kConflict,
                         "rule '" + name + "' " +
                             (builtin ? "comes with the scheduler"
                                      : "stands in the configuration (alerts.rules)") +
                             " and cannot be deleted; PUT it with \"enabled\": false instead",
                         "name"));
    }
    auto fits = CheckCondition(condition, true, rule->version, "rule '" + name + "'");
    if (!fits) return done(std::move(fits));
    StoreThenApply({Text(std::string(kRulePrefix) + name), Text()}, std::move(by), std::move(done));
}

void Alerts::PutChannel(Channel channel, const WriteCondition& condition, ActPtr by,
                        Done<void> done) {
    const std::string who = "channel '" + channel.name + "'";
    const Channel* known = delivery_.Find(channel.name);
    if (known && !known->stored) {
        return done(Fail(ErrorCode::kConflict,
                         who + " stands in the configuration (alerts.channels) and cannot be "
                               "changed here",
                         "name"));
    }
    auto fits = CheckCondition(condition, known != nullptr, known ? known->version : 0, who);
    if (fits) fits = CheckNewChannel(channel);
    if (!fits) return done(std::move(fits));
    if (auto allowed = delivery_.Guard(channel); !allowed) {
        return done(std::unexpected(allowed.error()));
    }
    if (!known && delivery_.channels().size() >= kChannelsMax) {
        return done(Fail(ErrorCode::kExhausted, "there are too many channels; delete some"));
    }
    channel.version = known ? known->version + 1 : 1;
    StoreThenApply({Text(std::string(kChannelPrefix) + channel.name), Text(EncodeChannel(channel))},
                   std::move(by), std::move(done));
}

void Alerts::DeleteChannel(const std::string& name, const WriteCondition& condition, ActPtr by,
                           Done<void> done) {
    const Channel* channel = delivery_.Find(name);
    const std::string who = "channel '" + name + "'";
    if (!channel) {
        return done(Fail(ErrorCode::kNotFound, "there is no channel '" + name + "'", "name"));
    }
    if (!channel->stored) {
        const std::string_view why =
            name == "log" ? " is always there" : " stands in the configuration (alerts.channels)";
        return done(Fail(ErrorCode::kConflict, who + std::string(why), "name"));
    }
    auto fits = CheckCondition(condition, true, channel->version, who);
    if (!fits) return done(std::move(fits));
    // A rule without channels tells all; one whose only channel went would tell nobody.
    for (const AlertRule& rule : book_.rules()) {
        if (std::ranges::find(rule.channels, name) == rule.channels.end()) continue;
        return done(Fail(ErrorCode::kConflict,
                         who + " is named by rule '" + rule.name + "'; change that first", "name"));
    }
    StoreThenApply({Text(std::string(kChannelPrefix) + name), Text()}, std::move(by),
                   std::move(done));
}

void Alerts::Silence(const std::string& rule, Time until, ActPtr by, Done<void> done) {
    if (!book_.Find(rule)) {
        return done(Fail(ErrorCode::kNotFound, "there is no rule '" + rule + "'", "name"));
    }
    StoreThenApply({Text(std::string(kSilencePrefix) + rule),
                    until == Time{} ? Text() : Text(FormatTime(until))},
                   std::move(by), std::move(done));
}

void Alerts::Acknowledge(const std::string& id, Acknowledgement by, ActPtr act, Done<Alert> done) {
    Alert* alert = FindAlert(id);
    if (!alert) return done(Fail(ErrorCode::kNotFound, "there is no alert '" + id + "'", "id"));
    if (alert->state == AlertState::kResolved) {
        return done(Fail(ErrorCode::kConflict, "alert '" + id + "' is resolved already", "id"));
    }
    Alert wanted = *alert;
    wanted.acknowledged = std::move(by);
    node_->Ask(
        SetSetting{
            .key = AlertKey(wanted), .value = Text(EncodeAlert(wanted)), .by = std::move(act)},
        [this, wanted, done = std::move(done), term = home_.term()](Result<Answer> answer) mutable {
            if (!answer) return done(std::unexpected(answer.error()));
            Alert* now = term.holds() ? FindAlert(wanted.id) : nullptr;
            if (now) now->acknowledged = wanted.acknowledged;
            // It came to another state meanwhile, and was stored so without the word.
            if (now && now->state != wanted.state) Keep(*now);
            done(now ? *now : wanted);
        });
}

}  // namespace takt::internal
