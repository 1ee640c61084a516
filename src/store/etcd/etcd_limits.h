// What fits into one request to an etcd with default settings.
#pragma once

#include <cstddef>

namespace takt::etcd {

// A change takes two or three writes at most; see ops.h for how they fit into 128 operations.
constexpr std::size_t kChangesMax = 120;
// etcd takes requests of 1.5 MiB (--max-request-bytes). Keys and framing take some of it.
constexpr std::size_t kBytesMax = 5u << 18;  // 1.25 MiB
// Of batches that are merged into one transaction: with more, etcd's readers wait noticeably.
constexpr std::size_t kMergedChangesMax = 960;
constexpr std::size_t kPipelineMax = 8;

}  // namespace takt::etcd
