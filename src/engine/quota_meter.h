// QuotaMeter: what a namespace uses of its quotas, and whether it may have more.
//
// Children of a run and what a schedule brings are never refused here: nobody would be there to try
// again. They count, so that what people submit is refused the earlier.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "base/time.h"
#include "engine/pace.h"
#include "model/execution.h"
#include "model/namespace.h"

namespace takt::internal {

class QuotaMeter {
  public:
    void Set(const Quotas& quotas, Steady now);
    const Quotas& quotas() const { return quotas_; }

    // Every execution that is not finished, once each.
    void Add(const Execution& row) { payload_bytes_ += BytesOf(row); }
    void Remove(const Execution& row) { payload_bytes_ -= BytesOf(row); }

    // One more execution, as somebody asks for it.
    struct Wish {
        std::size_t waiting = 0;        // Executions that wait already.
        std::size_t payload_bytes = 0;  // Of the new one.
        bool submitted = true;          // A one-off task; not a trigger, nor one that runs again.
        Steady now{};
    };
    // One more execution may come, and is counted; kExhausted with the quota's name if not.
    Result<void> Admit(const Wish& wish);
    // One more worker may come, beside so many.
    Result<void> AdmitWorker(std::size_t online) const;

    std::uint64_t payload_bytes() const { return payload_bytes_; }
    // A payload that belongs to a task is stored once, however many executions have it.
    static std::size_t BytesOf(const Execution& row) {
        return row.origin == Origin::kOnce ? row.input().size() : row.payload.size();
    }

  private:
    Quotas quotas_;
    Pace submits_;
    std::uint64_t payload_bytes_ = 0;
};

}  // namespace takt::internal
