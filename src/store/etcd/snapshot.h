// Snapshot: reads that all see the state of one moment, that of the first.
//
// The first read is linearizable, so it sees every commit that was answered before it began; later
// ones name its revision. A snapshot that lasts so long that its revision is compacted away ends
// with kConflict: begin anew. One that needs more than kReadTimeMax, since its filter leaves next
// to nothing of a long history, ends with kUnavailable.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "store/etcd/client.h"
#include "store/etcd/keys.h"
#include "store/etcd/ops.h"

namespace takt::internal::etcd {

struct Rows {
    std::vector<pb::KeyValue> kvs;
    bool more = false;  // There are others behind the last one.
};

// For all reads of one snapshot together. A million pointers take some ten seconds.
constexpr std::chrono::seconds kReadTimeMax{20};

// etcd collects the index of a whole range before it cuts the answer to the limit, so a read costs
// as much as its range is long: where many keys are, ranges must be short.
class Snapshot {
  public:
    explicit Snapshot(Client& client)
        : client_(client),
          deadline_(SteadyClock::now() + kReadTimeMax),
          revision_(client.pinned_revision()) {}

    // The first `rows_max` of the range. Small rows may come at once.
    enum class RowSize : std::uint8_t { kSmall, kAny };
    Async<Result<Rows>> Range(KeyRange range, std::size_t rows_max, RowSize size = RowSize::kAny);
    // The first `rows_max` of each, in their order.
    Async<Result<std::vector<Rows>>> Ranges(std::vector<KeyRange> ranges, std::size_t rows_max);
    // One for each key, in their order.
    Async<Result<std::vector<std::optional<pb::KeyValue>>>> Get(std::vector<std::string> keys);

  private:
    Result<void> CheckTime() const;
    void NoteRevision(std::int64_t revision);

    Client& client_;
    const Steady deadline_;
    std::int64_t revision_;  // 0: before the first read.
};

constexpr std::size_t kAllRows = SIZE_MAX;

}  // namespace takt::internal::etcd
