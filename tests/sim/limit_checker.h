// LimitChecker: modes, unique keys, limits of concurrency, rate and queues, and expiry,
// as the committed rows and what is sent to workers show them.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/config.h"
#include "engine/input.h"
#include "sim/fire_checker.h"
#include "sim/world.h"
#include "store/store.h"

namespace takt::internal::sim {

// The payload that marks a forced trigger: rows do not say that they were forced.
constexpr std::string_view kForcedPayload = "forced";

// One row that a batch changed.
struct RowMove {
    Execution before;  // As it was; without a task if there was none.
    Execution after;
    bool redriven = false;  // Somebody asked, at some time, to run it again.
    Steady made{};
};

// When an attempt was decided: by the clock of its leader, and not before its batch began.
struct Decided {
    Time at{};
    Steady batch_began{};
    Duration ahead{0};  // By so much the clock may have been ahead of the trusted time.
};

class LimitChecker {
  public:
    using Complain = std::function<void(const std::string&)>;

    LimitChecker(World& world, const FireChecker& fires, Complain fail)
        : world_(world), fires_(fires), fail_(std::move(fail)) {}

    // `wall_latest` is the latest that its leader's clock ever said.
    void OnCommit(const Batch& batch, const std::vector<RowMove>& moves, Time wall_latest,
                  const EngineConfig& config);
    // An attempt is sent.
    void OnAssign(const Execution& execution, const Decided& decided);
    // A submit that was sent at `asked` was refused because somebody else holds the key, or because the
    // queue is full.
    void OnKeyRefused(const Text& key, Steady asked);
    void OnQueueRefused(const Text& queue, Steady asked, const EngineConfig& config);

    // Rates hold across terms, too, where all clocks are right.
    bool clocks_are_right = false;

    // The store went back to where it was when this was copied; see Checker::Recall.
    void Recall(const LimitChecker& later);

  private:
    struct Row {
        Execution execution;
        bool redriven = false;
    };
    struct Window {
        Time until{};     // None if the key was only held while the execution lived.
        Steady lasted{};  // When it has lasted as long as it says, whatever the clocks say.
        ExecutionId execution;
        std::uint64_t epoch = 0;  // Of who gave it.
        bool right = false;       // The clock of who gave it was.
    };

    void Follow(const RowMove& move);
    void CheckModes();
    void NoteWindow(const SettingPut& setting);
    void CheckUnique(const RowMove& move, std::uint64_t epoch);
    void CheckConcurrency();
    void CheckQueues(const Batch& batch, const std::vector<RowMove>& moves,
                     const EngineConfig& config);
    void CheckPace(const Execution& execution, Steady batch_began);
    std::size_t CountIn(const Text& queue, bool working) const;

    World& world_;
    const FireChecker& fires_;
    const Complain fail_;
    std::map<ExecutionId, Row> live_;
    std::map<Text, std::vector<Window>> windows_;  // By unique key.
    std::map<ExecutionId, Time> written_until_;    // Of their windows, as the store has it.
    std::map<Text, QueueLimits> queues_;           // As committed; plain ones are left out.
    // Starts by what limits their rate, and since when each may have been decided. By epoch too: by
    // the clock of the next leader any time may have passed.
    std::map<std::pair<std::uint64_t, Text>, std::deque<Steady>> starts_;
    std::map<Text, Steady> key_held_;      // Until when somebody had it, as far as rows show.
    std::map<Text, Steady> full_;          // When a queue was last seen to be full.
    std::map<Text, std::size_t> waiting_;  // By queue, before the batch under way.
    Time clock_latest_{};                  // That any leader ever saw.
};

}  // namespace takt::internal::sim
