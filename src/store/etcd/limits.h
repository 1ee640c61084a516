// The limits of one request to an etcd with default settings.
#pragma once

#include <cstddef>

namespace takt::internal::etcd {

// A change takes four writes at most; see ops.h for how they fit into 128 operations.
constexpr std::size_t kChangesMax = 120;
// etcd takes requests of 1.5 MiB (--max-request-bytes); the rest is for what is around the writes.
constexpr std::size_t kRequestBytesMax = (3u << 19) - (48u << 10);
// A node closes a batch that is half full, the engine ends a step that has made as much, and the
// last row of it may carry a result of 1 MiB: twice a half and that are still one request.
// Payloads do not count: they can go ahead (ops.h).
constexpr std::size_t kBytesMax = 3u << 17;  // 384 KiB
// Of batches that are merged into one transaction: with more, etcd's readers wait noticeably.
constexpr std::size_t kMergedChangesMax = 960;
constexpr std::size_t kMergedBytesMax = 5u << 18;  // 1.25 MiB
// The same while other partitions write too, which would wait for it.
constexpr std::size_t kSharedChangesMax = kChangesMax;
// Payloads from this size on are kept apart from their rows and written once. A row would be
// written whole with every step of its life, and with a large result it would not fit any more.
constexpr std::size_t kPayloadApartMin = 64u << 10;
constexpr std::size_t kPipelineMax = 8;
// Executions that one Purge deletes. Of etcd's time for one transaction, some 30 ms.
constexpr std::size_t kPurgeMax = 700;
// Keys read in one transaction; below the 128 operations as well.
constexpr std::size_t kGetsMax = 100;

}  // namespace takt::internal::etcd
