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
// Rows that nobody needs to look at are read so often all the same: a leader that is announced and
// does nothing, neither fire nor tell, is noticed in the end.
constexpr Duration kReadAnyway = std::chrono::minutes(10);

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
    if (IsCalm(rows->leader)) co_return;
    auto tasks = co_await ReadTasks(term);
    if (!tasks) co_return LogUnread(tasks.error());
    if (NoteCalm(*tasks, rows->leader)) co_return;
    auto settings = co_await term.Wait<Result<std::vector<SettingPut>>>(
        [&](auto done) { rows_.ListSettings(Text("alert"), std::move(done)); });
    if (!settings) co_return LogUnread(settings.error());
    Judge({.tells = tells, .settings = std::move(*settings), .tasks = std::move(*tasks)});
}

bool FollowerWatch::IsCalm(const std::optional<LeaderRow>& leader) {
    const Instant now = runtime_.Now();
    if (!calm_ || !leader || !leader->Is(calm_->leader)) return false;
    return now.wall <= calm_->until && now.steady - calm_->read_at < kReadAnyway;
}

// Whether nothing is late, and nothing was told to be.
bool FollowerWatch::NoteCalm(const std::vector<TaskRow>& tasks,
                             const std::optional<LeaderRow>& leader) {
    calm_.reset();
    const Instant now = runtime_.Now();
    Time until = Time::max();
    for (const TaskRow& row : tasks) {
        const FireState& state = row.state;
        if (state.paused || state.next_at == Time{}) continue;
        until = std::min(until, state.next_at + config_.grace);
    }
    if (until < now.wall || !told_.empty() || !evaluator_.active().empty()) return false;
    if (leader) {
        calm_ = Calm{{leader->partition, leader->epoch, leader->nonce}, until, now.steady};
    }
    return true;
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

Flow<Result<std::vector<TaskRow>>> FollowerWatch::ReadTasks(Stay term) {
    std::vector<TaskRow> tasks;
    for (bool more = true; more && tasks.size() < kTasksMax;) {
        TaskFilter filter{.limit = kPage};
        if (!tasks.empty()) filter.after = tasks.back().task->id.text().str();
        auto rows = co_await term.Wait<Result<std::vector<TaskRow>>>(
            [&](auto done) { rows_.ListTasks(filter, std::move(done)); });
        if (!rows) co_return std::unexpected(rows.error());
        more = rows->size() >= kPage;
        std::ranges::move(*rows, std::back_inserter(tasks));
    }
    co_return tasks;
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
    calm_.reset();
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
