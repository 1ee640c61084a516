// Commons: the part of a process that its nodes share beside the store and their presence. What bounds
// memory belongs to the process, however many namespaces it leads.
#pragma once

#include <memory>

#include "node/load_turns.h"
#include "node/shared_bound.h"
#include "store/company.h"

namespace takt::internal {

struct CommonBounds {
    // Requests that may wait in inboxes, and as many for the store. Beyond, they are refused: memory
    // is finite.
    std::size_t inbox_max = 200'000;
    std::size_t backlog_bytes_max = 256u << 20;  // Of batches that wait for the store.
    // Executions that are not finished. A leader has all of them in memory, about 1 KiB each.
    std::size_t live_max = 10'000'000;
};

struct Commons {
    explicit Commons(const CommonBounds& bounds = {})
        : inbox(std::make_shared<SharedBound>(bounds.inbox_max)),
          asked(std::make_shared<SharedBound>(bounds.inbox_max)),
          backlog_bytes(std::make_shared<SharedBound>(bounds.backlog_bytes_max)),
          live(std::make_shared<SharedBound>(bounds.live_max)) {}

    const std::shared_ptr<SharedBound> inbox;
    const std::shared_ptr<SharedBound>
        asked;  // Requests that were taken and wait for their answer.
    const std::shared_ptr<SharedBound> backlog_bytes;
    const std::shared_ptr<SharedBound> live;
    const std::shared_ptr<LoadTurns> loads = std::make_shared<LoadTurns>();
    const std::shared_ptr<Company> company = std::make_shared<Company>();
};

}  // namespace takt::internal
