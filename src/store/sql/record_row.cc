#include "store/sql/record_row.h"

#include <fmt/core.h>

#include <string>

#include "base/log.h"
#include "base/number.h"
#include "model/record.h"

namespace takt::internal::sql {
namespace {

Error Undecodable(std::string_view what, std::string_view id, const Error& error) {
    return {ErrorCode::kInvalid,
            fmt::format("the stored record of {} {} cannot be read: {}", what, id, error.detail),
            {}};
}

}  // namespace

Result<TaskRow> ReadTask(std::string_view id, std::string_view record) {
    Result<TaskRow> task = DecodeTaskRow(record);
    if (!task) return std::unexpected(Undecodable("task", id, task.error()));
    return task;
}

std::optional<TaskRow> ReadTaskOrTell(std::string_view id, std::string_view record) {
    Result<TaskRow> task = ReadTask(id, record);
    if (task) return std::move(*task);
    Log(LogLevel::kError, "store",
        "a stored task cannot be read and does not fire; put it again under its id to replace it",
        {{"task", id}, {"error", task.error().detail}});
    return std::nullopt;
}

Worker ReadWorker(std::string_view id, std::string_view record) {
    Result<Worker> worker = DecodeWorker(record);
    if (worker) return std::move(*worker);
    Worker unreadable;
    unreadable.id = WorkerId(Text(id));
    unreadable.name = unreadable.id.text();
    unreadable.status = WorkerStatus::kOffline;
    unreadable.status_reason = Text(Undecodable("worker", id, worker.error()).detail);
    return unreadable;
}

Event ReadEvent(Serial serial, std::string_view record) {
    Result<Event> event = DecodeEvent(record);
    if (event) return std::move(*event);
    return {.serial = serial,
            .type = EventType::kAlert,
            .at = TimeOf(serial),
            .detail = Text(Undecodable("event", std::to_string(serial), event.error()).detail)};
}

std::optional<std::string> EndOfPrefix(std::string_view prefix) {
    std::string end(prefix);
    while (!end.empty() && static_cast<unsigned char>(end.back()) == 0xff) end.pop_back();
    if (end.empty()) return std::nullopt;
    end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
    return end;
}

std::string RecordCursor(const RecordPut& last) {
    return "r" + std::to_string(static_cast<int>(last.kind)) + "/" + last.key.str();
}

Result<LoadCursor> ParseLoadCursor(std::string_view text) {
    using Kind = LoadCursor::Kind;
    if (text.empty()) return LoadCursor{};
    const std::string_view rest = text.substr(1);
    if (text.starts_with('t')) return LoadCursor{.key = rest};
    if (text.starts_with('r')) {
        const std::size_t slash = rest.find('/');
        const auto record = ParseNumber<std::uint8_t>(rest.substr(0, slash));
        if (record && slash != std::string_view::npos) {
            return LoadCursor{
                .kind = Kind::kRecords, .key = rest.substr(slash + 1), .record = *record};
        }
    } else if (text.starts_with('e')) {
        const auto serial = ParseNumber<Serial>(rest);
        if (serial) return LoadCursor{.kind = Kind::kExecutions, .serial = *serial};
    }
    return Fail(ErrorCode::kInvalid, "not a cursor of Load", "cursor");
}

}  // namespace takt::internal::sql
