#include "alerts/follower_watch.h"

#include <algorithm>
#include <utility>

#include "alerts/late_runs.h"
#include "base/log.h"
#include "store/lead.h"

namespace takt::internal {
namespace {

// Recurring tasks that are looked at; a page is a thousand.
constexpr std::size_t kTasksMax = 20'000;
constexpr std::size_t kPage = 1'000;

// It is looked again soon anyway; that the store is away others say louder.
void LogUnread(const Error& error) {
    Log(LogLevel::kDebug, "alerts", "a follower cannot read the due times",
        {{"error", error.detail}});
}

}  // namespace

FollowerWatch::FollowerWatch(Runtime& runtime, PartitionReader rows, Delivery& delivery,
                             FollowerWatchConfig config)
    : runtime_(runtime),
      rows_(rows),
      delivery_(delivery),
      config_(std::move(config)),
      choice_(config_.node),
      book_(config_.rules) {
    // A node begins as a follower, and is told only of changes.
    if (config_.enabled) {
        home_.term().Post([this] { OnRole(Role::kFollower); });
    }
}

FollowerWatch::~FollowerWatch() {
    runtime_.Cancel(timer_);
}

void FollowerWatch::OnRole(Role role) {
    home_.NextTerm();
    following_ = role == Role::kFollower;
    const bool watches = role != Role::kStopped && config_.enabled;
    if (watches == watching_) return;
    watching_ = watches;
    runtime_.Cancel(std::exchange(timer_, 0));
    Forget();
    if (watches) LookLater();
}

void FollowerWatch::LookLater() {
    timer_ = runtime_.After(config_.interval, [this] {
        timer_ = 0;
        Launch(Look(home_.term()));
        LookLater();
    });
}

Flow<> FollowerWatch::Look(Stay term) {
    const auto rows = co_await ReadNodes(term);
    if (!rows) co_return LogUnread(rows.error());
    const bool chosen = choice_.See(*rows, runtime_.Now().steady);
    const bool tells = chosen && following_;
    // One that is not to tell begins anew when its turn comes. But what it told, it sees through,
    // also as a leader: the next to tell may know another due time only, or none.
    if (!tells && told_.empty()) co_return Forget();
    auto view = co_await ReadView(term);
    if (!view) co_return LogUnread(view.error());
    view->tells = tells;
    Judge(*view);
}

Flow<Result<TellerChoice::Rows>> FollowerWatch::ReadNodes(Stay term) {
    auto nodes = co_await term.Wait<Result<std::vector<NodeRow>>>(
        [&](auto done) { rows_.store().Nodes(std::move(done)); });
    if (!nodes) co_return std::unexpected(nodes.error());
    const auto leaders = co_await term.Wait<Result<std::vector<LeaderRow>>>(
        [&](auto done) { rows_.store().Leaders(std::move(done)); });
    if (!leaders) co_return std::unexpected(leaders.error());
    co_return TellerChoice::Rows{std::move(*nodes), LeaderOf(*leaders, rows_.partition())};
}

Flow<Result<FollowerWatch::View>> FollowerWatch::ReadView(Stay term) {
    auto settings = co_await term.Wait<Result<std::vector<SettingPut>>>(
        [&](auto done) { rows_.ListSettings(Text("alert"), std::move(done)); });
    if (!settings) co_return std::unexpected(settings.error());
    View view{.settings = std::move(*settings)};
    for (bool more = true; more && view.tasks.size() < kTasksMax;) {
        TaskFilter filter{.limit = kPage};
        if (!view.tasks.empty()) filter.after = view.tasks.back().task->id.text().str();
        auto rows = co_await term.Wait<Result<std::vector<TaskRow>>>(
            [&](auto done) { rows_.ListTasks(filter, std::move(done)); });
        if (!rows) co_return std::unexpected(rows.error());
        more = rows->size() >= kPage;
        std::ranges::move(*rows, std::back_inserter(view.tasks));
    }
    co_return view;
}

void FollowerWatch::Judge(const View& view) {
    // A leader lives by the channels that it changes itself; these rows may be older.
    if (following_) (void)delivery_.TakeStored(view.settings);
    book_.Reset();
    for (const SettingPut& row : view.settings) {
        // The leader says what is wrong with a row when it reads it.
        (void)book_.Apply(row).has_value();
    }
    evaluator_.SetRules(book_.rules());
    const Time now = runtime_.Now().wall;
    AlertReadings readings;
    LateRuns::ReadRows(view.tasks, now, config_.grace, readings);
    for (const Alert& alert : evaluator_.Step(now, readings)) {
        const auto told = told_.find(alert.id);
        if (alert.state == AlertState::kResolved && told != told_.end()) told->second = alert;
    }
    if (view.tells) TellFiring(view);
    TellResolved(view);
}

void FollowerWatch::TellFiring(const View& view) {
    for (const auto& [key, entry] : evaluator_.active()) {
        const Alert& alert = entry.alert;
        const bool fires = alert.state == AlertState::kFiring && entry.well_since == Time{};
        if (!fires || told_.contains(alert.id) || RowOf(view, alert) || IsSilenced(alert)) continue;
        Send(alert);
        told_.emplace(alert.id, alert);
    }
}

void FollowerWatch::TellResolved(const View& view) {
    std::erase_if(told_, [&](const auto& item) {
        const Alert& alert = item.second;
        if (alert.state != AlertState::kResolved) return false;
        // A leader tells the end of what it has firing. What is only pending there may end without
        // a word.
        const SettingPut* row = RowOf(view, alert);
        const auto known = row ? DecodeAlert(alert.id, row->value) : Result<Alert>();
        if (row && known && known->state != AlertState::kPending) return true;
        if (IsSilenced(alert)) return false;
        Send(alert);
        return true;
    });
}

void FollowerWatch::Forget() {
    evaluator_.Clear();
    told_.clear();
}

// Null if no leader has it.
const SettingPut* FollowerWatch::RowOf(const View& view, const Alert& alert) {
    const auto found = std::ranges::find(view.settings, std::string(kAlertPrefix) + alert.id,
                                         [](const SettingPut& row) { return row.key.view(); });
    return found == view.settings.end() ? nullptr : &*found;
}

bool FollowerWatch::IsSilenced(const Alert& alert) const {
    return book_.silenced_until(alert.rule) > runtime_.Now().wall;
}

void FollowerWatch::Send(const Alert& alert) {
    const AlertRule* rule = book_.Find(alert.rule);
    delivery_.Send({.alert = alert,
                    .rule_description = rule ? rule->description : "",
                    .observer = config_.node.text().str()},
                   rule ? rule->channels : std::vector<std::string>{}, [] {});
}

}  // namespace takt::internal
