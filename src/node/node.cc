#include "node/node.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "engine/growth.h"

namespace takt::internal {
namespace {

// A lookup that the store could not answer is asked again, slower each time.
constexpr Duration kLookupRetry{50};
constexpr Duration kLookupRetryMax{2'000};

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

Node::Node(Runtime& runtime, Store& store, NodeConfig config, const RandomSeed& seed, Sink* sink,
           Presence* presence)
    : runtime_(runtime),
      store_(store),
      config_(std::move(config)),
      engine_config_(config_.engine),
      sink_(sink),
      random_(seed),
      started_at_(runtime.Now().wall),
      own_presence_(presence ? nullptr : MakePresence()),
      presence_(presence ? *presence : *own_presence_),
      commons_(config_.commons ? config_.commons : std::make_shared<const Commons>()),
      leadership_(runtime, store, presence_, config_.leadership.partition, config_.leadership.name,
                  {.on_elected = [this](const Term& term) { OnElected(term); },
                   .on_deposed = [this](const std::string& why) { OnDeposed(why); },
                   .on_change = [this] { Publish(); },
                   .on_hand_over = [this](const NodeId& to) { HandOver(to); },
                   .on_loss = [this](auto had, auto has) { NoteLostTerm(had, has); }}),
      inbox_(commons_->inbox, [this] { home_.Post([this] { DrainInbox(); }); }),
      asked_share_(commons_->asked),
      backlog_share_(commons_->backlog_bytes),
      live_share_(commons_->live),
      home_(runtime) {
    leadership_.NoteEpoch(config_.leadership.epoch_floor);
    Publish();
}

Node::~Node() {
    runtime_.Cancel(timer_);
    runtime_.Cancel(stop_timer_);
    runtime_.Cancel(hand_over_timer_);
    runtime_.Cancel(publish_timer_);
}

void Node::Start() {
    home_.Post([this] {
        if (own_presence_) own_presence_->Start();
        leadership_.Start();
        PublishLater();
    });
}

// --- Inbox --------------------------------------------------------------------------------------

void Node::Ask(Input input, Done<Answer> done) {
    Inbox::Item item{std::move(input), std::move(done)};
    if (inbox_.Ask(item)) return;
    runtime_.Post([done = std::move(item.done)]() mutable {
        done(Fail(ErrorCode::kExhausted, "too many requests wait to be taken; try again later"));
    });
}

void Node::Tell(Input input) {
    inbox_.Tell(std::move(input));
}

void Node::Tell(std::vector<Input> inputs) {
    inbox_.Tell(std::move(inputs));
}

void Node::DrainInbox() {
    CheckTrust();
    const Steady now = runtime_.Now().steady;
    const Steady until = now + (commons_->company->shared(now) ? Company::kTurn : config_.turn);
    const bool more = inbox_.TakeEach([&](Inbox::Item& item) {
        // A step reads the clocks: they cost as much as many a decision, and are not read again.
        if (!TakeInput(item)) stepped_at_ = runtime_.Now().steady;
        return stepped_at_ < until;
    });
    if (more) home_.Post([this] { DrainInbox(); });
    EndTurn();
}

// Whether this node leads. After a pause the timer that ends the trust in a term may be late: what
// waits in the inbox must not be decided, nor refused as stale, by a leader of the past.
bool Node::CheckTrust() {
    if (engine_ && !leadership_.trusted()) leadership_.Fenced(leadership_.WhyUntrusted());
    return engine_ != nullptr;
}

// False if it was dropped or refused.
bool Node::TakeInput(Inbox::Item& item) {
    if (!item.done) {
        // A fleet at work never falls silent: a leader that stops would wait for its commits for
        // ever. Workers say it again to the next one.
        if (!engine_ || stopping_ || !heir_.empty()) return false;
        StepEngine(std::move(item.input));
        return true;
    }
    const auto refuse = [&](ErrorCode code, std::string why) {
        item.done(Fail(code, std::move(why)));
        return false;
    };
    if (stopping_) return refuse(ErrorCode::kUnavailable, "this scheduler is shutting down");
    if (!heir_.empty()) {
        return refuse(ErrorCode::kUnavailable, "another scheduler takes over; try again shortly");
    }
    if (!engine_) {
        return refuse(ErrorCode::kUnavailable,
                      role_ == Role::kLoading ? "this scheduler is taking over; try again shortly"
                                              : "this scheduler does not lead; ask the leader");
    }
    if (std::string why = WhyNotNow(); !why.empty()) {
        return refuse(ErrorCode::kUnavailable, std::move(why));
    }
    // A caller who has not been answered yet may wait for the store's answer to a lookup.
    if (asked_share_.full()) {
        return refuse(ErrorCode::kExhausted,
                      "too many requests wait for the store; try again later");
    }
    // A full store still finishes and purges what it has; only what would make it fuller must wait.
    if (std::string full = store_.WhyFull(); !full.empty() && Grows(item.input, *engine_)) {
        StepEngine(MakeRoom{});
        return refuse(ErrorCode::kUnavailable, std::move(full));
    }
    const bool new_work = std::get_if<Submit>(&item.input) || std::get_if<Trigger>(&item.input);
    if (new_work && live_share_.full()) {
        return refuse(ErrorCode::kExhausted,
                      "this scheduler has as many unfinished executions in memory as it may "
                      "(scheduler.executions_max); try again later");
    }
    const RequestId request = ++last_request_;
    std::visit(
        [&](auto& held) {
            auto& known = Unboxed(held);
            if constexpr (requires { known.request; }) known.request = request;
        },
        item.input);
    asked_.emplace(request, std::move(item.done));
    asked_share_.Add(1);
    StepEngine(std::move(item.input));
    return true;
}

// Why the leader cannot take a request now; empty if it can.
std::string Node::WhyNotNow() const {
    if (!committer_->trouble().empty()) {
        return "the store cannot be written to: " + committer_->trouble();
    }
    const bool behind = committer_->backlog() > config_.backlog_max &&
                        committer_->backlog_changes() > config_.backlog_changes_max;
    if (behind || backlog_share_.full()) {
        return "the store is slower than what is asked of it; try again shortly";
    }
    return {};
}

void Node::StepEngine(Input&& input) {
    const Instant now = runtime_.Now();
    stepped_at_ = now.steady;
    engine_->Step(std::move(input), now, committer_->effects());
    TAKT_FAIL_POINT("node.step.after");
    committer_->NoteStep(engine_->last_serial());
}

// After one or more steps: sends what has gathered, and sees to the next deadline.
void Node::EndTurn() {
    if (engine_) {
        committer_->SendGathered();
        backlog_share_.Set(committer_->backlog_bytes());
        live_share_.Set(engine_->live_count());
    }
    ArmTimer();
    if (engine_ && engine_->worn_out()) {
        leadership_.GiveUp(
            "the numbers of lock tokens of this term are used up; the next has its own");
    }
}

void Node::ArmTimer() {
    runtime_.Cancel(std::exchange(timer_, 0));
    if (!engine_ || stopping_ || !heir_.empty()) return;
    const Duration next = engine_->NextDeadline(runtime_.Now()).value_or(config_.look_again);
    timer_ = runtime_.After(std::min(next, config_.look_again), [this] {
        timer_ = 0;
        if (!CheckTrust()) return;
        if (engine_->NextDeadline(runtime_.Now()) == Duration(0)) StepEngine(Tick{});
        EndTurn();
    });
}

// --- Terms --------------------------------------------------------------------------------------

void Node::OnElected(const Term& term) {
    home_.NextTerm();
    Log(LogLevel::kInfo, "node", "elected",
        {{"epoch", term.epoch}, {"namespace", config_.leadership.name.view()}});
    engine_.reset();
    auto seed = RandomSeed{};
    random_.Fill(seed);
    EngineConfig config = engine_config_;
    const StoreLimits limits = store_.limits();
    config.bytes_per_step = std::min(config.bytes_per_step, limits.bytes_max / kStepShare);
    config.leader_ttl = config_.leadership.ttl;
    config.purge_max = static_cast<std::uint32_t>(limits.purge_max);
    loader_ = std::make_unique<Loader>(
        runtime_, store_, partition(), kLoadTtls * presence_.config().ttl,
        std::make_unique<Engine>(config, TermView{term.partition, term.epoch}, seed),
        Loader::Events{.on_loaded = [this](auto engine,
                                           Serial serial) { BeginTerm(std::move(engine), serial); },
                       .on_stuck = [this](const std::string& why) { leadership_.GiveUp(why); }});
    SetRole(Role::kLoading);
    load_place_ =
        commons_->loads->Enter(partition(), home_.term().Here([this] { loader_->Start(); }));
}

void Node::BeginTerm(std::unique_ptr<Engine> engine, Serial last_serial) {
    TAKT_FAIL_POINT("node.term.begin");
    loader_.reset();
    load_place_.Leave();
    parted_ = false;
    engine_ = std::move(engine);
    CommitterConfig config = config_.committer;
    config.give_up_after = presence_.config().ttl;
    config.company = commons_->company;
    committer_ = std::make_unique<Committer>(
        runtime_, store_, *leadership_.term(), config,
        Committer::Events{.release = [this](const Effects& effects) { Release(effects); },
                          .on_fenced = [this](const std::string& why) { leadership_.Fenced(why); },
                          .on_stuck = [this](const std::string& why) { leadership_.GiveUp(why); },
                          .on_commit =
                              [this](const Committed& committed) {
                                  if (sink_) sink_->OnCommit(committed);
                              }});
    NoteLoss(last_serial);
    engine_->Begin(last_serial, runtime_.Now(), committer_->effects());
    Log(LogLevel::kInfo, "node", "leading",
        {{"epoch", leadership_.term()->epoch},
         {"namespace", config_.leadership.name.view()},
         {"live", engine_->live_count()}});
    SetRole(Role::kLeader);
    committer_->NoteStep(engine_->last_serial());
    EndTurn();
    TellConfig();
}

void Node::OnDeposed(const std::string& why) {
    Log(LogLevel::kWarning, "node", "not leading any more",
        {{"namespace", config_.leadership.name.view()}, {"why", why}});
    EndTerm(why);
    SetRole(Role::kFollower);
}

// Forgets what the term had decided and answers whoever waits.
void Node::EndTerm(const std::string& why) {
    home_.NextTerm();
    heir_ = {};
    runtime_.Cancel(std::exchange(hand_over_timer_, 0));
    loader_.reset();
    load_place_.Leave();
    if (committer_) {
        committer_->Close();
        stored_serial_ = std::max(stored_serial_, committer_->stored_serial());
        live_left_ = engine_->live_count();
    }
    // Kept until the stack is unwound: this may be called from inside either of them.
    runtime_.Post([engine = std::move(engine_), committer = std::move(committer_)] {});
    engine_.reset();
    committer_.reset();
    runtime_.Cancel(std::exchange(timer_, 0));
    backlog_share_.Set(0);
    live_share_.Set(0);
    asked_share_.Set(0);
    auto asked = std::exchange(asked_, {});
    if (TAKT_MUTANT("node.forget_askers")) asked.clear();
    for (auto& [request, done] : asked) {
        done(Fail(ErrorCode::kUnknown,
                  "the answer is not known, ask again with the same id: " + why));
    }
}

void Node::Release(const Effects& effects) {
    if (engine_) {
        engine_->NoteReleased(effects, runtime_.Now());
        backlog_share_.Set(committer_->backlog_bytes());
    }
    for (const Reply& reply : effects.replies) {
        const auto found = asked_.find(reply.request);
        if (found == asked_.end()) continue;
        Done<Answer> done = std::move(found->second);
        asked_.erase(found);
        asked_share_.Remove(1);
        done(reply.answer);
    }
    for (const Lookup& lookup : effects.lookups) Launch(LookUp(lookup.ids));
    if (sink_) sink_->Release(effects);
    if (stopping_) FinishStop();
    if (!heir_.empty()) FinishHandOver();
}

// Ends with the term: what the engine asked for, the next one asks for again.
Flow<> Node::LookUp(std::vector<ExecutionId> ids) {
    const Stay term = home_.term();
    for (Duration delay = kLookupRetry;; delay = std::min(delay * 2, kLookupRetryMax)) {
        auto found = co_await term.Wait<Result<std::vector<std::optional<Execution>>>>(
            [&](auto done) { store_.FindExecutions(partition(), ids, std::move(done)); });
        if (!found) {
            if (TAKT_MUTANT("node.give_up_lookups")) co_return;
            co_await term.Sleep(delay);
            continue;
        }
        // Each answer is a step of its own: what it makes may be as large as a payload.
        for (std::size_t i = 0; i < ids.size() && engine_; ++i) {
            LookupDone answer;
            answer.ids.push_back(std::move(ids[i]));
            answer.found.push_back(std::move((*found)[i]));
            StepEngine(std::move(answer));
        }
        co_return EndTurn();
    }
}

void Node::SetEngineConfig(Configure values) {
    home_.Post([this, values = std::move(values)]() mutable {
        Apply(values, engine_config_);
        // One that is being loaded had the old values; it is told as soon as it begins.
        configure_ = std::move(values);
        TellConfig();
    });
}

void Node::TellConfig() {
    if (!engine_ || !configure_) return;
    StepEngine(std::exchange(configure_, std::nullopt).value());
    EndTurn();
}

// --- Being there --------------------------------------------------------------------------------

void Node::SetRole(Role role) {
    role_ = role;
    Publish();
    if (sink_) sink_->OnRole(role);
}

void Node::NoteEpoch(std::uint64_t epoch) {
    home_.Post([this, epoch] { leadership_.NoteEpoch(epoch); });
}

void Node::Look(std::move_only_function<void(const Engine*)> look) {
    runtime_.Post([this, look = std::move(look), stay = home_.stay()]() mutable {
        look(stay.holds() ? engine_.get() : nullptr);
    });
}

void Node::Stop(Action done) {
    home_.Post([this, done = std::move(done)]() mutable {
        stopping_ = true;
        stopped_ = std::move(done);
        if (own_presence_) own_presence_->Pause();
        stop_timer_ = runtime_.After(config_.stop_deadline, [this] {
            EndTerm("this scheduler was stopped while the store did not answer");
            EndStop();
        });
        if (committer_) committer_->SendAll();
        FinishStop();
    });
}

}  // namespace takt::internal
