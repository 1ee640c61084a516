// Kinds: what tasks ask of workers beyond their queue, and what workers offer.
#pragma once

#include "model/task.h"
#include "model/worker.h"
#include "sim/world.h"

namespace takt::internal::sim {

// A type of work, and perhaps labels and a group or a worker that only some are or carry.
struct Kind {
    Text type;
    Pairs labels;
    Text target;
};
Kind AnyKind(World& world);

// The offer that a worker makes. The first one serves all, so that somebody does.
void OfferKinds(World& world, bool all, Worker& worker);

Strategy AnyStrategy(World& world);

// As docs/scheduling.md says it: whether the worker can run what the task asks for.
bool CanRun(const Worker& worker, const Task& task);
// Whether two rows of a worker offer the same.
bool OffersTheSame(const Worker& a, const Worker& b);

}  // namespace takt::internal::sim
