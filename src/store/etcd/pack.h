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

Kin KinOf(const Execution& row);
ExecutionKey KeyOf(const Execution& row);
// The pack of a commit, or that of the children of a run that it finished.
std::string PackKey(const Keys& keys, Partition partition, PackName pack, std::string_view run);

struct Pointer {
    PackName pack;
    std::string run;  // Whose packs it is in: of a child its run, else empty.
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

// The value under the key that says that an execution is part of a run: whether it has a payload
// that is kept apart, which its purge deletes too.
std::string ChildMark(const Execution& row);
bool HasPayloadApart(std::string_view child_mark);

std::string EncodeAudit(const AuditRow& row);
Result<AuditRow> DecodeAudit(Serial serial, std::string_view bytes);

std::string EncodeLogChunk(const LogChunk& chunk);
Result<LogChunk> DecodeLogChunk(const ExecutionId& execution, Serial index, std::string_view bytes);

// The execution whose record is `bytes`; if they cannot be read, a failed one that says so, under
// the serial and id of its key.
Execution DecodeOrShow(const ExecutionKey& key, std::string_view bytes);
Execution ShowUndecodable(const ExecutionKey& key, const Error& error);

}  // namespace takt::internal::etcd
