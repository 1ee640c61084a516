// A batch as SQL: one transaction that applies it whole, or stops with an error and changes
// nothing.
//
// The server itself checks what must hold (the fence, and that each execution is where the change
// says): a check that fails is an error, and the rest of the packet, COMMIT included, is not run.
// So a commit is one round trip, and no client that was stopped in the middle can keep rows locked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "store/store.h"

namespace takt::internal::mysql {

// The error of a check that failed: ER_SUBQUERY_NO_1_ROW.
constexpr unsigned kCheckFailed = 1242;
// Where, in the first packet, the fence's check is.
constexpr std::size_t kFenceStatement = 2;

// Executions that one Purge deletes. More take so long that others, and the answer, wait for it.
constexpr std::uint32_t kPurgeMax = 1000;

struct BatchSql {
    std::vector<std::string> packets;  // At least one. Each is at most `packet_bytes_max`, unless a
                                       // single change is larger.
    std::size_t commit_statement = 0;  // Where, in the last packet, COMMIT is.
};

// The rows that a purge deletes, chosen before (purge_plan.h): the server would look for the oldest
// twice, and cannot count through families.
struct PurgePlan {
    std::vector<Serial> roots;
    std::vector<Serial> children;
    Serial events_begin = 0;  // Those in [begin, end) go.
    Serial events_end = 0;
};

// REQUIRES: a batch with a Purge has a plan. `once_after`: see IsOnce.
BatchSql MakeBatchSql(const Batch& batch, const std::string& prefix, std::size_t packet_bytes_max,
                      const PurgePlan& plan = {}, Serial once_after = 0);

}  // namespace takt::internal::mysql
