// Changes: what happens to stored rows, as values. The engine produces them, stores apply them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>

#include "base/id.h"
#include "base/text.h"
#include "base/time.h"
#include "model/event.h"
#include "model/execution.h"
#include "model/task.h"
#include "model/worker.h"

namespace takt::internal {

// Where an execution's row is. Only finished executions carry the indexes of the history queries.
enum class Place : std::uint8_t { kNone, kLive, kHistory };

// An execution as it is after the change. `before` says where its row was before the batch, so that
// a store need not look: none → live inserts, live → live updates what an attempt can change (all
// but serial, id, task, origin, payload, created_at, scheduled_at and its place in a run: parent,
// step, shard and round), live → history moves, none → history inserts a finished one, history →
// live re-drives. Never → none; see Purge.
struct ExecutionChange {
    Place before = Place::kNone;
    Place after = Place::kLive;
    Execution row;
};
struct TaskPut {
    TaskRow row;
};
struct TaskDelete {
    TaskId id;
};
struct WorkerPut {
    Worker row;
};
struct WorkerDelete {
    WorkerId id;
};
// A named value that outlives leaders: the strategy, paused queues, access tokens, alert rules.
// An empty value deletes it.
struct SettingPut {
    Text key;
    Text value;
};
struct EventAppend {
    Event row;
};
// Output of an execution.
struct LogChunk {
    ExecutionId execution;
    Serial index = 0;  // Rises from chunk to chunk.
    std::uint32_t attempt = 0;
    Time at{};
    Text lines;  // Whole lines, each ended by a newline.
};
struct LogAppend {
    LogChunk row;
};
// A row that only its leader looks at, in memory, after it was loaded. Stored by number: only ever
// append. The value is opaque to stores; an empty one deletes the row. Keys are unique within their
// partition and kind.
enum class RecordKind : std::uint8_t {
    kLock = 1,  // A lock that somebody holds.
    kRun = 2,   // How far a run of a workflow is, unless the row of a child says so.
};
struct RecordPut {
    RecordKind kind{};
    Text key;
    Text value;  // At most kRecordBytesMax.
};
constexpr std::size_t kRecordBytesMax = 64u << 10;

// An entry of the audit: who did what. The body is opaque to stores.
struct AuditRow {
    Serial serial = 0;
    Time at{};
    Text body;
};
struct AuditAppend {
    AuditRow row;
};
// Deletes what retention no longer keeps, oldest first: at most `count_max` executions (with their
// log chunks), as many events and as many rows of the audit. Only executions without a parent are in
// that order. The children of one go first, each counted, and the run itself last, maybe in a later
// purge; children whose run is live are not looked at.
struct Purge {
    Time finished_before{};
    Time events_before{};
    std::uint32_t count_max = 1000;
    Time audit_before{};
};

using Change = std::variant<ExecutionChange, TaskPut, TaskDelete, WorkerPut, WorkerDelete,
                            SettingPut, EventAppend, LogAppend, Purge, RecordPut, AuditAppend>;

// A bound on the bytes that a change takes in a commit, near enough for cutting batches.
std::size_t SizeOf(const Change& change);

}  // namespace takt::internal
