// WorkersSeen: the workers as committed rows show them, and what each has in hand as messages show it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>

#include "engine/effects.h"
#include "sim/world.h"
#include "store/store.h"

namespace takt::internal::sim {

struct SeenWorker {
    Worker row;
    bool known = false;  // It has a row.
    std::uint64_t changed =
        0;  // The commit that brought it, or changed what it offers or its status.
    Steady changed_at{};
    std::map<std::pair<std::string, std::uint32_t>, Token> hand;  // Sent, and not ended there.
    std::deque<Steady> ended;  // When its handlers ended what they did, lately.
    // How many it may have had in hand by what its leader knew, since when.
    std::deque<std::pair<Steady, std::size_t>> counts;
};

class WorkersSeen {
  public:
    explicit WorkersSeen(World& world) : world_(world) {}

    void OnCommit(const Batch& batch, std::uint64_t commit);
    void OnAssign(const Execution& execution);
    void OnEnd(const AttemptRef& attempt);

    // Null if nobody of that id was ever there.
    const SeenWorker* Find(const WorkerId& id) const;
    const std::map<WorkerId, SeenWorker>& all() const { return workers_; }

    // How many it had in hand when what is sent now was decided, at least and at most: its leader may
    // not have known yet what ended lately. And the most within the last while.
    static std::size_t Least(const SeenWorker& worker) { return worker.hand.size(); }
    std::size_t Most(const SeenWorker& worker) const;
    std::size_t Most(const SeenWorker& worker, Micros last) const;
    // Whether it was there, as it is, and could have taken one more, all the time.
    bool HadRoom(const SeenWorker& worker, Micros last) const;

    // A failover does not change what they have in hand.
    void Recall(const WorkersSeen& later);

  private:
    void Count(SeenWorker& worker);

    World& world_;
    std::map<WorkerId, SeenWorker> workers_;
};

}  // namespace takt::internal::sim
