#include "archive/tally.h"

#include <variant>

#include "base/check.h"

namespace takt::internal {
namespace {

struct KindOfRow {
    RowKind operator()(const ExecutionChange& change) const {
        return change.after == Place::kLive ? RowKind::kLive : RowKind::kHistory;
    }
    RowKind operator()(const TaskPut&) const { return RowKind::kTask; }
    RowKind operator()(const WorkerPut&) const { return RowKind::kWorker; }
    RowKind operator()(const SettingPut&) const { return RowKind::kSetting; }
    RowKind operator()(const RecordPut&) const { return RowKind::kRecord; }
    RowKind operator()(const LogAppend&) const { return RowKind::kLog; }
    RowKind operator()(const EventAppend&) const { return RowKind::kEvent; }
    RowKind operator()(const AuditAppend&) const { return RowKind::kAudit; }
    template <typename Other>
    RowKind operator()(const Other&) const {
        TAKT_CHECK(false);
        return RowKind::kHistory;
    }
};

}  // namespace

std::string_view Name(RowKind kind) {
    constexpr std::string_view kNames[kRowKindCount] = {
        "history", "live", "tasks", "workers", "settings", "records", "logs", "events", "audit"};
    return kNames[static_cast<std::size_t>(kind)];
}

RowKind KindOf(const Change& change) {
    return std::visit(KindOfRow{}, change);
}

void Tally::Count(const Change& change) {
    Part& part = parts[static_cast<std::size_t>(KindOf(change))];
    ++part.rows;
    part.bytes += SizeOf(change);
}

void Tally::Add(const Tally& other) {
    for (std::size_t i = 0; i < kRowKindCount; ++i) {
        parts[i].rows += other.parts[i].rows;
        parts[i].bytes += other.parts[i].bytes;
    }
}

Tally::Part Tally::sum() const {
    Part sum;
    for (const Part& part : parts) {
        sum.rows += part.rows;
        sum.bytes += part.bytes;
    }
    return sum;
}

}  // namespace takt::internal
