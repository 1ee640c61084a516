// Claims: who holds which unique key, and until when.
//
// A key is held while its execution is not finished and, with a window, until the window is over,
// whichever is later. A claim with a window outlives its execution, so it is stored (a setting
// "unique/KEY") and known to the next leader; one without is made again from the live row. All times
// are those of the trusted clock: one that is ahead for a moment keeps no key for days.
#pragma once

#include <map>
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
};

class Claims {
  public:
    static constexpr std::string_view kPrefix = "unique/";  // Of the settings that are its own.

    // Before the first step: what the store had. A live row comes after all settings.
    void Restore(std::string_view key, std::string_view value);
    void Restore(const Execution& row);

    // After all of them: the term begins. A window that an earlier one wrote, by whatever clock, ends
    // so long after now at the latest: it has lasted at least since then. What is stored stays.
    void Begin(Time now);

    // The claim that keeps the task's key from this execution; null if there is none, or no key.
    const Claim* HolderAgainst(const ExecutionId& execution, const Task& task, Time now) const;

    // The execution holds its task's key from now on. REQUIRES: nobody else does.
    void Hold(const Execution& row, Time now, Draft& draft);
    // The execution is finished.
    void Release(const Execution& row);

    // The trusted clock was set by so much: windows that began in this term last as long as they say
    // all the same. If that matters, the next leader is told; of those that the step has no room for it
    // is not.
    void Move(Duration by, bool matters, Draft& draft);

    // Forgets the claims whose window is over, as many as the step has room for.
    void ForgetEnded(Time now, Draft& draft);

    std::size_t size() const { return claims_.size(); }

  private:
    static bool Asks(const Execution& row);
    Claim& Note(const Execution& row, Time now);
    static SettingPut Stored(const Text& key, const Claim& claim);

    std::map<Text, Claim, std::less<>> claims_;  // By key.
    std::set<std::pair<Time, Text>> ends_;       // Windows, in the order in which they end.
};

// kInvalid, of the field `id`: the scheduler gives such ids itself, or to the steps of workflows.
std::unexpected<Error> TakenForOwn();
std::unexpected<Error> TakenForStep();

}  // namespace takt::internal
