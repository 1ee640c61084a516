#include "alerts/follower_watch.h"

#include <algorithm>
#include <utility>

#include "alerts/late_runs.h"
#include "base/log.h"

namespace takt::internal {
namespace {

// Recurring tasks that are looked at; a page is a thousand.
constexpr std::size_t kTasksMax = 20'000;
constexpr std::size_t kPage = 1'000;

}  // namespace

FollowerWatch::FollowerWatch(Runtime& runtime, Store& store, Delivery& delivery,
                             FollowerWatchConfig config)
    : runtime_(runtime),
      store_(store),
      delivery_(delivery),
      config_(std::move(config)),
      book_(config_.rules) {
    // A node begins as a follower, and is told only of changes.
    if (config_.enabled) {
        runtime_.Post([this, alive = std::weak_ptr(alive_)] {
            if (alive.lock() && turn_ == 0) OnRole(Role::kFollower);
        });
    }
}

FollowerWatch::~FollowerWatch() {
    runtime_.Cancel(timer_);
}

void FollowerWatch::OnRole(Role role) {
    const bool follows = role == Role::kFollower && config_.enabled;
    ++turn_;
    if (follows == following_) return;
    following_ = follows;
    runtime_.Cancel(std::exchange(timer_, 0));
    Forget();
    if (follows) LookLater();
}

void FollowerWatch::LookLater() {
    timer_ = runtime_.After(config_.interval, [this] {
        timer_ = 0;
        ReadSettings();
        LookLater();
    });
}

template <typename T, typename Then>
Done<T> FollowerWatch::Next(Then then) {
    return [this, &runtime = runtime_, turn = turn_, then = std::move(then),
            alive = std::weak_ptr(alive_)](Result<T> answer) mutable {
        runtime.Post(
            [this, turn, alive, then = std::move(then), answer = std::move(answer)]() mutable {
                if (!alive.lock() || turn != turn_ || !following_) return;
                if (answer) return then(std::move(*answer));
                // It is looked again soon anyway; that the store is away others say louder.
                Log(LogLevel::kDebug, "alerts", "a follower cannot read the due times",
                    {{"error", answer.error().detail}});
            });
    };
}

void FollowerWatch::ReadSettings() {
    store_.ListSettings(Text("alert"),
                        Next<std::vector<SettingPut>>([this](std::vector<SettingPut> settings) {
                            auto view = std::make_shared<View>();
                            view->settings = std::move(settings);
                            ReadNodes(std::move(view));
                        }));
}

void FollowerWatch::ReadNodes(std::shared_ptr<View> view) {
    store_.Nodes(Next<std::vector<NodeRow>>([this, view](std::vector<NodeRow> nodes) {
        view->nodes = std::move(nodes);
        ReadLeader(view);
    }));
}

void FollowerWatch::ReadLeader(std::shared_ptr<View> view) {
    store_.Leader(0, Next<std::optional<LeaderRow>>([this, view](std::optional<LeaderRow> leader) {
                      view->leader = std::move(leader);
                      // One that is not to tell begins anew when its turn comes.
                      if (IsMine(*view)) return ReadTasks(view);
                      Forget();
                  }));
}

bool FollowerWatch::IsMine(const View& view) const {
    return std::ranges::none_of(view.nodes, [&](const NodeRow& row) {
        const bool leads = view.leader && view.leader->node == row.node;
        return !leads && row.node < config_.node;
    });
}

void FollowerWatch::ReadTasks(std::shared_ptr<View> view) {
    TaskFilter filter{.limit = kPage};
    if (!view->tasks.empty()) filter.after = view->tasks.back().task->id.text().str();
    store_.ListTasks(filter, Next<std::vector<TaskRow>>([this, view](std::vector<TaskRow> rows) {
                         const bool more = rows.size() >= kPage;
                         std::ranges::move(rows, std::back_inserter(view->tasks));
                         if (more && view->tasks.size() < kTasksMax) return ReadTasks(view);
                         Judge(*view);
                     }));
}

void FollowerWatch::Judge(const View& view) {
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
    for (const auto& [key, entry] : evaluator_.active()) {
        const Alert& alert = entry.alert;
        const bool fires = alert.state == AlertState::kFiring && entry.well_since == Time{};
        if (!fires || told_.contains(alert.id) || !MayTell(view, alert)) continue;
        Send(alert);
        told_.emplace(alert.id, alert);
    }
    for (auto item = told_.begin(); item != told_.end();) {
        const Alert& alert = item->second;
        const bool over = alert.state == AlertState::kResolved;
        const bool mine = over && MayTell(view, alert);
        if (mine) Send(alert);
        item = mine || (over && IsKnown(view, alert)) ? told_.erase(item) : std::next(item);
    }
}

void FollowerWatch::Forget() {
    evaluator_.Clear();
    told_.clear();
}

// A leader has it, and tells it.
bool FollowerWatch::IsKnown(const View& view, const Alert& alert) {
    return std::ranges::any_of(view.settings, [&](const SettingPut& row) {
        return row.key.view() == std::string(kAlertPrefix) + alert.id;
    });
}

bool FollowerWatch::MayTell(const View& view, const Alert& alert) const {
    return !IsKnown(view, alert) && book_.silenced_until(alert.rule) <= runtime_.Now().wall;
}

void FollowerWatch::Send(const Alert& alert) {
    const AlertRule* rule = book_.Find(alert.rule);
    delivery_.Send({.alert = alert,
                    .rule_description = rule ? rule->description : "",
                    .observer = config_.node.text().str()},
                   rule ? rule->channels : std::vector<std::string>{}, [] {});
}

}  // namespace takt::internal
