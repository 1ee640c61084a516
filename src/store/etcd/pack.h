// Packs: many rows in one value, because etcd's work is per key. A finished execution is a row in
// the pack of the commit that finished it and a small pointer of its own; events are packed too.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/execution.h"
#include "store/etcd/keys.h"
#include "store/store.h"

namespace takt::internal::etcd {

// Rows are kept in this order; compressed when that makes them smaller.
std::string EncodePack(const std::vector<std::string>& rows);
Result<std::vector<std::string>> DecodePack(std::string_view bytes);

struct Pointer {
    PackName pack;
    std::uint32_t index = 0;
    Status status{};
    std::uint32_t task_hash = 0;
    std::uint32_t worker_hash = 0;
    std::uint32_t type_hash = 0;
    std::uint32_t queue_hash = 0;
};

std::string EncodePointer(const Execution& row, PackName pack, std::uint32_t index);
Result<Pointer> DecodePointer(std::string_view bytes);

// False only if the row that it points to cannot match.
bool MayMatch(const ExecutionFilter& filter, const Pointer& pointer);

std::string EncodeLogChunk(const LogChunk& chunk);
Result<LogChunk> DecodeLogChunk(const ExecutionId& execution, Serial index, std::string_view bytes);

// The execution whose record is `bytes`; if they cannot be read, a failed one that says so, under
// the serial and id of its key.
Execution DecodeOrShow(const ExecutionKey& key, std::string_view bytes);
Execution ShowUndecodable(const ExecutionKey& key, const Error& error);

}  // namespace takt::internal::etcd
