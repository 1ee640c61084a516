// Leftover: what an execution that was ended without its worker still holds while its handlers stop.
//
// The execution is over at once. Its turn, its permit of a named limit and its locks are let go when
// the worker says that the handler has ended, when that worker is lost, or when the handler has had
// timeout_grace to stop since the worker was told. So the next that needs them begins beside no
// handler that heeds being stopped. A run lets go of its own when the handlers of all that was in it
// have ended.
//
// It is a setting, written in the batch that ends the execution and deleted with some later one:
// the next leader goes on waiting, and learns from the worker what has stopped meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/id.h"
#include "base/text.h"
#include "base/time.h"
#include "engine/input.h"
#include "engine/timer_heap.h"

namespace takt::internal {

struct Recurring;
struct Run;
struct Slot;
struct Leftover;

// A handler that was told to stop, or will be when its worker comes back. Waits in the timer heap for
// the end of its time to do so.
struct StoppingHandler : Timer {
    AttemptRef attempt;
    Slot* slot = nullptr;              // Of its worker; null once that is forgotten.
    std::vector<Leftover*> leftovers;  // Its execution's, and those of the runs that this is in.
    std::uint64_t order = 0;           // In which they were told.
    std::uint32_t generation = 0;      // The batch after which it was told.
    bool over = false;                 // It has ended, or died with its worker.
};

struct Leftover {
    static constexpr std::string_view kPrefix = "leftover/";  // Of the settings.
    // A run of which more handlers stop tells the next leader of these only.
    static constexpr std::size_t kStoredMax = 500;

    Text key;                  // Of its setting.
    std::uint64_t number = 0;  // In order of making.
    ExecutionId execution;
    Time since{};         // When the execution ended.
    bool stored = false;  // There is a setting.
    // That have yet to stop, by their order. With the last one it ends.
    std::map<std::uint64_t, StoppingHandler*> handlers;
    Run* run = nullptr;  // It goes on, and holds everything itself.
    Recurring* turn_of = nullptr;
    Text limit;               // Of which it has a permit, if not empty.
    std::vector<Text> locks;  // Ids of holdings.
};

// As the setting says it.
struct StoredLeftover {
    struct Handler {
        WorkerId worker;
        AttemptRef attempt;
    };
    ExecutionId execution;
    Time since{};
    Text turn_of;  // The task's id; empty: no turn.
    Text limit;
    std::vector<Text> locks;
    std::vector<Handler> handlers;
};

// All of them.
struct Leftovers {
    std::multimap<ExecutionId, std::unique_ptr<StoppingHandler>> stopping;
    // By the orders of the worker and of the handler.
    std::map<std::pair<std::uint64_t, std::uint64_t>, StoppingHandler*> by_slot;
    std::map<std::uint64_t, std::unique_ptr<Leftover>> all;  // By number.
    std::set<std::uint64_t> unwritten;  // Those of runs that go on, changed by this step.
    TimerHeap<StoppingHandler, Steady> due;
    std::uint64_t stopping_made = 0;
    std::uint64_t made = 0;
    std::vector<std::pair<Text, StoredLeftover>> stored;  // Until Begin.
    // Leftovers that have a turn of a task which was deleted, by its id: nobody needs it yet.
    std::multimap<Text, Leftover*> turns_of_unknown;

    StoppingHandler* Find(const AttemptRef& attempt) const;
    // The handlers of one worker.
    std::vector<StoppingHandler*> Of(const Slot& slot) const;
    Leftover& Add(Text key, const ExecutionId& execution);
    static void Join(StoppingHandler& handler, Leftover& leftover);
    void Remove(StoppingHandler& handler);
    void Restore(const Text& key, std::string_view value);
};

std::string WriteLeftover(const StoredLeftover& leftover);
std::optional<StoredLeftover> ReadLeftover(
    std::string_view value);  // Nothing if it cannot be read.

}  // namespace takt::internal
