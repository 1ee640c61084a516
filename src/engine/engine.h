// Engine: decides, never acts.
//
// One per partition and term. It holds every execution that is not finished and every worker, takes
// inputs one at a time, and says what is to be written and sent. It reads no clock, waits for
// nothing, draws no randomness but from its seed, and depends on no hash order: equal histories
// give equal effects. Used from one thread.
//
// Its decisions count only once the changes are committed; if that commit is refused, the engine is
// thrown away with everything it decided since.
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "engine/awaited.h"
#include "engine/chooser.h"
#include "engine/circles.h"
#include "engine/claims.h"
#include "engine/config.h"
#include "engine/counters.h"
#include "engine/effects.h"
#include "engine/explain.h"
#include "engine/holds.h"
#include "engine/input.h"
#include "engine/leftover.h"
#include "engine/live_table.h"
#include "engine/locks.h"
#include "engine/offers.h"
#include "engine/outputs.h"
#include "engine/question.h"
#include "engine/quota_meter.h"
#include "engine/recurring.h"
#include "engine/retention.h"
#include "engine/run.h"
#include "engine/trials.h"
#include "engine/trusted_clock.h"
#include "engine/views.h"
#include "model/fire_plan.h"

namespace takt::internal {

// The configuration with what a namespace decides otherwise.
void Apply(const Configure& values, EngineConfig& config);

class Engine {
  public:
    Engine(const EngineConfig& config, TermView term, const RandomSeed& seed);
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    // Restoring what the store had, before Begin: settings, workers, tasks and records first, then
    // executions by rising serial.
    void RestoreSetting(const Text& key, const Text& value);
    void RestoreWorker(Worker worker);
    void RestoreTask(TaskRow task);
    void RestoreRecord(const RecordPut& record);
    void RestoreExecution(Execution execution);

    // All is restored; time starts. Serials handed out will be above `last_serial`.
    void Begin(Serial last_serial, Instant now, Effects& effects);

    // Takes one input and everything that is due by `now`. REQUIRES: Begin was called; `now.steady`
    // never goes back.
    void Step(Input input, Instant now, Effects& effects);

    // The effects of a batch are being carried out: what it assigns is on its way from now on.
    // Decides nothing; part of a history like a step.
    void NoteReleased(const Effects& effects, Instant now);

    // How long until a Tick has something to do; 0 if it has already; nothing if it never will.
    std::optional<Duration> NextDeadline(Instant now) const;

    // --- Looking in -----------------------------------------------------------------------------

    const Execution* FindExecution(const ExecutionId& id) const;
    // A run that is not finished; nothing if there is none.
    std::optional<RunView> FindRun(const ExecutionId& id) const;
    std::optional<QueueView> FindQueue(const Text& name) const;
    std::vector<QueueView> Queues() const;  // By name.
    std::optional<WorkerView> FindWorker(const WorkerId& id) const;
    Result<void> AdmitsWorker() const { return quotas_.AdmitWorker(sessions_.size()); }
    const EngineConfig& config() const { return config_; }
    // In the order of their ids, those above `id`, at most so many.
    std::vector<WorkerView> WorkersAfter(const Text& id, std::size_t count_max) const;
    std::vector<WorkerView> Workers() const { return WorkersAfter(Text(), SIZE_MAX); }
    std::vector<HeldView> HandOf(const WorkerId& id) const;
    std::optional<TaskView> FindTask(const TaskId& id) const;
    // The recurring tasks with a fire that was due by `until` and has not begun, each once or twice;
    // of very many, so many of those that are fired and of those that are not, the latest ones.
    void ForEachAwaited(Time until, std::size_t count_max,
                        const std::function<void(const TaskView&)>& visit) const;
    // The tasks that fire next, in that order; at most so many. Costs no more with a million tasks.
    std::vector<TaskRow> NextFires(std::size_t count_max) const;
    // Why an execution has not started or is not finished; nothing if the engine does not hold it.
    std::optional<Explanation> Explain(const ExecutionId& id, Instant now) const;
    // The same of a recurring task, of what waits in a queue, of a worker that gets nothing.
    std::optional<Explanation> ExplainTask(const TaskId& id, Instant now) const;
    std::optional<Explanation> ExplainQueue(const Text& name) const;
    std::optional<Explanation> ExplainWorker(const WorkerId& id) const;
    std::optional<LockView> FindLock(const Text& name) const { return locks_.Find(name); }
    // In the order of their names, those above `name`, at most so many.
    std::vector<LockView> LocksAfter(const Text& name, std::size_t count_max) const {
        return locks_.After(name, count_max);
    }
    LockCounts lock_counts() const { return locks_.counts(); }
    // So much was given out in this term that it must end: another one has fresh numbers.
    bool worn_out() const { return locks_.worn_out(); }
    const ProgressView* FindProgress(const ExecutionId& id) const;  // Null if it told of none.
    // The attempt of an execution that is over, if something waits for its handler to stop; else null.
    const AttemptRef* FindStopping(const ExecutionId& execution, const Token& token) const;
    std::size_t live_count() const { return live_.size(); }
    std::size_t limit_count() const { return holds_.limit_count(); }  // That are remembered.
    std::size_t count(Status status) const { return counts_[static_cast<std::size_t>(status)]; }
    const EngineCounters& counters() const { return counters_; }
    std::size_t lane_count() const { return lanes_.size(); }  // Kinds of work that are remembered.
    Strategy strategy() const { return chooser_.strategy(); }
    const Text& strategy_name() const { return chooser_.strategy_name(); }
    Serial last_serial() const { return draft_.last_serial(); }
    const TrustedClock& clock() const { return clock_; }
    const QuotaMeter& quotas() const { return quotas_; }

