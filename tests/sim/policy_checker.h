// PolicyChecker: what tasks, workers and operators ask for beyond when and how often something runs:
// misfire policies, deadlines, jitter, backlogs, delays of retries, timeouts, drains and retention, as
// the committed rows show them.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/config.h"
#include "engine/effects.h"
#include "sim/fire_checker.h"
#include "sim/limit_checker.h"
#include "sim/world.h"
#include "store/store.h"

namespace takt::internal::sim {

class PolicyChecker {
  public:
    using Complain = std::function<void(const std::string&)>;

    PolicyChecker(World& world, const FireChecker& fires, Complain fail)
        : world_(world), fires_(fires), fail_(std::move(fail)) {}

    bool nothing_fails = false;

    // Before `fires` has seen the batch, which may be applied long after it was sent.
    void OnCommit(const Batch& batch, const std::vector<RowMove>& moves, Time wall_latest,
                  Steady sent, const EngineConfig& config);
    // An attempt is sent, which a leader decided on at `decided` by its clock.
    void OnAssign(const Assign& assign, Time decided, const EngineConfig& config);
    // A scheduler lets go of its effects; `reaches` tells whether a session is still there.
    void OnRelease(const Effects& effects, const std::function<bool(SessionId)>& reaches);
    // A handler has ended an attempt.
    void OnEnd(const AttemptRef& attempt);
    // Recurring tasks have been left alone for a while, and nothing is in their way.
    void CheckDelays(Time wall) const;

    // The store went back to where it was when this was copied; see Checker::Recall.
    void Recall(const PolicyChecker& later);

  private:
    using Key = std::pair<std::string, std::uint32_t>;
    struct Sent {
        Steady at{};
        SessionId session = 0;
        Token token{};
        bool told_to_stop = false;
    };
    struct Row {
        Execution after;
        bool redriven = false;
    };
    // Fires of one task that came late, one after the other, in one term.
    struct CaughtUp {
        std::uint64_t epoch = 0;
        std::uint32_t count = 0;
        bool some = false;  // At least one more, by a batch that says no number.
    };
    struct Jitter {
        int none = 0;
        bool some = false;
    };

    void CheckFire(const Execution& row, const Batch& batch, const EngineConfig& config);
    void CheckMissed(const Execution& row, const Batch& batch);
    void CheckMisfire(const Execution& row, const Batch& batch, const EngineConfig& config);
    void CheckJitter(const Execution& row);
    void CheckSkipped(const Execution& row, const std::vector<RowMove>& moves);
    void CheckBacklogs(const std::vector<RowMove>& moves);
    void CheckRetry(const Execution& row, Time decided, const EngineConfig& config) const;
    void CheckLoss(const RowMove& move, const EngineConfig& config);
    void CheckTimeout(const RowMove& move, const Batch& batch, Steady decided,
                      const EngineConfig& config);
    void CheckDrains(const Batch& batch, const std::vector<RowMove>& moves);
    void Follow(const std::vector<RowMove>& moves);
    // Whether the batch changes the task's times or its pause, or makes up for what was passed over.
    bool IsUnsettled(const Execution& row, const Batch& batch) const;

    World& world_;
    const FireChecker& fires_;
    const Complain fail_;
    Time clock_latest_{};  // That any leader ever saw.
    std::map<ExecutionId, Row> live_;
    std::set<WorkerId> had_suspects_;  // Workers that ever had one.
    std::map<Key, Sent> sent_;         // And not ended by their handlers.
    std::map<std::string, WorkerStatus> workers_;
    std::map<TaskId, CaughtUp> caught_up_;
    std::map<std::pair<TaskId, std::uint64_t>, Jitter> jitters_;  // By the task's version.
};

}  // namespace takt::internal::sim
