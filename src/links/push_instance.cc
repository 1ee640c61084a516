#include "links/push_instance.h"

#include <algorithm>
#include <utility>

#include "base/failpoint.h"
#include "base/log.h"
#include "base/url.h"
#include "links/push_call.h"
#include "links/service_report.h"
#include "links/session_id.h"
#include "node/node.h"

namespace takt::internal {
namespace {

// How long an instance is left alone when this process had no descriptor left to call it.
constexpr Duration kRest{1'000};

Duration SinceThen(Steady then, Steady now) {
    return std::chrono::duration_cast<Duration>(now - then);
}

}  // namespace

PushInstance::PushInstance(std::shared_ptr<PushContext> context, Worker row)
    : context_(std::move(context)),
      row_(std::move(row)),
      gone_since_(context_->runtime.Now().steady),
      heard_at_(gone_since_),
      breaker_(context_->config.breaker) {}

bool PushInstance::checked() const {
    return context_->config.health_check && !row_.health_url.empty();
}

// --- Sessions -----------------------------------------------------------------------------------

// Everything is sent again, under the same token. An attempt whose call may have been under way
// when the earlier leader went may not have arrived. One that began before any call could still be
// open was taken, but knows only where earlier schedulers were.
void PushInstance::Restore(std::vector<Assign> hand, const LeftAttempts& left) {
    const Time now = context_->runtime.Now().wall;
    for (Assign& assign : hand) {
        const Time started = assign.execution.started_at;
        const bool taken = started != Time{} && now - started > context_->config.timeout;
        const Token token = assign.execution.token;
        Attempt attempt{.assign = std::move(assign),
                        .reminder = taken,
                        .resent = true,
                        .known = context_->tokens->Add(token)};
        // Its time begins anew, as the engine has it: it may have ended in time while nobody led. It
        // goes on whether or not it can be sent again: only so it ends if it never is.
        attempt.deadline = now + attempt.assign.timeout;
        const auto found = left.find(attempt.assign.execution.id.text());
        if (found != left.end() &&
            (found->second.attempt == 0 || found->second.attempt == attempt.ref().attempt)) {
            attempt.phase = Phase::kWaiting;
            attempt.keeper = found->second.keeper;
        } else {
            queue_.push_back(attempt.ref());
        }
        const Text id = attempt.assign.execution.id.text();
        attempts_.insert_or_assign(id, std::move(attempt));
    }
}

void PushInstance::Open() {
    if (removing_) return;
    if (session_ != 0) context_->sessions.erase(session_);
    in_question = false;
    session_ = NewSessionId();
    context_->sessions[session_] = this;
    internal::Attach attach{.session = session_, .worker = row_, .load = LoadNow()};
    for (const auto& [id, attempt] : attempts_) attach.holding.push_back(attempt.ref());
    heard_at_ = context_->runtime.Now().steady;
    context_->node->Tell(std::move(attach));
    // It may have begun when the leader before took no word of it any more.
    for (const auto& [id, attempt] : attempts_) {
        if (attempt.phase != Phase::kWaiting && !attempt.resent) continue;
        if (attempt.assign.execution.started_at != Time{}) continue;
        context_->node->Tell(Started{.session = session_, .attempt = attempt.ref()});
    }
    Pump();
}

void PushInstance::Leave() {
    if (session_ != 0) context_->sessions.erase(session_);
    session_ = 0;
    gone_since_ = context_->runtime.Now().steady;
    attempts_.clear();
    queue_.clear();
    passes_ = 0;
}

void PushInstance::GoOffline(Text why) {
    if (session_ == 0) return;
    Log(LogLevel::kWarning, "executors", "executor taken out",
        {{"executor", row_.id}, {"why", why}});
    context_->node->Tell(SetWorkerStatus{
        .worker = row_.id, .status = WorkerStatus::kOffline, .reason = std::move(why)});
    Leave();
}

void PushInstance::Update(Worker row) {
    // The attempts of a process that died died with it.
    if (row.instance != row_.instance) {
        attempts_.clear();
        queue_.clear();
    }
    row_ = std::move(row);
    ++registrations_;
    removing_ = false;
    failures_ = 0;
    declared_offline = false;
    breaker_.Succeeded();
    Open();
    Watch();
}

void PushInstance::EndRemoval() {
    removing_ = false;
    // It may have given something back meanwhile.
    if (session_ != 0) Open();
}

void PushInstance::Beat(const WorkerLoad& load) {
    load_ = load;
    heard_at_ = context_->runtime.Now().steady;
    if (session_ != 0) return TellLoad();
    // Where we check ourselves, our own checks decide.
    if (!checked() && MayComeBack()) Open();
}

void PushInstance::Drop() {
    Leave();
    context_->runtime.Cancel(std::exchange(health_timer_, 0));
    context_->runtime.Cancel(std::exchange(breaker_timer_, 0));
    context_->runtime.Cancel(std::exchange(rest_timer_, 0));
}

bool PushInstance::Tick() {
    const Steady now = context_->runtime.Now().steady;
    const PushLinkConfig& config = context_->config;
    if (session_ == 0) return declared_offline || SinceThen(gone_since_, now) < context_->forgotten;
    const Duration silence_max = config.health_interval * config.failure_threshold;
    if (!checked() && SinceThen(heard_at_, now) > silence_max) {
        GoOffline(Text("no heartbeat for " + FormatDuration(silence_max)));
    } else {
        TellLoad();
        TakeBackLeft();
        RemindAgain();
    }
    return true;
}

// Reminders that did not arrive: the instance may have been restarting.
void PushInstance::RemindAgain() {
    if (!queue_.empty()) return;
    for (auto& [id, attempt] : attempts_) {
        if (TAKT_MUTANT("links.order_twice")) attempt.phase = Phase::kQueued;
        if (attempt.phase == Phase::kQueued) queue_.push_back(attempt.ref());
    }
    Pump();
}

void PushInstance::TellLoad() {
    if (session_ == 0) return;
    context_->node->Tell(internal::Heartbeat{.session = session_, .load = LoadNow()});
}

bool PushInstance::WantsNothing() const {
    return breaker_.state() == CircuitBreaker::State::kOpen || rest_timer_ != 0 ||
           context_->leaving;
}

WorkerLoad PushInstance::LoadNow() const {
    WorkerLoad load = load_;
    load.trouble = Text(call_trouble_);
    if (WantsNothing()) {
        load.draining = true;
        load.tried_at = tried_at_;
    }
    return load;
}

// --- Attempts -----------------------------------------------------------------------------------

void PushInstance::OnAssign(const Assign& assign) {
    // Decided before the engine knew that this instance wants nothing: others may have room.
    if (WantsNothing()) return Open();
    Attempt attempt{.assign = assign, .known = context_->tokens->Add(assign.execution.token)};
    queue_.push_back(attempt.ref());
    attempts_.insert_or_assign(assign.execution.id.text(), std::move(attempt));
    Pump();
}

void PushInstance::OnStop(const StopAttempt& stop) {
    const Attempt* attempt = FindAttempt(stop.attempt);
    const bool unsent = attempt && attempt->deadline == Time{} && !attempt->resent;
    if (attempt && attempt->phase == Phase::kCalling) stopped_calls_.insert(stop.attempt.token);
    if (attempt) attempts_.erase(stop.attempt.execution.text());
    // It was not this worker's any more, and takes up room there until we say that it is over. Or
    // nobody has heard of it, and nothing need wait for its end.
    if (stop.reason == Reason::kWorkerLost || unsent) {
        context_->node->Tell(internal::Report{.session = stop.session, .attempt = stop.attempt});
    }
}

void PushInstance::OnEnded(const AttemptRef& attempt) {
    heard_at_ = context_->runtime.Now().steady;
    if (FindAttempt(attempt)) attempts_.erase(attempt.execution.text());
}

PushInstance::Attempt* PushInstance::FindAttempt(const AttemptRef& attempt) {
    const auto found = attempts_.find(attempt.execution.text());
    return found != attempts_.end() && found->second.ref() == attempt ? &found->second : nullptr;
}

void PushInstance::Pump() {
    const auto room = [&] {
        if (rest_timer_ != 0 || context_->parting || context_->leaving) return false;
        switch (breaker_.state()) {
            case CircuitBreaker::State::kOpen:
                return false;
            case CircuitBreaker::State::kHalfOpen:
                return calls_ == 0;
            case CircuitBreaker::State::kClosed:
                break;
        }
        return calls_ < context_->config.concurrency_max;
    };
    while (!queue_.empty() && session_ != 0 && room()) {
        const AttemptRef next = std::move(queue_.front());
        queue_.pop_front();
        if (Attempt* attempt = FindAttempt(next); attempt && attempt->phase == Phase::kQueued) {
            SendOrder(*attempt);
        }
    }
}

HttpCall PushInstance::Guarded(HttpCall call) const {
    const auto url = ParseUrl(call.url);
    call.allow_address = [context = context_,
                          host = url ? url->host : std::string()](const IpAddress& address) {
        return context->policy.Allows(host, address);
    };
    return call;
}

void PushInstance::SendOrder(Attempt& attempt) {
    attempt.phase = Phase::kCalling;
    ++calls_;
    const Time now = context_->runtime.Now().wall;
    // It may have waited for a free call for as long as it may take.
    if (attempt.deadline == Time{}) attempt.deadline = now + attempt.assign.timeout;
    const Duration left = attempt.deadline - now;
    const PushTerms terms{.callback_bases = context_->callback_bases,
                          .space = context_->config.space,
                          .deadline = attempt.deadline,
                          .timeout = std::clamp(left, Duration(1), context_->config.timeout),
                          .tracing = context_->config.tracing};
    context_->node->Tell(Started{.session = session_, .attempt = attempt.ref()});
    context_->execute(Guarded(MakePushCall(row_, attempt.assign, terms)),
                      [&runtime = context_->runtime, weak = weak_from_this(),
                       ref = attempt.ref()](Result<HttpAnswer> answer) mutable {
                          runtime.Post([weak = std::move(weak), ref = std::move(ref),
                                        answer = std::move(answer)] {
                              if (const auto self = weak.lock()) self->OnAnswer(ref, answer);
                          });
                      });
}

void PushInstance::OnAnswer(const AttemptRef& ref, const Result<HttpAnswer>& answer) {
    if (parted_) return PassOnAnswer(ref, answer);
    if (context_->parting) return late_.emplace_back(ref, answer), void();
    --calls_;
    if (!answer && answer.error().code == ErrorCode::kCancelled) return;  // The server stops.
    PushAnswer meaning = ReadPushAnswer(answer);
    const Instant now = context_->runtime.Now();
    if (answer) heard_at_ = now.steady;
    // It was cancelled meanwhile, and has ended or never began.
    const bool over = meaning.unsent || (answer && meaning.ended);
    if (stopped_calls_.erase(ref.token) > 0 && over) {
        context_->node->Tell(internal::Report{.session = session_, .attempt = ref});
    }
    // An address that may not be called says nothing about who is there.
    if (answer || meaning.instance_failed) JudgeInstance(meaning);
    if (meaning.unsent && !meaning.instance_failed) Rest();
    if (Attempt* attempt = FindAttempt(ref); attempt && attempt->phase == Phase::kCalling) {
        if (attempt->reminder && (!answer || answer->status >= 300 || !meaning.understood)) {
            attempt->phase = meaning.unsent ? Phase::kQueued : Phase::kWaiting;
            return Pump();
        }
        if (meaning.unsent) {
            // Sent again at the next tick, unless the instance is taken for dead by then.
            const bool keeps = attempt->resent && !TAKT_MUTANT("links.give_back_taken");
            keeps ? void(attempt->phase = Phase::kQueued) : GiveBack(ref);
            return Pump();
        }
        if (!answer && meaning.ended && now.wall >= attempt->deadline) {
            meaning.ended->outcome = MakeOutcome(
                Reason::kTimeout,
                Text("took longer than its timeout of " + FormatDuration(attempt->assign.timeout)));
        }
        std::vector<Input> lines;
        AppendLog(session_, ref, meaning.ended ? meaning.ended->log : meaning.log, lines);
        if (!lines.empty()) context_->node->Tell(std::move(lines));
        if (meaning.ended) {
            context_->told.insert_or_assign({ref.execution.text(), ref.token},
                                            ToldReport{ref, *meaning.ended});
            context_->node->Tell(internal::Report{.session = session_,
                                                  .attempt = ref,
                                                  .success = meaning.ended->success,
                                                  .retryable = meaning.ended->retryable,
                                                  .outcome = std::move(meaning.ended->outcome)});
            attempts_.erase(ref.execution.text());
        } else {
            attempt->phase = Phase::kWaiting;
        }
    }
    Pump();
}

// A session that does not hold it any more says so. The engine may choose this instance again at
// once, but no more often than the breaker lets it.
void PushInstance::GiveBack(const AttemptRef& attempt) {
    attempts_.erase(attempt.execution.text());
    if (session_ != 0) Open();
}

void PushInstance::Rest() {
    if (rest_timer_ != 0 || session_ == 0) return;
    Log(LogLevel::kWarning, "executors", "cannot call anybody: this process lacks descriptors",
        {{"executor", row_.id}, {"tried_again_in", kRest}});
    tried_at_ = context_->runtime.Now().wall + kRest;
    rest_timer_ = context_->runtime.After(kRest, [weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self) return;
        self->rest_timer_ = 0;
        self->TellLoad();
        self->Pump();
    });
    TellLoad();
}

void PushInstance::JudgeInstance(const PushAnswer& meaning) {
    call_trouble_ = meaning.trouble;
    if (meaning.instance_failed) {
        if (breaker_.Failed()) OpenCircuit();
        return;
    }
    const bool was_open = breaker_.state() == CircuitBreaker::State::kOpen;
    breaker_.Succeeded();
    if (!was_open) return;
    context_->runtime.Cancel(std::exchange(breaker_timer_, 0));
    TellLoad();
}

// Out of rotation until the circuit is tried again. What was not sent yet is given back: others may
// have room for it. What was taken stays: only the reminder waits.
void PushInstance::OpenCircuit() {
    Log(LogLevel::kWarning, "executors", "circuit opened",
        {{"executor", row_.id}, {"for", breaker_.open_for()}, {"error", call_trouble_}});
    const bool unsent = std::erase_if(attempts_, [](const auto& entry) {
                            return entry.second.phase == Phase::kQueued && !entry.second.resent;
                        }) > 0;
    std::erase_if(queue_, [this](const AttemptRef& attempt) { return !FindAttempt(attempt); });
    tried_at_ = context_->runtime.Now().wall + breaker_.open_for();
    if (session_ != 0 && unsent) {
        Open();
    } else {
        TellLoad();
    }
    context_->runtime.Cancel(breaker_timer_);
    breaker_timer_ = context_->runtime.After(breaker_.open_for(), [weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self) return;
        self->breaker_timer_ = 0;
        self->breaker_.Probe();
        self->TellLoad();
        self->Pump();
    });
}

}  // namespace takt::internal