  private:
    using Question = EngineQuestion;
    void On(Submit& submit);
    void On(Cancel& cancel);
    void On(Redrive& redrive);
    void On(Conclude& conclude);
    void On(PutTask& put);
    void On(DeleteTask& remove);
    void On(PauseTask& pause);
    void On(Trigger& trigger);
    void On(SetQueue& set);
    void On(SetSetting& set);
    void On(SwapSettings& swap);
    void On(Configure& configure);
    void On(PostAlert& alert);
    void On(LookupDone& lookup);
    void On(AcquireLock& acquire) { locks_.Acquire(acquire); }
    void On(WithdrawLock& withdraw) { locks_.Withdraw(withdraw); }
    void On(RenewLock& renew) { locks_.Renew(renew); }
    void On(ReleaseLock& release) { locks_.Release(release); }
    void On(FreeLock& free) { locks_.Free(free); }
    void On(SetLock& set) { locks_.Resize(set); }
    void On(AskLock& ask);
    void On(DropLock& drop);
    void On(Attach& attach);
    void On(Heartbeat& heartbeat);
    void On(Detach& detach);
    void On(Goodbye& goodbye);
    void On(Started& started);
    void On(Progress& progress);
    void On(LogLines& lines);
    void On(Report& report);
    void On(SetWorkerStatus& set);
    void On(SetWorkerCapacity& set);
    void On(RemoveWorker& remove);
    void On(SetStrategy& set);
    void On(NoteRefusal& note);
    void On(MakeRoom&) { retention_.Hurry(); }
    void On(Tick&) {}
    void On(Claimed& claimed);
    void On(ResultWanted& wanted);
    void On(DueWanted& wanted);

    // engine_submits.cc, engine_lookups.cc
    void AskStore(const ExecutionId& id, Question question);
    void AnswerTo(const Submit& submit, const std::optional<Execution>& found);
    void AnswerTo(const Cancel& cancel, const std::optional<Execution>& found);
    void AnswerTo(const Redrive& redrive, const std::optional<Execution>& found);
    void AnswerTo(const Conclude& conclude, const std::optional<Execution>& found);
    void AnswerTo(const PutTask& put, const std::optional<Execution>& found);
    void AnswerTo(Trigger& trigger, const std::optional<Execution>& found);
    void AnswerTo(const Report& report, const std::optional<Execution>& found);
    void AnswerTo(const Claimed& claimed, const std::optional<Execution>& found);
    void AnswerTo(const ResultWanted& wanted, const std::optional<Execution>& found);
    void AnswerTo(const DueWanted& wanted, const std::optional<Execution>& found);
    void JudgeRepeated(Report& report);
    void TellRedriven(const Redrive& redrive, const Live& live, Status before);
    void RefuseFinished(RequestId request, const ExecutionId& id,
                        const std::optional<Execution>& found);
    void EndNow(Live& live, Status status, OutcomePtr outcome, const ActPtr& by = nullptr);
    void CreateOnce(const Submit& submit);
    bool MayClaim(const Task& task, const ExecutionId& self, RequestId request);
    bool MayWait(QuotaMeter::Wish wish, RequestId request);
    std::pair<Serial, Text> FreshId();
    bool IsOwnToCome(std::string_view id) const;

