// Holds: what an execution needs besides a worker: its task's turn, and room under a named limit.
//
// A hold has permits, of which so many are out at once, a pace at which they are given out, and
// those who wait for one. There are two kinds:
//
// - The turns of a recurring task (sequential mode: one permit). Those who wait stand in one line,
//   in the order in which they were due; the first one keeps its turn from when it is free until
//   the run is finished.
// - A named limit (concurrency and rate). A permit is taken when an execution is given to a worker,
//   not before, and returned when that attempt is over. While the limit is open, the first of each
//   line *stands in* its lane without having a permit; when the last permit or token is spent, they
//   are all drawn back. So whatever cannot run (no worker, a paused queue) holds nothing that
//   others need, and what piled up during an outage still starts at its pace.
//
// Lines of a named limit are kept by lane and priority: whether one of them can start is decided
// without looking at those behind it.
//
// Those who share a key may name different limits; the one accepted last counts for all of them, and
// goes on counting when it has ended, as long as anything unfinished names the key. Where all who are
// left name the limit in force, they tell the next leader; where not, a setting does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/id.h"
#include "base/text.h"
#include "base/time.h"
#include "engine/config.h"
#include "engine/draft.h"
#include "engine/lanes.h"
#include "engine/live.h"
#include "engine/pace.h"
#include "engine/timer_heap.h"
#include "model/task.h"

namespace takt::internal {

// A limit as a task names it, in an order: how many at once, and how many start in which time.
using NamedLimit = std::tuple<std::uint32_t, std::uint32_t, Duration>;

// Waits in the timer heap for something to be done about it: see Holds::Wake.
struct Hold : Timer {
    Text key;  // Of a named limit; empty for a task's turns.
    std::uint64_t order = 0;
    std::uint32_t permits_max = 0;  // 0 is no limit.
    std::uint32_t taken = 0;
    std::vector<const Live*> runs;  // Those that have its permits and are runs, in no order.
    Pace pace;
    bool stored = false;  // The store has its pace.
    // How many of those who name it name which limit: executions that are not finished, and recurring
    // tasks with a key.
    std::map<NamedLimit, std::uint32_t> namers;
    Serial said = 0;                 // How recent the word is that counts.
    std::optional<NamedLimit> word;  // As the store has it, if it has to.

    LiveList line;  // Turns: who waits, in order.
    // A named limit: who waits, by the number of the lane and the priority.
    std::map<std::pair<std::uint64_t, std::uint8_t>, std::unique_ptr<Line>> lines;
    std::vector<Sheaf*> sheaves;  // Of those lines, in no order.
    bool open = true;             // The firsts of its lines stand in their lanes.

    bool named() const { return !key.empty(); }
    bool has_permit() const { return permits_max == 0 || taken < permits_max; }
    bool waited_for() const { return !line.empty() || !lines.empty(); }
};

inline bool IsLimited(const Task& task) {
    const TaskOptions& options = task.opt();
    return options.concurrency_max > 0 || options.rate.count > 0;
}
// A limit without a key of its own is for the task; one-off tasks share it by their name.
Text LimitKeyOf(const Task& task);

class Holds {
  public:
    // Of the settings that are its own.
    static constexpr std::string_view kPrefix = "pace/";
    static constexpr std::string_view kWordPrefix = "limit/";

    // Both outlive it.
    Holds(Draft& draft, const EngineConfig& config) : draft_(draft), config_(config) {}

    // Everything that the store had is restored, in this order: paces and words by their keys; with the
    // beginning of time those who name a limit; then places. Those who are at work have their
    // permits, and spend no token for it.
    void RestorePace(std::string_view key, const StoredPace& pace);
    void RestoreWord(std::string_view key, std::string_view value);
    void Begin(Instant now);
    void RestoreNamer(const Execution& row);
    void RestoreNamer(const Task& recurring);
    void EndNamers();

    // A step begins.
    void SetTime(Instant now) { now_ = now; }

    // --- The word on a limit: of those who share a key, the task accepted last has it ------------

