// Sink: who carries out what the node releases. The links to workers, the event stream and the
// metrics hang here.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "base/id.h"
#include "engine/effects.h"
#include "store/store.h"

namespace takt::internal {

enum class Role : std::uint8_t {
    kFollower,  // Another node leads, or none does yet.
    kLoading,   // Elected; reads what the term begins with.
    kLeader,
    kStopped,
};
std::string_view Name(Role role);

// A batch that the store has taken, for those who count what it says.
struct Committed {
    const std::vector<Change>& changes;  // At most one of each row: as it was at last.
    std::chrono::microseconds took;      // From the first try to the answer.
};

// Why a node gives up the lead in order: there is an heir, or it stops, whoever comes after it.
enum class Parting : std::uint8_t { kHandOver, kStop };

class Sink {
  public:
    virtual ~Sink() = default;

    // Right before the effects of the same batch are released. Called on the node's thread.
    virtual void OnCommit(const Committed& committed) {}

    // Effects whose changes are committed, in order. Called on the node's thread.
    virtual void Release(const Effects& effects) = 0;

    // The node's role changed. When it stops leading, every session is over.
    virtual void OnRole(Role role) = 0;

    // The lead is about to be handed over in order, or given up by a node that stops, and nothing is
    // released any more: what the next leader has to know. It is stored before the lead is given up.
    virtual std::vector<SettingPut> LeaveWord(Parting why) { return {}; }
    // The store did not take it in time: this node goes on leading.
    virtual void OnHandOverFailed() {}
};

}  // namespace takt::internal
