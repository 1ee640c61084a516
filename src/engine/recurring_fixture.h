// For histories of recurring tasks, in which no attempt runs out of time.
#pragma once

#include "engine/history.h"

namespace takt::internal {

class RecurringTest : public History {
  protected:
    void SetUp() override { config.worker_lease = config.timeout = 24h; }
    std::vector<std::int64_t> Due(const std::string& task = "report") {
        return DueOf(task, std::nullopt);
    }
    static TaskOptions Parallel() { return {.mode = Mode::kParallel}; }
};

}  // namespace takt::internal