    // The execution is made, or run again: until it is finished it names its task's limit, if that has
    // one. REQUIRED before anything else is asked about its limit.
    void AddNamer(const Execution& row);
    void RemoveNamer(const Execution& row);
    // A recurring task was accepted now, in place of the one `before`; its runs that wait by an older
    // word follow it. Null: there was none, or there is none any more.
    void ChangeNamer(const Task* before, const Task* after);

    // --- Turns -----------------------------------------------------------------------------------

    // Whether the run may go on: it needs no turn, has it, or gets it now. Else it waits in line.
    bool TakeTurn(Live& live, Hold& turns);
    void TakeTurnAgain(Live& live, Hold& turns);  // A new leader found that it has begun.
    void ReturnTurn(Hold& turns);
    void LeaveLine(Live& live, Hold& turns);
    // The next in line, taken out of it with its turn; null if there is none or no turn is free.
    Live* NextInTurn(Hold& turns);
    void SetTurnsAtOnce(Hold& turns, std::uint32_t permits_max);
    // It is about to be destroyed. REQUIRES: nobody waits.
    void Forget(Hold& turns) { wakes_.Remove(turns); }

    // --- Named limits ----------------------------------------------------------------------------

    // The limit that the execution's task names; null if it names none.
    Hold* LimitOf(const Live& live) {
        return IsLimited(*live.row.task) ? &Find(*live.row.task) : nullptr;
    }
    // The same, if somebody needs it already.
    const Hold* FindLimit(const Task& task) const;
    bool IsOpen(Hold& limit) {
        Refresh(limit);
        return limit.open;
    }
    // The execution's limit if it was opened, and those who wait under it are still to be looked at;
    // else null.
    Hold* FindWoken(const Live& live);
    // The execution waits for a permit and a worker, and no more. `back`: it was here before, and goes
    // back to its place.
    void Add(Live& live, Hold& limit, bool back);
    void Remove(Live& live);
    // It is given to a worker; its attempt is over. Nothing if its task names no limit.
    void TakePermit(Live& live);
    void TakePermitAgain(Live& live);  // A new leader found it at work.
    void ReturnPermit(Live& live);
    // The execution leaves its permit to a handler that stops; that is over. `key` is LimitKeyOf.
    void LeavePermit(Live& live);
    void ReturnPermit(const Text& key);
    void TakePermitAgain(const Text& key);  // A new leader found that one stops.

    // --- What time and the end of a step bring ---------------------------------------------------

    bool AnyDue() const { return !wakes_.empty() && wakes_.next_at() <= now_.steady; }
    // The first hold that is due, with its limits looked at again; null if nobody needed it any
    // more. The caller lets start whoever now may. REQUIRES: AnyDue.
    Hold* Wake();
    // At the end of this step, or in the next one.
    void WakeSoon(Hold& hold) { wakes_.Set(hold, now_.steady, hold.order); }
    // All who may start have started.
    void Rest(Hold& limit) {
        wakes_.Remove(limit);
        SetWake(limit);
    }
    std::optional<Steady> next_at() const {
        return wakes_.empty() ? std::nullopt : std::optional(wakes_.next_at());
    }

    std::size_t limit_count() const { return limits_.size(); }

  private:
    // A limit as the store had it.
    struct Restored {
        std::optional<StoredPace> pace;
        std::optional<NamedLimit> word;
        Serial said = 0;
    };

    Hold& Find(const Task& task);
    Hold& Ensure(const Text& key);
    void Restore(const Task& task, Serial said);
    void Join(Hold& limit, const Task& task, std::optional<Serial> said);
    void Leave(const Task& task);
    void Apply(Hold& limit, const NamedLimit& named, Serial said);
    void ReviewWord(Hold& limit);
    void Refresh(Hold& limit);
    void SetWake(Hold& limit);
    void GivePermit(Hold& limit, Live& live);
    void StorePace(Hold& limit);
    void Erase(Hold& limit);

    Draft& draft_;
    const EngineConfig& config_;
    Instant now_{};
    std::map<Text, std::unique_ptr<Hold>, std::less<>> limits_;  // By key.
    std::map<Text, Restored, std::less<>> restored_;             // Until Begin.
    std::uint64_t made_ = 0;
    TimerHeap<Hold, Steady> wakes_;
};

}  // namespace takt::internal