    // engine_attempts.cc: one execution and its attempts
    Live* FindLive(const ExecutionId& id) const;
    Live* FindCurrent(const AttemptRef& attempt);
    Live& InsertExecution(Execution row, Place place);
    void SetTimeout(Live& live);
    void GiveTo(Live& live, Slot& slot);
    Slot& TakeFromHand(Live& live);
    void RequeueExecution(Live& live, bool loss);
    // It ended now, or when its worker says.
    void FailAttempt(Live& live, OutcomePtr outcome, bool retryable,
                     std::optional<Time> ended = {});
    void FinishExecution(Live& live, Status status, OutcomePtr outcome,
                         std::optional<Time> ended = {});
    bool StopAtWorker(Live& live, Reason reason);
    void MoveTo(Live& live, Status to);
    const RetryPolicy& RetryOf(const Task& task) const;
    Duration TimeoutOf(const Task& task) const;
    // engine_waits.cc: one execution that waits
    void PlaceBegun(Live& live);
    void PlaceWaiting();
    void AwaitTime(Live& live);
    Time ReadyAt(const Live& live) const;
    void WaitAgain();
    std::optional<Time> ExpiryOf(const Execution& row) const;
    std::optional<Time> StartBy(const Execution& row) const;
    bool Expired(const Execution& row) const;
    bool IsTooLate(const Live& live) const;
    bool EndIfExpired(Live& live);
    std::optional<Duration> WaitOf(const Execution& row) const;
    void MakeReady(Live& live);
    bool MayBegin(Live& live);
    void EndTrial(const Live& live);
    void GiveInTurn(Live& live);
    void LeaveList(Live& live);
    void Unqueue(Live& live);
    void OnDue(Live& live);
    // engine_reports.cc: what is heard of attempts under way
    void OnOverdue(Live& live);
    bool IsUnheard(const Slot& slot) const;
    // engine_leftovers.cc: what executions that are over hold while their handlers stop
    void AwaitStop(Live& live);
    StoppingHandler& AddStopping(const AttemptRef& attempt, Slot& slot);
    void BeginStopTime(StoppingHandler& handler);
    void HandOver(Live& live, Leftover& leftover);
    void NoteStopped(StoppingHandler& handler);
    void ReviewStopping(Slot& slot, const std::vector<AttemptRef>& holding, bool same_process);
    void LeaveSlot(const Slot& slot);
    void OnStopDue(StoppingHandler& handler);
    void EndLeftover(Leftover& leftover);
    void Write(Leftover& leftover);
    void WriteLeftovers();
    void AdoptLeftLocks();
    void BeginLeftovers();
    void TakeAgain(Leftover& leftover, StoredLeftover stored);
    void TakeTurnsAgain(Recurring& recurring);
    void EndLingering(const AttemptRef& attempt, SessionId session);
    std::optional<Explanation> ExplainLeftover(const Live& live, const Hold* limit) const;
    // engine_tasks.cc: recurring tasks
    void MakeOrChange(const PutTask& put);
    void EmitChange(const Task& task, std::string_view what);
    void RunNow(Trigger& trigger);
    Recurring& Adopt(TaskRow row);
    void Mark(FireState& state, bool paused);
    void SetPaused(Recurring& recurring, bool paused);
    void PauseFor(const ActPtr& by, Recurring& recurring, bool paused);
    void Stamp(Recurring& recurring);
    void ContinueDeleting();
    // engine_fires.cc: when they are due, and what becomes of it
    void PlanFrom(Recurring& recurring, Time after);
    void PlanFromNow(Recurring& recurring);
    void PlanAgain();
    void Arm(Recurring& recurring);
    void OnFire(Recurring& recurring);
    void TellUnplanned(Recurring& recurring, const Error& error);
    void MissOverdue(Recurring& recurring);
    void RecordMissed(Recurring& recurring, const DueTimes& due, Reason reason);
    // engine_runs.cc: what becomes of a fire
    Execution Fire(Recurring& recurring, const FireRequest& request);
    void Replace(Recurring& recurring, Serial by);
    bool EndReplaced(Recurring& recurring);
    void ContinueReplacing();
    bool CancelWaitingRuns(Recurring& recurring);
    Recurring* FindRecurring(const Text& id) const;
    Recurring& OwnerOf(const TaskPtr& task);
    void DropTurns(Recurring& recurring);
    void Link(Live& live, Recurring& recurring);
    void OnRunEnded(Live& live);

