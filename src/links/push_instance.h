// PushInstance: one instance of a service, which we call. Knows what it has in hand and how it is;
// what follows from that the engine decides.
//
// Everything on the node's thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/id.h"
#include "base/random.h"
#include "base/time.h"
#include "engine/effects.h"
#include "http/client.h"
#include "links/attempt_tokens.h"
#include "links/circuit_breaker.h"
#include "links/service_policy.h"
#include "links/service_report.h"
#include "model/worker.h"
#include "node/runtime.h"
#include "trace/execution_trace.h"

namespace takt::internal {

class Node;
class PushInstance;

struct PushLinkConfig {
    std::string address;        // Where others reach this scheduler, "http://10.0.0.5:8080".
    std::string callback_base;  // Where services reach all of them, if that is one; else empty.
    std::string space = {};     // The namespace that callbacks name; empty: `default`.
    bool health_check = true;
    Duration health_interval{30'000};
    Duration health_timeout{5'000};
    std::uint32_t failure_threshold = 3;
    std::uint32_t recovery_threshold = 2;
    std::uint32_t concurrency_max = 100;  // Calls under way to one instance; more wait here.
    Duration timeout{30'000};             // Of one call.
    // All schedulers of a cluster are often stopped at once: one that stops believes that another will
    // lead after it if that is still there so long after it was told to stop.
    Duration others_stay{1'000};
    CircuitBreakerConfig breaker;
    TracePolicy tracing;
};

// Sends an HTTP call; the answer may come on any thread.
using HttpSend = std::function<void(HttpCall call, HttpDone done)>;

// An attempt that its last leader left in order: the executor has it. Its call is still open at
// `keeper`, which passes the answer on; or, if that is empty, a callback will tell.
struct LeftAttempt {
    std::uint32_t attempt = 0;  // 0: whichever is the current one.
    NodeId keeper;
};
using LeftAttempts = std::map<Text, LeftAttempt>;  // By execution.

// A report that the engine was told, until it has said what it makes of it.
struct ToldReport {
    AttemptRef attempt;
    ServiceReport report;
};

// The part that all instances of a link share.
struct PushContext {
    Runtime& runtime;
    const PushLinkConfig config;
    const ServicePolicy policy;
    const HttpSend execute;
    const HttpSend check;  // Apart, so that slow executions never delay a health check.
    Random random;
    Node* node = nullptr;
    Duration lease{0};      // The engine's: kept alive well within it. Known once we lead.
    Duration forgotten{0};  // The engine's: how long an instance that is gone stays known.
    std::unordered_map<SessionId, PushInstance*> sessions = {};
    // Where a service can tell how an attempt ended, the first is to be preferred. Not empty.
    std::vector<std::string> callback_bases = {};
    const std::shared_ptr<AttemptTokens> tokens = std::make_shared<AttemptTokens>();
    std::map<std::pair<Text, Token>, ToldReport> told = {};
    // The lead is being handed over: nothing is sent any more, and the node takes no reports.
    bool parting = false;
    // The process stops: executors are given nothing more, what they answer is still taken.
    bool leaving = false;
    // Tells the scheduler that leads now how an attempt ended.
    std::function<void(const AttemptRef&, ServiceReport)> pass_on = {};
    // That are announced, as last read, and whether they may lead this namespace.
    std::optional<std::map<NodeId, bool>> schedulers = {};
};

class PushInstance : public std::enable_shared_from_this<PushInstance> {
  public:
    PushInstance(std::shared_ptr<PushContext> context, Worker row);

    // Takes over the attempts that the engine of a new term has in this instance's hand, some of
    // which the leader before left in order.
    void Restore(std::vector<Assign> hand, const LeftAttempts& left);

    // Begins the health checks, the first at a random moment so that many do not come at once.
    void Watch();

    // The engine may give it work from now on. What it has in hand it keeps.
    void Open();
    // It is taken for dead: the engine gives its work to others.
    void GoOffline(Text why);
    // The same, and the engine knows it or is told by the caller.
    void Leave();
    // Leaves, and is not watched any more.
    void Drop();
    // The same, but answers to the calls that are open are passed on to the next leader.
    void Part();
    std::size_t open_calls() const;
    bool has_open_calls() const { return !attempts_.empty(); }
    // The attempts that it has, for the next leader.
    void AddTo(LeftAttempts& left, const NodeId& self) const;
    // The hand-over failed: takes the answers that came meanwhile.
    void GoOn();
    // It registered again, and comes back whatever it was before.
    void Update(Worker row);
    // How often it has.
    std::uint64_t registrations() const { return registrations_; }
    // An operator's removal of it is on its way to the store: a session that is opened behind it would
    // bring back what is gone. What it has in hand it keeps, in case the removal is refused.
    void BeginRemoval() { removing_ = true; }
    void EndRemoval();
    // It said that it lives.
    void Beat(const WorkerLoad& load);
    // Whether the process that is known lives, by its health check if it has one, else by what was
    // heard of it lately. The answer comes on the node's thread, never from inside the call.
    void AskWhetherAlive(std::move_only_function<void(bool)> done);
    // Whether a registration is another process's, elsewhere. At the same address it is the same
    // place's: whatever was there before is gone.
    bool IsElsewhere(const Worker& row) const;

    // The engine hears how it is, and whether it may be given anything.
    void TellLoad();
    // Keeps the lease. False if it has been gone for so long that it is to be forgotten.
    bool Tick();

    void OnAssign(const Assign& assign);
    void OnStop(const StopAttempt& stop);
    // The executor is told, if the attempt is in its hand; see push_locks.cc.
    void OnLockLost(const LockVerdict& verdict);
    // The attempt was ended by a callback.
    void OnEnded(const AttemptRef& attempt);

    const Worker& row() const { return row_; }
    SessionId session() const { return session_; }
    CircuitBreaker::State circuit() const { return breaker_.state(); }
    std::uint32_t failures() const { return failures_; }
    // Of the last health check, else of the last call; empty if that went well.
    const std::string& trouble() const { return failures_ > 0 ? trouble_ : call_trouble_; }
    bool checked() const;

    // An operator said that it is offline: it stays so until it registers or is put online.
    bool declared_offline = false;
    // The engine ended its session, and why is being looked up: signs of life must not bring back
    // what was removed.
    bool in_question = false;

  private:
    enum class Phase : std::uint8_t {
        kQueued,   // Not sent yet.
        kCalling,  // Sent, not answered.
        kWaiting,  // Taken; a callback will tell.
    };
    struct Attempt {
        Assign assign;
        Time deadline{};  // Time{} until it is sent for the first time.
        Phase phase = Phase::kQueued;
        // It was taken under an earlier leader, and is sent again only to say where its callback
        // is to go by now: that it ends by the answer is possible, but a refusal means nothing.
        bool reminder = false;
        // It was an earlier leader's: that one's order may have arrived, whether this one's does or
        // not.
        bool resent = false;
        NodeId keeper = {};  // While kWaiting: the scheduler whose call to the executor is open.
        AttemptTokens::Entry known = {};

        AttemptRef ref() const {
            return {assign.execution.id, assign.execution.attempt, assign.execution.token};
        }
    };

    void Pump();
    void SendOrder(Attempt& attempt);
    void OnAnswer(const AttemptRef& attempt, const Result<HttpAnswer>& answer);
    void PassOnAnswer(const AttemptRef& attempt, const Result<HttpAnswer>& answer);
    void JudgeInstance(const PushAnswer& meaning);
    void OpenCircuit();
    void TellLockLost(AttemptRef attempt, std::string body, int tries);
    void TellLockLostLater(AttemptRef attempt, std::string body, int tries);
    // Work that did not reach the instance is the engine's again, without a failure.
    void GiveBack(const AttemptRef& attempt);
    void RemindAgain();
    // Attempts whose keeper is gone, or whose call cannot be open any more, are sent again.
    void TakeBackLeft();
    // Takes nothing for a moment: this process lacks what it needs to call anybody.
    void Rest();
    bool WantsNothing() const;
    WorkerLoad LoadNow() const;
    Attempt* FindAttempt(const AttemptRef& attempt);
    HttpCall Guarded(HttpCall call) const;

    bool MayComeBack() const { return session_ == 0 && !declared_offline && !in_question; }
    void CheckLater(Duration delay);
    void Check();
    void Call(std::string url, std::move_only_function<void(const Result<HttpAnswer>&)> done);
    void OnHealth(const Result<HttpAnswer>& answer);

    const std::shared_ptr<PushContext> context_;
    Worker row_;
    SessionId session_ = 0;  // 0: offline.
    Steady gone_since_{};    // While it is.
    Steady heard_at_{};
    WorkerLoad load_;
    std::map<Text, Attempt> attempts_;  // By execution. As many as its capacity.
    std::set<Token> stopped_calls_;     // Of attempts that were ended while their call is open.
    std::deque<AttemptRef> queue_;      // Of those not sent yet; may name some that are gone.
    std::vector<std::pair<AttemptRef, Result<HttpAnswer>>> late_;  // Came while parting.
    bool parted_ = false;
    bool removing_ = false;
    std::uint64_t registrations_ = 0;
    std::uint32_t calls_ = 0;
    CircuitBreaker breaker_;
    std::uint64_t breaker_timer_ = 0;
    std::uint64_t rest_timer_ = 0;  // Not 0: resting.
    Time tried_at_{};               // When that, or the open circuit, ends.
    std::uint64_t health_timer_ = 0;
    std::uint32_t failures_ = 0;  // Health checks in a row that failed.
    std::uint32_t passes_ = 0;
    std::string trouble_;       // Of the last check that failed.
    std::string call_trouble_;  // Of the last call; empty if it went well.
};

}  // namespace takt::internal
