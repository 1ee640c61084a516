#include "engine/trials.h"

namespace takt::internal {

void Trials::Judge(const LiveList& hand) const {
    const Live* blamed = nullptr;
    for (const Live* live = hand.front(); live; live = live->next) {
        if (!live->doubtful) continue;
        if (live->spared) return;  // By an earlier step, which could not settle the whole hand.
        if (IsSuspect(live->row)) blamed = live;
    }
    if (!blamed) return;
    for (Live* live = hand.front(); live; live = live->next) {
        live->spared = live->doubtful && live != blamed;
    }
}

}  // namespace takt::internal
