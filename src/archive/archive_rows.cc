#include "archive/archive_rows.h"

#include <chrono>

#include "base/check.h"
#include "model/record.h"

namespace takt::internal {
namespace {

std::int64_t Milliseconds(Time time) {
    return time.time_since_epoch().count();
}
Time TimeAt(std::int64_t milliseconds) {
    return Time(Duration(milliseconds));
}

struct Encoder {
    archive::Row& row;

    void operator()(const ExecutionChange& change) const {
        std::string bytes = EncodeExecution(change.row);
        if (change.after == Place::kLive) {
            row.set_live(std::move(bytes));
        } else {
            row.set_history(std::move(bytes));
        }
    }
    void operator()(const TaskPut& change) const { row.set_task(EncodeTaskRow(change.row)); }
    void operator()(const WorkerPut& change) const { row.set_worker(EncodeWorker(change.row)); }
    void operator()(const EventAppend& change) const { row.set_event(EncodeEvent(change.row)); }
    void operator()(const SettingPut& change) const {
        row.mutable_setting()->set_key(change.key.str());
        row.mutable_setting()->set_value(change.value.str());
    }
    void operator()(const RecordPut& change) const {
        archive::Record& record = *row.mutable_record();
        record.set_kind(static_cast<std::uint32_t>(change.kind));
        record.set_key(change.key.str());
        record.set_value(change.value.str());
    }
    void operator()(const LogAppend& change) const {
        archive::LogChunk& chunk = *row.mutable_log();
        chunk.set_execution(std::string(change.row.execution.view()));
        chunk.set_index(change.row.index);
        chunk.set_attempt(change.row.attempt);
        chunk.set_at_ms(Milliseconds(change.row.at));
        chunk.set_lines(change.row.lines.str());
    }
    void operator()(const AuditAppend& change) const {
        archive::Audit& audit = *row.mutable_audit();
        audit.set_serial(change.row.serial);
        audit.set_at_ms(Milliseconds(change.row.at));
        audit.set_body(change.row.body.str());
    }
    template <typename Other>
    void operator()(const Other&) const {
        TAKT_CHECK(false);
    }
};

// The record of `bytes`, as the change that `make` makes of it.
template <typename Row, typename Make>
Result<Change> Decoded(Result<Row> row, Make make) {
    if (!row) return std::unexpected(row.error());
    return Change(make(std::move(*row)));
}

Result<Change> DecodeKept(const archive::Record& record) {
    const auto kind = static_cast<RecordKind>(record.kind());
    if (kind != RecordKind::kLock && kind != RecordKind::kRun) {
        return Fail(ErrorCode::kInvalid, "a record of kind " + std::to_string(record.kind()) +
                                             ", which this version does not know");
    }
    return RecordPut{kind, Text(record.key()), Text(record.value())};
}

}  // namespace

void EncodeRow(const Change& change, archive::Row& row) {
    std::visit(Encoder{row}, change);
}

Result<Change> DecodeRow(const archive::Row& row) {
    const auto execution_at = [](Place place) {
        return [place](Execution execution) {
            return ExecutionChange{Place::kNone, place, std::move(execution)};
        };
    };
    switch (row.row_case()) {
        case archive::Row::kHistory:
            return Decoded(DecodeExecution(row.history()), execution_at(Place::kHistory));
        case archive::Row::kLive:
            return Decoded(DecodeExecution(row.live()), execution_at(Place::kLive));
        case archive::Row::kTask:
            return Decoded(DecodeTaskRow(row.task()), [](TaskRow task) { return TaskPut{task}; });
        case archive::Row::kWorker:
            return Decoded(DecodeWorker(row.worker()),
                           [](Worker worker) { return WorkerPut{worker}; });
        case archive::Row::kEvent:
            return Decoded(DecodeEvent(row.event()),
                           [](Event event) { return EventAppend{event}; });
        case archive::Row::kSetting:
            return SettingPut{Text(row.setting().key()), Text(row.setting().value())};
        case archive::Row::kRecord:
            return DecodeKept(row.record());
        case archive::Row::kLog:
            return LogAppend{{.execution = ExecutionId(Text(row.log().execution())),
                              .index = row.log().index(),
                              .attempt = row.log().attempt(),
                              .at = TimeAt(row.log().at_ms()),
                              .lines = Text(row.log().lines())}};
        case archive::Row::kAudit:
            return AuditAppend{{.serial = row.audit().serial(),
                                .at = TimeAt(row.audit().at_ms()),
                                .body = Text(row.audit().body())}};
        default:
            return Fail(ErrorCode::kInvalid, "a row of a kind that this version does not know");
    }
}

}  // namespace takt::internal
