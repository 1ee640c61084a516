// Refusals that stores say in the same words.
#pragma once

#include <algorithm>
#include <variant>

#include "store/store.h"

namespace takt::internal {

inline std::unexpected<Error> DefaultIsKept() {
    return Fail(ErrorCode::kInvalid, "the default partition cannot be dropped");
}

// The answer of a store that has no rows of a kind.
inline std::unexpected<Error> HasNoSuchRows() {
    return Fail(ErrorCode::kInvalid,
                "this store keeps neither records, nor an audit, nor children of runs");
}

// For such a store: kInvalid if the batch has any of them.
inline Result<void> CheckHasSuchRows(const Batch& batch) {
    const bool has = std::ranges::any_of(batch.changes, [](const Change& change) {
        const auto* execution = std::get_if<ExecutionChange>(&change);
        return std::holds_alternative<RecordPut>(change) ||
               std::holds_alternative<AuditAppend>(change) ||
               (execution && !execution->row.parent.empty());
    });
    if (has) return HasNoSuchRows();
    return {};
}

}  // namespace takt::internal
