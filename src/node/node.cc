#include "node/node.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/failpoint.h"
#include "base/log.h"

namespace takt::internal {
namespace {

// Followers tell of themselves at least this often, so that status is never much older.
constexpr Duration kPublishInterval{1'000};

// A lookup that the store could not answer is asked again, slower each time.
constexpr Duration kLookupRetry{50};
constexpr Duration kLookupRetryMax{2'000};

constexpr Duration kLoadRetry{200};
// A leader that cannot load for so many of its ttls lets another one try.
constexpr int kLoadTtls = 3;

// Of what a batch may hold. A batch may be half full when a step begins, and a row with the largest
// payload or result may come on top of what makes the step tired.
constexpr std::size_t kStepShare = 8;

}  // namespace

std::string_view Name(Role role) {
    switch (role) {
        case Role::kFollower:
            return "follower";
        case Role::kLoading:
            return "loading";
        case Role::kLeader:
            return "leader";
        case Role::kStopped:
            return "stopped";
    }
    return "unknown";
}

Node::Node(Runtime& runtime, Store& store, NodeConfig config, const RandomSeed& seed, Sink* sink)
    : runtime_(runtime),
      store_(store),
      config_(std::move(config)),
      sink_(sink),
      random_(seed),
      leadership_(runtime, store, config_.leadership, random_,
                  {.on_elected = [this](const Term& term) { OnElected(term); },
                   .on_deposed = [this](const std::string& why) { OnDeposed(why); },
                   .on_leader = [this] { Publish(); }}),
      started_at_(runtime.Now().wall) {
    Publish();
}

Node::~Node() {
    runtime_.Cancel(timer_);
    runtime_.Cancel(announce_timer_);
    runtime_.Cancel(stop_timer_);
}

void Node::Start() {
    runtime_.Post([this, alive = std::weak_ptr(alive_)] {
        if (!alive.lock()) return;
        AnnounceLater(Duration(0));
        leadership_.Start();
    });
}

// --- Inbox --------------------------------------------------------------------------------------

void Node::Ask(Input input, Done<Answer> done) {
    Push({std::move(input), std::move(done)});
}

void Node::Tell(Input input) {
    Push({std::move(input), {}});
}

void Node::Tell(std::vector<Input> inputs) {
    {
        const std::scoped_lock lock(inbox_mutex_);
        for (Input& input : inputs) inbox_.push_back({std::move(input), {}});
        if (std::exchange(woken_, true)) return;
    }
    Wake();
}

void Node::Push(Item item) {
    std::unique_lock lock(inbox_mutex_);
    // What workers say must not be lost to a flood of requests, so only requests are refused.
    // Nothing here bounds the workers: a result that is thrown away is a run for nothing.
    if (item.done && inbox_.size() >= config_.inbox_max) {
        lock.unlock();
        return runtime_.Post([done = std::move(item.done)]() mutable {
            done(
                Fail(ErrorCode::kExhausted, "too many requests wait to be taken; try again later"));
        });
    }
    inbox_.push_back(std::move(item));
    if (std::exchange(woken_, true)) return;
    lock.unlock();
    Wake();
}

void Node::Wake() {
    runtime_.Post([this, alive = std::weak_ptr(alive_)] {
        if (alive.lock()) Drain();
    });
}

void Node::Drain() {
    std::vector<Item> items;
    {
        const std::scoped_lock lock(inbox_mutex_);
        items.swap(inbox_);
        woken_ = false;
    }
    Trusted();
    for (Item& item : items) Take(item);
    Settle();
}

// Whether this node leads. After a pause the timer that ends the trust in a term may be late: what
// waits in the inbox must not be decided, nor refused as stale, by a leader of the past.
bool Node::Trusted() {
    if (engine_ && !leadership_.trusted()) {
        leadership_.Fenced("the lease could not be renewed in time");
    }
    return engine_ != nullptr;
}

void Node::Take(Item& item) {
    if (!item.done) {
        // A fleet at work never falls silent: a leader that stops would wait for its commits for
        // ever. Workers say it again to the next one.
        if (engine_ && !stopping_) Step(std::move(item.input));
        return;
    }
    if (stopping_) return Refuse(item, ErrorCode::kUnavailable, "this scheduler is shutting down");
    if (!engine_) {
        return Refuse(item, ErrorCode::kUnavailable,
                      role_ == Role::kLoading ? "this scheduler is taking over; try again shortly"
                                              : "this scheduler does not lead; ask the leader");
    }
    if (std::string why = WhyNot(); !why.empty()) {
        return Refuse(item, ErrorCode::kUnavailable, std::move(why));
    }
    // Who has not been answered yet may wait for the store's answer to a lookup.
    if (asked_.size() >= config_.inbox_max) {
        return Refuse(item, ErrorCode::kExhausted,
                      "too many requests wait for the store; try again later");
    }
    // A full store still finishes and purges what it has; only new work must wait.
    const bool new_work =
        std::holds_alternative<Submit>(item.input) || std::holds_alternative<Trigger>(item.input);
    if (std::string full = new_work ? store_.WhyFull() : ""; !full.empty()) {
        return item.done(Fail(ErrorCode::kUnavailable, std::move(full)));
    }
    const RequestId request = ++last_request_;
    std::visit(
        [&](auto& known) {
            if constexpr (requires { known.request; }) known.request = request;
        },
        item.input);
    asked_.emplace(request, std::move(item.done));
    Step(std::move(item.input));
}

// Why the leader cannot take a request now; empty if it can.
std::string Node::WhyNot() const {
    if (!committer_->trouble().empty()) {
        return "the store cannot be written to: " + committer_->trouble();
    }
    const bool behind = committer_->backlog() > config_.backlog_max &&
                        committer_->backlog_changes() > config_.backlog_changes_max;
    if (behind || committer_->backlog_bytes() > config_.backlog_bytes_max) {
        return "the store is slower than what is asked of it; try again shortly";
    }
    return {};
}

void Node::Refuse(Item& item, ErrorCode code, std::string why) {
    item.done(Fail(code, std::move(why)));
}

void Node::Step(Input input) {
    engine_->Step(std::move(input), runtime_.Now(), committer_->effects());
    TAKT_FAIL_POINT("node.step.after");
    committer_->Added(engine_->last_serial());
}

// After one or more steps: sends what has gathered, and sees to the next deadline.
void Node::Settle() {
    if (engine_) committer_->Gathered(engine_->last_serial());
    ArmTimer();
}

void Node::ArmTimer() {
    runtime_.Cancel(std::exchange(timer_, 0));
    if (!engine_ || stopping_) return;
    const Duration next = engine_->NextDeadline(runtime_.Now()).value_or(config_.look_again);
    timer_ = runtime_.After(std::min(next, config_.look_again), [this] {
        timer_ = 0;
        if (!Trusted()) return;
        if (engine_->NextDeadline(runtime_.Now()) == Duration(0)) Step(Tick{});
        Settle();
    });
}

// --- Terms --------------------------------------------------------------------------------------

void Node::OnElected(const Term& term) {
    ++term_number_;
    Log(LogLevel::kInfo, "node", "elected", {{"epoch", term.epoch}});
    engine_.reset();
    auto seed = RandomSeed{};
    random_.Fill(seed);
    EngineConfig config = config_.engine;
    const StoreLimits limits = store_.limits();
    config.bytes_per_step = std::min(config.bytes_per_step, limits.bytes_max / kStepShare);
    config.purge_max = static_cast<std::uint32_t>(limits.purge_max);
    loading_ = std::make_unique<Engine>(config, TermView{term.partition, term.epoch}, seed);
    loaded_serial_ = 0;
    loading_since_ = runtime_.Now().steady;
    SetRole(Role::kLoading);
    LoadNext({});
}

void Node::LoadNext(std::string cursor) {
    store_.Load(config_.leadership.partition, cursor,
                [this, &runtime = runtime_, cursor, number = term_number_,
                 alive = std::weak_ptr(alive_)](auto page) {
                    runtime.Post([this, cursor, number, alive, page = std::move(page)]() mutable {
                        if (!alive.lock() || number != term_number_ || !loading_) return;
                        if (page) return OnLoaded(std::move(*page));
                        const auto since = runtime_.Now().steady - loading_since_;
                        if (since >= kLoadTtls * config_.leadership.ttl) {
                            return leadership_.GiveUp("what is stored cannot be loaded: " +
                                                      page.error().detail);
                        }
                        Log(LogLevel::kWarning, "node", "cannot load, trying again",
                            {{"error", page.error().detail}});
                        runtime_.After(kLoadRetry, [this, cursor, number, alive] {
                            if (!alive.lock() || number != term_number_ || !loading_) return;
                            LoadNext(cursor);
                        });
                    });
                });
}

void Node::OnLoaded(LoadPage page) {
    loading_since_ = runtime_.Now().steady;  // It gets on.
    for (const SettingPut& setting : page.settings) {
        loading_->RestoreSetting(setting.key, setting.value);
    }
    for (Worker& worker : page.workers) loading_->RestoreWorker(std::move(worker));
    for (TaskRow& task : page.tasks) loading_->RestoreTask(std::move(task));
    for (Execution& execution : page.executions) loading_->RestoreExecution(std::move(execution));
    loaded_serial_ = std::max(loaded_serial_, page.last_serial);
    if (!page.next.empty()) return LoadNext(std::move(page.next));
    BeginTerm();
}

void Node::BeginTerm() {
    TAKT_FAIL_POINT("node.term.begin");
    engine_ = std::move(loading_);
    CommitterConfig config = config_.committer;
    config.give_up_after = config_.leadership.ttl;
    committer_ = std::make_unique<Committer>(
        runtime_, store_, *leadership_.term(), config,
        Committer::Events{.release = [this](const Effects& effects) { Release(effects); },
                          .on_fenced = [this](const std::string& why) { leadership_.Fenced(why); },
                          .on_stuck = [this](const std::string& why) { leadership_.GiveUp(why); },
                          .on_commit =
                              [this](const Committed& committed) {
                                  if (sink_) sink_->OnCommit(committed);
                              }});
    engine_->Begin(loaded_serial_, runtime_.Now(), committer_->effects());
    Log(LogLevel::kInfo, "node", "leading",
        {{"epoch", leadership_.term()->epoch}, {"live", engine_->live_count()}});
    SetRole(Role::kLeader);
    committer_->Added(engine_->last_serial());
    Settle();
}

void Node::OnDeposed(const std::string& why) {
    Log(LogLevel::kWarning, "node", "not leading any more", {{"why", why}});
    EndTerm(why);
    SetRole(Role::kFollower);
}

// Forgets what the term had decided and answers whoever waits.
void Node::EndTerm(const std::string& why) {
    ++term_number_;
    loading_.reset();
    // Kept until the stack is unwound: this may be called from inside either of them.
    runtime_.Post([engine = std::move(engine_), committer = std::move(committer_)] {});
    engine_.reset();
    committer_.reset();
    runtime_.Cancel(std::exchange(timer_, 0));
    auto asked = std::exchange(asked_, {});
    for (auto& [request, done] : asked) {
        done(Fail(ErrorCode::kUnknown,
                  "the answer is not known, ask again with the same id: " + why));
    }
}

void Node::Release(const Effects& effects) {
    if (engine_) engine_->NoteReleased(effects, runtime_.Now());
    for (const Reply& reply : effects.replies) {
        const auto found = asked_.find(reply.request);
        if (found == asked_.end()) continue;
        Done<Answer> done = std::move(found->second);
        asked_.erase(found);
        done(reply.answer);
    }
    for (const Lookup& lookup : effects.lookups) LookUp(lookup.ids, kLookupRetry);
    if (sink_) sink_->Release(effects);
    if (stopping_) FinishStop();
}

void Node::LookUp(std::vector<ExecutionId> ids, Duration retry_delay) {
    auto copy = ids;
    store_.FindExecutions(std::move(copy), [this, &runtime = runtime_, ids = std::move(ids),
                                            retry_delay, number = term_number_,
                                            alive = std::weak_ptr(alive_)](auto found) mutable {
        runtime.Post([this, ids = std::move(ids), retry_delay, number, alive,
                      found = std::move(found)]() mutable {
            if (!alive.lock() || number != term_number_ || !engine_) return;
            if (found) {
                // Each answer is a step of its own: what it makes may be as large as a payload.
                for (std::size_t i = 0; i < ids.size() && engine_; ++i) {
                    LookupDone answer;
                    answer.ids.push_back(std::move(ids[i]));
                    answer.found.push_back(std::move((*found)[i]));
                    Step(std::move(answer));
                }
                return Settle();
            }
            runtime_.After(retry_delay,
                           [this, ids = std::move(ids), retry_delay, number, alive]() mutable {
                               if (!alive.lock() || number != term_number_) return;
                               LookUp(std::move(ids), std::min(retry_delay * 2, kLookupRetryMax));
                           });
        });
    });
}

// --- Being there --------------------------------------------------------------------------------

void Node::SetRole(Role role) {
    role_ = role;
    Publish();
    if (sink_) sink_->OnRole(role);
}

void Node::Publish() {
    NodeStatus status{.node = config_.leadership.node,
                      .role = role_,
                      .epoch = leadership_.term() ? leadership_.term()->epoch : 0,
                      .leader = leadership_.leader(),
                      .elections = leadership_.elections(),
                      .commits = committer_ ? committer_->commits() : 0,
                      .changes = committer_ ? committer_->changes() : 0,
                      .trouble = committer_ ? committer_->trouble() : leadership_.trouble(),
                      .started_at = started_at_};
    const std::scoped_lock lock(status_mutex_);
    status_ = std::move(status);
}

NodeStatus Node::status() const {
    const std::scoped_lock lock(status_mutex_);
    return status_;
}

void Node::AnnounceLater(Duration delay) {
    announce_timer_ = runtime_.After(delay, [this] {
        const NodeRow row{.node = config_.leadership.node,
                          .address = config_.leadership.address,
                          .version = config_.version,
                          .started_at = started_at_};
        // A miss is made up for by the next one: there are at least three of them in a ttl.
        store_.Announce(row, config_.leadership.ttl, [](Result<void>) {});
        Publish();
        AnnounceLater(std::min(config_.leadership.ttl / 3, kPublishInterval));
    });
}

void Node::NoteEpoch(std::uint64_t epoch) {
    runtime_.Post([this, epoch, alive = std::weak_ptr(alive_)] {
        if (alive.lock()) leadership_.NoteEpoch(epoch);
    });
}

void Node::Look(std::move_only_function<void(const Engine*)> look) {
    runtime_.Post([this, look = std::move(look), alive = std::weak_ptr(alive_)]() mutable {
        look(alive.lock() ? engine_.get() : nullptr);
    });
}

void Node::Stop(Action done) {
    runtime_.Post([this, done = std::move(done), alive = std::weak_ptr(alive_)]() mutable {
        if (!alive.lock()) return;
        stopping_ = true;
        stopped_ = std::move(done);
        runtime_.Cancel(announce_timer_);
        stop_timer_ = runtime_.After(config_.stop_deadline, [this] {
            EndTerm("this scheduler was stopped while the store did not answer");
            FinishStop();
        });
        if (committer_) committer_->Flush();
        FinishStop();
    });
}

// Goes on with the stop once nothing is under way.
void Node::FinishStop() {
    if (!stopped_ || (committer_ && !committer_->idle())) return;
    runtime_.Cancel(std::exchange(stop_timer_, 0));
    Action done = std::exchange(stopped_, {});
    EndTerm("this scheduler was stopped");
    SetRole(Role::kStopped);
    const NodeRow row{.node = config_.leadership.node};
    store_.Announce(row, Duration(0), [](Result<void>) {});
    leadership_.Resign(std::move(done));
}

}  // namespace takt::internal
