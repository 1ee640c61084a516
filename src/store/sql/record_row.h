// Rows that are kept as one encoded record: how each is shown when it cannot be decoded.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "model/change.h"
#include "model/event.h"
#include "model/task.h"
#include "model/worker.h"

namespace takt::internal::sql {

// kInvalid, naming the task.
Result<TaskRow> ReadTask(std::string_view id, std::string_view record);

// Nothing if it cannot be read: the log then says that this task does not fire and what to do. Its
// row stays as it is, and whoever asks for the task by its id is told as well.
std::optional<TaskRow> ReadTaskOrTell(std::string_view id, std::string_view record);

// Never fails. A worker's row is written anew when it attaches; until then one that cannot be read
// is one that is not there.
Worker ReadWorker(std::string_view id, std::string_view record);

// Never fails: an event that cannot be read is an alert that says so.
Event ReadEvent(Serial serial, std::string_view record);

// The first text behind all that begin with `prefix`, byte by byte; nothing if there is none.
std::optional<std::string> EndOfPrefix(std::string_view prefix);

// Cursors of Load: "t" and the last task's id, "r", kind and key of the last record with a slash
// between, or "e" and the last execution's serial.
struct LoadCursor {
    enum class Kind : std::uint8_t { kTasks, kRecords, kExecutions };
    Kind kind = Kind::kTasks;  // All that comes before is done.
    std::string_view key;      // Of the last task or record, as in the text that was parsed.
    std::uint8_t record = 0;   // The kind of the last record.
    Serial serial = 0;
};
std::string RecordCursor(const RecordPut& last);
Result<LoadCursor> ParseLoadCursor(std::string_view text);

}  // namespace takt::internal::sql
