// PushLink: the workers that we call. Each is an instance of an HTTP service; the REST API names it
// an executor.
//
//     PushLink link(runtime, rows, config, policy, execute, check);
//     Node node(runtime, store, config, seed, &link);
//     link.Bind(node);
//
// Turns assignments into calls of POST {base_url}/execute, answers and callbacks into reports,
// health checks into heartbeats. Each registered instance is a worker of the engine's with a
// session of its own, opened by whoever leads: a new leader opens it again, and what waits for its
// callback goes on waiting. A leader that hands over in order leaves word of the attempts that
// executors have, keeps the calls that it has open and passes their answers on as callbacks.
//
// Threads: Release, OnRole and View on the node's; the rest on any. `done` is called on the node's
// or on one of the store's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/flow.h"
#include "links/push_instance.h"
#include "links/service_report.h"
#include "node/home.h"
#include "node/sink.h"
#include "store/partition_reader.h"

namespace takt::internal {

class Engine;

struct CallbackReport {
    ExecutionId execution;
    Token token{};
    ServiceReport report;
};

struct CallbackAnswer {
    enum class Verdict : std::uint8_t {
        kAccepted,     // Now, or by an earlier copy of the same callback.
        kStale,        // The attempt had ended otherwise, or another one has begun.
        kForeign,      // The token is no attempt's of this execution.
        kNotFound,     // There is no such execution.
        kUnavailable,  // Ask again.
    };
    Verdict verdict{};
    std::string detail;
};
using CallbackDone = std::move_only_function<void(CallbackAnswer)>;

// How an executor is, as far as only the link knows.
struct PushView {
    CircuitBreaker::State circuit{};
    bool checked = false;             // Its health is.
    std::uint32_t checks_failed = 0;  // In a row.
    std::string trouble;              // Of the last failed check or call.
};

class PushLink final : public Sink {
  public:
    // The runtime is the node's; both it and the store must outlive the link.
    PushLink(Runtime& runtime, PartitionReader rows, PushLinkConfig config, ServicePolicy policy,
             HttpSend execute, HttpSend check, const RandomSeed& seed = NewRandomSeed());
    // REQUIRES: the node is stopped; on its thread, or after that has ended.
    ~PushLink() override;

    // Once, before the node starts.
    void Bind(Node& node) { context_->node = &node; }

    const ServicePolicy& policy() const { return context_->policy; }

    // All of these: kUnavailable while this node does not lead or has only just begun to.

    // Whether a caller may take an id that is this service's. Called on the node's thread, not after
    // `done`.
    using MayTake = std::move_only_function<bool(const Text& service)>;

    // Makes the executor known, or changes what is known of it, in the step that finds nothing against
    // it. Answers after the commit. kConflict if a stream worker has the id, or another process
    // elsewhere that lives, or a service that may not be taken from; kExhausted if there are too many
    // workers. kUnknown: it may be registered; said again, it is.
    void Register(Worker row, Done<void> done, MayTake may_take = {});
    // Whether Register would say kConflict or kExhausted now. Changes nothing.
    void CheckId(Worker row, Done<void> done, MayTake may_take = {});
    // kNotFound if there is no such executor; also below.
    void Beat(WorkerId id, WorkerLoad load, Done<void> done);

    // An operator's word, see push_operators.cc. The executor goes on as before until it is stored, and
    // for good if it is refused; kUnknown: some of it may have been done.

    // kOnline, kMaintenance or kOffline. kConflict: it registered again meanwhile.
    void SetStatus(SetWorkerStatus set, Done<void> done);
    void Remove(WorkerId id, ActPtr by, Done<void> done);

    // An executor says how an attempt ended.
    void Callback(CallbackReport report, CallbackDone done);

    // An executor says what it does while it does it: lines for the log, how far it is. Answers at
    // once; the lines are stored with the next commit.
    struct News {
        ExecutionId execution;
        Token token{};
        NewsBody body;
    };
    void TakeNews(News news, CallbackDone done);

    // From any thread: whether a service has an attempt with this token in hand.
    bool Knows(const Token& token) const { return context_->tokens->Has(token); }

    std::optional<PushView> View(const WorkerId& id) const;
    // Whether a session is one of its executors'. On the node's thread.
    bool Has(SessionId session) const { return context_->sessions.contains(session); }

    void Release(const Effects& effects) override;
    void OnRole(Role role) override;
    std::vector<SettingPut> LeaveWord(Parting why) override;
    void OnHandOverFailed() override;

    // Before the node is stopped: gives executors nothing more, and waits for the answers to calls that
    // are open and for what becomes of them. Does not wait if there is another scheduler, which is
    // asked of the store: that one is left word of them. For how long, the caller decides; `done` comes
    // on the node's thread, as all of this is.
    void Settle(Action done);

    // Whether answers are awaited that the next leader is to be told, or it is being told one. On the
    // node's thread.
    bool keeps_calls() const;

  private:
    // Callbacks of one attempt, the first of which is being committed.
    using Callers = std::vector<std::pair<CallbackReport, CallbackDone>>;
    using AttemptKey = std::pair<Text, Token>;  // Execution, and whose report it is.

    std::shared_ptr<PushInstance> FindInstance(const WorkerId& id) const;
    void LearnSchedulers(Action then);
    void Restore();
    void Restore(const Engine& engine, const std::vector<SettingPut>& settings);
    void PartWith(bool stopped);
    bool HasOthers() const;
    std::size_t open_calls() const;
    Flow<> AwaitAnswers(Action done);
    Flow<> PassOn(AttemptRef attempt, ServiceReport report);
    void TickLater();
    void OnClosed(const CloseSession& close);
    // Fails with what speaks against a registration; goes on in the turn that found nothing.
    Flow<Result<void>> Judge(const Worker& row, MayTake& may_take);
    Flow<> RegisterFlow(Worker row, Done<void> done, MayTake may_take);
    Flow<> SetStatusFlow(std::shared_ptr<PushInstance> instance, SetWorkerStatus set,
                         Done<void> done);
    Flow<> RemoveFlow(std::shared_ptr<PushInstance> instance, ActPtr by, Done<void> done);
    void TakeCallback(const Engine* engine, CallbackReport report, CallbackDone done);
    void JudgeStored(CallbackReport report, CallbackDone done);
    void OnVerdict(const internal::Verdict& verdict);

    const PartitionReader rows_;
    const std::shared_ptr<PushContext> context_;
    const SessionId callbacks_session_;  // Verdicts on callbacks come back under it.
    std::map<Text, std::shared_ptr<PushInstance>> instances_;
    std::vector<Text> words_left_;  // Keys of what the next leader is left, while it does not lead.
    std::vector<std::shared_ptr<PushInstance>> left_;  // Of earlier terms, with calls still open.
    std::size_t passing_on_ = 0;             // Answers that the next leader is being told.
    std::map<AttemptKey, Callers> waiting_;  // At most as many as requests under way.
    bool ready_ = false;                     // Leads, and knows what the term begins with.
    std::uint64_t timer_ = 0;
    Home home_{context_->runtime};  // Its terms are the times between two roles.
};

// Whether a callback says again what the stored execution already has from it.
CallbackAnswer JudgeCallback(const Execution& row, const CallbackReport& report);

}  // namespace takt::internal
