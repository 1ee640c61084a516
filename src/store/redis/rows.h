// Rows: executions as strings, events as stream entries, log chunks as entries of a list.
//
// An execution is two strings, so that one MSET writes those of a whole batch: what was known when
// it came, whole, and from its first change on what an attempt can change, written whole too. So an
// update carries no payload and needs no knowledge of what was there before. Both begin with a line
// that scripts can read; docs/stores/redis.md has its words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/change.h"
#include "store/redis/keys.h"
#include "store/redis/resp.h"

namespace takt::internal::redis {

// The value of PartitionKeys::Execution, and that of PartitionKeys::State.
std::string ExecutionText(const Execution& row);
std::string StateText(const Execution& row);

// `state` is nil before the first change. Never fails: a string that is not an execution's, or
// none, gives a row that can be shown, with Reason::kUndecodable. `serial` is 0 if only `text` may
// know it.
Execution ReadExecution(std::string_view id, Serial serial, ReplyView text, ReplyView state);

// One of kLoad's and kList's answers: {member, text, state}.
Execution ReadMember(ReplyView row);

// The answers to HGETALL, by rising id or key. Records that cannot be read are left out and named
// in the log: a worker writes its own anew when it attaches.
std::vector<Worker> ReadWorkers(ReplyView hash);
std::vector<SettingPut> ReadSettings(ReplyView hash);
// kHashPage's answers. Tasks that cannot be read are left out and named in the log.
std::vector<TaskRow> ReadTasks(ReplyView page);
std::vector<RecordPut> ReadRecords(ReplyView page);

// Under which a record stands in its hash and sorted set: its kind in three digits, ':', its key.
std::string RecordId(RecordKind kind, std::string_view key);

// A row of the audit as a member of its sorted set: its serial in 19 digits, its time, its body, with
// ':' between them. And back; kInvalid if `member` is none.
std::string AuditText(const AuditRow& row);
Result<AuditRow> ReadAuditText(std::string_view member);

// `entry` is one of XRANGE's answer.
void WriteEvent(const Event& row, RespWriter& to);  // Values of type … detail, in a fixed order.
Result<Event> ReadEvent(ReplyView entry);
// One line of JSON, for those who subscribe to the channel.
void AppendEventJson(std::string& out, const Event& row);

// An entry of the list of those that ended: when, in milliseconds, and its member.
std::string EndedText(Time at, std::string_view member);

// A chunk as an entry of its execution's list: index in 19 digits, attempt, milliseconds, lines. And
// back; kInvalid if `text` is none.
std::string ChunkText(const LogChunk& row);
Result<LogChunk> ReadChunkText(const ExecutionId& execution, std::string_view text);
// As an entry of a stream, which layouts before had.
Result<LogChunk> ReadLogChunk(const ExecutionId& execution, ReplyView entry);

}  // namespace takt::internal::redis