    // flow_begin.cc: runs begin, and their steps, and children are made
    void AwaitRoom(Live& run);
    void BeginRun(Live& live);
    void SetRunTimeout(Live& live);
    void WriteRow(Run& run);
    void WriteRun(Run& run);
    void SpellRuns();
    void MoveRun(Run& run);
    void ContinueRuns();
    void ContinueRun(Run& run);
    void DecideSteps(Run& run);
    void EndStep(Run& run, std::uint32_t number, StepStatus status);
    void BeginStep(Run& run, std::uint32_t number);
    void CountInOutermost(Run& run, std::uint32_t count);
    Result<std::uint32_t> CountChildren(Run& run, std::uint32_t number);
    Result<void> CheckNamed(Run& run, const WorkflowStep& step);
    Result<std::uint32_t> ListWorkers(Run& run, std::uint32_t number);
    // flow_children.cc: children are made
    const TaskPtr& TaskOfStep(Run& run, std::uint32_t number);
    void MakeChildren(Run& run, std::uint32_t number);
    void MakeChild(Run& run, std::uint32_t number, std::uint32_t index);
    Execution NewChild(Run& run, std::uint32_t number, std::uint32_t index);
    Live& AddChild(Run& run, std::uint32_t number, Execution row);
    void LinkChild(Run& run, std::uint32_t number, Live& live);
    void FailChild(Live& live, Reason reason, Text why);
    void MakeRefused(Run& run, std::uint32_t number, Reason reason, Text why);
    // flow_values.cc: what steps take from each other
    bool GatherValues(Run& run, std::uint32_t number);
    bool GatherResult(Run& run);
    void AskResults(Run& run, std::uint32_t source);
    // flow_backfill.cc: past due times of a task
    bool KnowExisting(Run& run, std::uint32_t number);
    bool PassExisting(Run& run, std::uint32_t number);
    void TakeDueTimes(Run& run, std::uint32_t number);
    // flow_ends.cc: of children, steps, runs
    bool MayNotStart(const Live& live) const;
    void OnChildEnded(Run& run, Live& live);
    void OnStepMoved(Run& run, std::uint32_t number);
    void EndIdleStep(Run& run, std::uint32_t number);
    void StopAfter(Run& run, std::uint32_t number);
    void EndRun(Run& run, RunEnding ending);
    bool EndChildren(Run& run);
    void FinishRun(Run& run);
    void CloseRun(Live& live);
    // flow_restore.cc: runs of an earlier leader, or run again; steps on each worker
    const char* ReadFlow(const Execution& row, std::optional<RunProgress>& progress);
    void JoinFlow(Live& live, std::optional<RunProgress> progress);
    void PlaceRun(Live& live);
    void RetryRun(const Redrive& redrive, Execution row);
    void AwaitWorker(Live& live);
    void EndPinned(Live& live);
    bool FeedPinned(Slot& slot);
    // engine_limits.cc: what starts when something opens
    void OpenHolds();
    void StartInTurn(Hold& turns);
    void StartUnderLimit(Hold& limit);
    Hold* OvertakenUnder(const Live& live);
    Queue* OvertakenFrom(const Live& live);
    bool GiveToOthersFirst(const Live& live);
    void StartFromQueue(Queue& queue);
    void SpendPaceOf(Queue& queue);
    bool RestoreLimit(std::string_view key, std::string_view value);
    void RestoreQueue(const Text& name, std::string_view value);
    void BeginLimits();
    // engine_circles.cc: executions that wait for each other
    void WatchForCircle(Live& live);
    void BreakCircles();

