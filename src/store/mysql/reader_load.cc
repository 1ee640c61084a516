// Load: what a new leader needs, in pages of some megabytes.
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "store/mysql/reader.h"
#include "store/mysql/values.h"
#include "store/sql/execution_row.h"
#include "store/sql/record_row.h"

namespace takt::internal::mysql {
namespace {

// Rows differ in size a thousandfold, so the first query asks for few.
constexpr std::size_t kFirstRows = 100;
constexpr std::size_t kRowsMin = 4;

}  // namespace

std::size_t PageSize::next() const {
    if (full()) return 0;
    const std::size_t room = rows_max_ - rows_;
    if (rows_ == 0) return std::min(kFirstRows, room);
    const std::size_t row_bytes = std::max<std::size_t>(bytes_ / rows_, 1);
    return std::min(std::max((kPageBytes - bytes_) / row_bytes, kRowsMin), room);
}

bool PageSize::full() const {
    return rows_ >= rows_max_ || bytes_ >= kPageBytes;
}

std::string Reader::LastSerial(Partition partition) const {
    return fmt::format("SELECT last_serial FROM {}terms WHERE partition_id = {}", options_.prefix,
                       partition);
}

Result<LoadPage> Reader::Load(Partition partition, const std::string& cursor) {
    using Kind = sql::LoadCursor::Kind;
    const Result<sql::LoadCursor> at = sql::ParseLoadCursor(cursor);
    if (!at) return std::unexpected(at.error());
    auto page = From(partition, std::optional<LoadPage>(), [&](const std::string&) {
        return std::optional(at->kind == Kind::kTasks ? LoadTasks(partition, at->key)
                             : at->kind == Kind::kRecords
                                 ? LoadRecords(partition, at->record, at->key)
                                 : LoadExecutions(partition, at->serial));
    });
    if (*page) return std::move(**page);
    // Serials go on where they were also if the rows are gone.
    LoadPage nothing;
    Rows last = QueryOne(LastSerial(partition));
    if (last.Next()) nothing.last_serial = last.Unsigned(0);
    return nothing;
}

LoadPage Reader::LoadTasks(Partition partition, std::string_view after) {
    const std::string prefix = TablePrefix(options_.prefix, partition);
    LoadPage page;
    page.next = "r0/";
    PageSize size(options_.load_page_rows);
    std::string last(after);
    for (bool begin = true;; begin = false) {
        const std::size_t wanted = size.next();
        const std::string queries[] = {
            LastSerial(partition),
            fmt::format(
                "SELECT id, record FROM {}tasks WHERE id > {} AND partition_id = {} ORDER BY id "
                "LIMIT {}",
                prefix, TextLiteral(last), partition, wanted + 1),
            fmt::format("SELECT name, value FROM {}settings WHERE partition_id = {} ORDER BY name",
                        prefix, partition),
            fmt::format("SELECT id, record FROM {}workers WHERE partition_id = {} ORDER BY id",
                        prefix, partition),
        };
        // Settings and workers are on the first page only.
        const bool first = begin && after.empty();
        std::vector<Rows> rows = Query(std::span(queries, first ? 4 : 2));
        if (rows[0].Next()) page.last_serial = rows[0].Unsigned(0);
        if (first) AddBeginning(rows[2], rows[3], page);
        std::size_t count = 0;
        while (count < wanted && rows[1].Next()) {
            ++count;
            size.Add(rows[1].bytes());
            last = rows[1].Bytes(0);
            auto task = sql::ReadTaskOrTell(last, rows[1].Bytes(1));
            if (task) page.tasks.push_back(std::move(*task));
        }
        if (count < wanted || !rows[1].Next()) return page;
        if (!size.full()) continue;
        page.next = "t" + last;
        return page;
    }
}

void Reader::AddBeginning(Rows& settings, Rows& workers, LoadPage& page) {
    while (settings.Next()) {
        page.settings.push_back({Text(settings.Bytes(0)), Text(settings.Bytes(1))});
    }
    while (workers.Next()) {
        page.workers.push_back(sql::ReadWorker(workers.Bytes(0), workers.Bytes(1)));
    }
}

LoadPage Reader::LoadRecords(Partition partition, std::uint8_t kind, std::string_view after) {
    const std::string prefix = TablePrefix(options_.prefix, partition);
    LoadPage page;
    page.next = "e0";
    PageSize size(options_.load_page_rows);
    RecordPut last{static_cast<RecordKind>(kind), Text(after), {}};
    // Ends: each turn but the last adds rows, up to a full page.
    for (;;) {
        const std::size_t wanted = size.next();
        std::string key;
        AppendBinary(key, last.key);
        const std::string queries[] = {
            LastSerial(partition),
            fmt::format("SELECT kind, name, value FROM {0}records FORCE INDEX (PRIMARY) WHERE kind "
                        "> {1} OR (kind = {1} AND name > {2}) ORDER BY kind, name LIMIT {3}",
                        prefix, static_cast<int>(last.kind), key, wanted + 1),
        };
        std::vector<Rows> rows = Query(queries);
        if (rows[0].Next()) page.last_serial = rows[0].Unsigned(0);
        std::size_t count = 0;
        while (count < wanted && rows[1].Next()) {
            ++count;
            size.Add(rows[1].bytes());
            last = {static_cast<RecordKind>(rows[1].Int(0)), Text(rows[1].Bytes(1)), {}};
            page.records.push_back({last.kind, last.key, Text(rows[1].Bytes(2))});
        }
        if (count < wanted || !rows[1].Next()) return page;
        if (!size.full()) continue;
        page.next = sql::RecordCursor(last);
        return page;
    }
}

// Of all tables together, by serial.
LoadPage Reader::LoadExecutions(Partition partition, Serial after) {
    const std::string prefix = TablePrefix(options_.prefix, partition);
    LoadPage page;
    PageSize size(options_.load_page_rows);
    sql::ExecutionReader reader;
    // Ends: each turn but the last adds rows, up to a full page.
    for (;;) {
        const std::size_t wanted = size.next();
        const auto select = [&](std::string_view table) {
            return fmt::format(
                "SELECT {} FROM {}{} FORCE INDEX (PRIMARY) WHERE serial > {} ORDER BY serial "
                "LIMIT {}",
                sql::kExecutionColumns, prefix, table, after, wanted + 1);
        };
        const std::string queries[] = {LastSerial(partition), select("live"), select("once_live"),
                                       select("child_live")};
        std::vector<Rows> rows = Query(queries);
        if (rows[0].Next()) page.last_serial = rows[0].Unsigned(0);
        std::vector<Rows*> tables;  // Those that have a row left.
        for (Rows& table : std::span(rows).subspan(1)) {
            if (table.Next()) tables.push_back(&table);
        }
        std::size_t count = 0;
        for (; count < wanted && !tables.empty(); ++count) {
            const auto next = std::ranges::min_element(
                tables, {}, [](const Rows* table) { return table->Unsigned(0); });
            size.Add((*next)->bytes());
            page.executions.push_back(reader.Read(**next));
            if (!(*next)->Next()) tables.erase(next);
        }
        if (tables.empty()) return page;
        after = page.executions.back().serial;
        if (!size.full()) continue;
        page.next = "e" + std::to_string(after);
        return page;
    }
}

}  // namespace takt::internal::mysql
