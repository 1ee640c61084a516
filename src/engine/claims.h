// Claims: who holds which unique key, and until when.
//
// A key is held while its execution is not finished and, with a window, until the window is over,
// whichever is later. A claim with a window outlives its execution, so it is stored (a setting
// "unique/KEY") and known to the next leader; one without is made again from the live row. All times
// are those of the trusted clock: one that is ahead for a moment keeps no key for days.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/id.h"
#include "base/text.h"
#include "base/time.h"
#include "engine/draft.h"
#include "model/execution.h"

namespace takt::internal {

struct Claim {
    ExecutionId execution;
    Time until{};        // Kept after the execution is finished until then; 0: only while it lives.
    bool live = false;   // The execution is not finished.
    bool own = false;    // Counted by this term: it is known since when, whatever the clocks say.
    Duration window{0};  // Until then from when it was made; 0: there is none, or it is not known.
    Time written{};      // What the next leader reads; 0: nothing.
};

class Claims {
  public:
    static constexpr std::string_view kPrefix = "unique/";  // Of the settings that are its own.

    // Before the first step: what the store had. A live row comes after all settings.
    void Restore(std::string_view key, std::string_view value);
    void Restore(const Execution& row);

    // After all of them: the term begins, with a wall clock so far ahead of the trusted one, or behind
    // the last record. A window that an earlier term wrote, by whatever clock, ends so long after now
    // at the latest: it has lasted at least since then. What is stored stays.
    void Begin(Time now, Duration ahead, Duration behind);

    // The claim that keeps the task's key from this execution; null if there is none, or no key.
    const Claim* HolderAgainst(const ExecutionId& execution, const Task& task, Time now) const;

    // The execution holds its task's key from now on. REQUIRES: nobody else does.
    void Hold(const Execution& row, Time now, Draft& draft);
    // The execution is finished.
    void Release(const Execution& row);

    // The trusted clock was set by so much, and the wall clock is so far ahead of it now. Windows that
    // began in this term last as long as they say all the same.
    void Move(Duration by, Duration ahead);

    // Tells the next leader when windows end, after a move: a few in each step. Nobody knows by which
    // of the clocks of this term it will read that, so it may be too late, which Begin bounds, but is
    // not too early: a key that is free too soon is a task that runs twice.
    void Tell(Draft& draft);
    bool has_untold() const { return untold_.has_value(); }

    // Forgets the claims whose window is over, as many as the step has room for.
    void ForgetEnded(Time now, Draft& draft);

    std::size_t size() const { return claims_.size(); }

  private:
    static bool Asks(const Execution& row);
    Claim& Note(const Execution& row, Time now);
    Time ToWrite(const Claim& claim) const;
    void Write(const Text& key, Claim& claim, Draft& draft) const;

    std::map<Text, Claim, std::less<>> claims_;  // By key.
    std::set<std::pair<Time, Text>> ends_;       // Windows, in the order in which they end.
    Duration ahead_{0};                          // Of the wall clock, before the trusted one.
    Duration back_{0};            // By so much the trusted one is behind where it was before.
    std::optional<Text> untold_;  // From this key on the next leader is to be told.
};

// kInvalid, of the field `id`: the scheduler gives such ids itself, or to the steps of workflows.
std::unexpected<Error> TakenForOwn();
std::unexpected<Error> TakenForStep();

}  // namespace takt::internal