    // engine_locks.cc: what starts when its locks are free
    bool HasLocks(Live& live);
    std::vector<LockGrant> TakeLocks(Live& live);
    std::vector<LockGrant> TokensOf(const Live& live) const;
    void ServeLocks();
    void StartWithLocks(Live& live);
    bool CouldStart(const Live& live);
    void FailForLocks(Live& live, std::string why);
    // engine_workers.cc: one worker
    Slot* SlotOf(SessionId session) const;
    void ReconcileHand(Slot& slot, const std::vector<AttemptRef>& holding, bool was_away);
    void CloseSessionOf(Slot& slot, Text why);
    void DoubtHand(Slot& slot, bool loss);
    void LoseWorker(Slot& slot, Text why, bool loss = true);
    void DismissWorker(Slot& slot, Text why);
    void ContinueWorker(Slot& slot);
    bool MakeRoomFor(const Slot& newcomer);
    void ForgetWorker(Slot& slot);
    void RefreshCapacity(Slot& slot);
    void TakeCapacity(Slot& slot, std::uint32_t set);
    void ChangeCapacity(Slot& slot, std::uint32_t said, std::uint32_t set);
    void FindLanes(Slot& slot);
    void FeedWorker(Slot& slot);
    Lane& LaneFor(const Task& task);
    void OnLease(Slot& slot);
    void ContinueLater(Slot& slot);

    // explain.cc, explain_locks.cc
    std::optional<Explanation> ExplainLocks(const Live& live) const;
    std::string PermitHolder(const Task& task) const;

    // engine.cc: what comes out
    void RunDue();
    void EndUnreadable(Execution& row);
    void Write(Live& live, Place after, bool urgent);
    void Write(Recurring& recurring);
    void Emit(EventType type, const Live& live, Text detail = {});
    void Emit(EventType type, const Slot& slot, Text detail = {});

    EngineConfig config_;
    const TermView term_;
    Random random_;
    Draft draft_;
    bool begun_ = false;

    LiveTable live_;
    Lanes lanes_;
    Crews crews_;
    Offers offers_;
    std::map<Text, std::unique_ptr<Slot>, std::less<>> workers_;
    boost::unordered_flat_map<SessionId, Slot*> sessions_;
    std::uint64_t joined_ = 0;
    std::uint32_t released_generation_ = 0;  // The last batch that was carried out.

    TimerHeap<Live, Time> due_;        // Executions that wait for their time.
    TimerHeap<Live, Steady> overdue_;  // Attempts and their timeouts.
    TimerHeap<Slot, Steady> leases_;
    TimerHeap<Recurring, Time> fires_;
    Awaited awaited_;
    TimerHeap<Queue, Steady> queue_paces_;
    std::deque<Slot*> unfinished_;    // Workers with more to be done for them than one step may do.
    std::deque<TaskId> replacing_;    // Tasks whose newest run takes the place of others.
    std::deque<DeleteTask> deletes_;  // Which have more runs to end than one step may.
    std::deque<ExecutionId> moving_;  // Runs with something to be done for them.
    CircleWatch circles_;
    std::vector<Run*> unwritten_;  // Runs whose record the step that goes on has to write.
    std::map<Text, Text, std::less<>> stored_runs_;  // Until their executions are restored.
    std::vector<Live*> restored_;                    // Between RestoreExecution and Begin.
    std::vector<Execution> unreadable_;  // Live rows that can only be moved to the history.
    boost::unordered_flat_map<Text, std::vector<Question>, TextHash, TextEqual> questions_;

    std::map<Text, std::unique_ptr<Recurring>, std::less<>> tasks_;
    std::map<Text, std::unique_ptr<Recurring>, std::less<>> deleted_;  // Those that have runs.
    std::uint64_t tasks_made_ = 0;
    Holds holds_;
    Locks locks_;
    Leftovers leftovers_;
    bool kept_doubtful_ = false;  // Something is kept for executions that may not start soon.
    std::map<Text, StoredPace, std::less<>> queue_paces_stored_;  // Until Begin.
    Claims claims_;
    Outputs outputs_;
    TrustedClock clock_;
    Retention retention_;
    QuotaMeter quotas_;
    std::map<Text, Text, std::less<>> guards_;  // Of SwapSettings, by name.

    Chooser chooser_;
    Trials trials_;

    std::array<std::size_t, kStatusCount> counts_{};
    EngineCounters counters_;
    Instant now_{};  // Of the step under way, or the last.
};

}  // namespace takt::internal
