// The limits of one request to an etcd with default settings.
#pragma once

#include <cstddef>

namespace takt::internal::etcd {

// A change takes five writes at most; see ops.h for how they fit into 128 operations.
constexpr std::size_t kChangesMax = 120;
constexpr std::size_t kChangeWrites = 5;
// etcd takes requests of 1.5 MiB (--max-request-bytes); the rest is for what is around the writes.
constexpr std::size_t kRequestBytesMax = (3u << 19) - (48u << 10);
// A node closes a batch that is half full, the engine ends a step that has made as much, and the
// last row of it may carry a result of 1 MiB: twice a half, that and a page for each change are still
// one request. Payloads do not count: they can go ahead (ops.h).
constexpr std::size_t kBytesMax = 1u << 17;  // 128 KiB
// Both values of a page, unless it grew to it by what is not written with it.
constexpr std::size_t kPageBytesMax = 9u << 8;  // 2.25 KiB
static_assert(kBytesMax + (1u << 20) + kChangesMax * kPageBytesMax <
              kRequestBytesMax - (32u << 10));
// A row or a pointer that is larger has a key of its own.
constexpr std::size_t kPagedValueMax = 1u << 10;
// Of batches that are merged into one transaction: with more, etcd's readers wait noticeably.
constexpr std::size_t kMergedChangesMax = 960;
constexpr std::size_t kMergedBytesMax = 5u << 18;  // 1.25 MiB
// The same while other partitions write too, which would wait for it.
constexpr std::size_t kSharedChangesMax = kChangesMax;
// Payloads from this size on are kept apart from their rows and written once. A row would be
// written whole with every step of its life, and with a large result it would not fit any more.
constexpr std::size_t kPayloadApartMin = 64u << 10;
constexpr std::size_t kPipelineMax = 16;
// Executions that one Purge deletes. Of etcd's time for one transaction, some 30 ms.
constexpr std::size_t kPurgeMax = 700;
// Keys read in one transaction; below the 128 operations as well.
constexpr std::size_t kGetsMax = 100;

}  // namespace takt::internal::etcd
