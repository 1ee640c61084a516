#include "store/embedded/stray_rows.h"

#include <fmt/core.h>

#include "model/status.h"
#include "store/embedded/schema.h"

namespace takt::internal::embedded {
namespace {

// Where columns stand in the tables of executions, as schema.cc has them.
constexpr std::size_t kId = 1;
constexpr std::size_t kStatus = 15;
constexpr std::size_t kFirstColumns = 29;  // Of version 1; `parent` is the next.
constexpr std::size_t kAllColumns = 35;

constexpr int kPartitionShift = 14;
// Row ids below are those of tables that count their rows; a serial begins with a time.
constexpr std::int64_t kSerialMin = std::int64_t(1) << 22;

template <typename Value>
bool Is(const FoundRow& row, std::size_t column) {
    return std::holds_alternative<Value>(row.values[column]);
}

Partition PartitionOf(std::int64_t serial) {
    return static_cast<Partition>(serial >> kPartitionShift);
}

struct Home {
    Partition partition = 0;
    std::string name;  // Of the table, without its prefix; empty if nothing tells.
};

// Which of the tables of executions.
Home HomeOfExecution(const FoundRow& row) {
    if (!Is<std::string>(row, kId) || !Is<std::string>(row, kStatus)) return {};
    const auto status = ParseStatus(std::get<std::string>(row.values[kStatus]));
    if (!status) return {};
    const bool child = row.values.size() > kFirstColumns && Is<std::string>(row, kFirstColumns);
    return {PartitionOf(*row.rowid),
            std::string(child ? "child_" : "") + (IsTerminal(*status) ? "history" : "live")};
}

// By the columns: those of a table whose key is its row id begin with nothing.
Home HomeOf(const FoundRow& row) {
    const std::size_t columns = row.values.size();
    if (!row.rowid) return {};
    if (*row.rowid >= kSerialMin && columns > 0 && Is<std::monostate>(row, 0)) {
        if (columns == kFirstColumns || columns == kAllColumns) return HomeOfExecution(row);
        if (columns == 3 && Is<FoundBlob>(row, 2)) {
            return {PartitionOf(*row.rowid), Is<std::string>(row, 1) ? "events" : "audit"};
        }
        return {};
    }
    if (columns == 4 && Is<std::string>(row, 0) && Is<std::int64_t>(row, 1) &&
        Is<std::string>(row, 2) && Is<FoundBlob>(row, 3)) {
        return {static_cast<Partition>(std::get<std::int64_t>(row.values[1])), "tasks"};
    }
    return {};
}

bool IsLog(const FoundRow& row) {
    return !row.rowid && row.values.size() == 5 && Is<std::string>(row, 0) &&
           Is<std::int64_t>(row, 1) && Is<std::int64_t>(row, 2) && Is<std::int64_t>(row, 3) &&
           Is<FoundBlob>(row, 4);
}

void Bind(Statement& statement, const FoundValue& value) {
    if (const auto* number = std::get_if<std::int64_t>(&value)) return statement.Int(*number);
    if (const auto* text = std::get_if<std::string>(&value)) return statement.Text(*text);
    if (const auto* blob = std::get_if<FoundBlob>(&value)) return statement.Blob(blob->bytes);
    // No column of ours is a fraction.
    statement.Null();
}

}  // namespace

void StrayRows::Take(PageFile& file) {
    file.ForEachRow([this](const FoundRow& row) { TakeRow(row, false); });
    // By now those that have ended are known, on whatever page they stand.
    file.ForEachRow([this](const FoundRow& row) { TakeRow(row, true); });
    Statement names = to_.Prepare("SELECT name FROM sqlite_schema WHERE name LIKE '%logs'");
    while (names.Step()) HasTables(PartitionOfTable(names.row().Bytes(0)));
    // Executions that they belong to are there by now.
    file.ForEachRow([this](const FoundRow& row) {
        if (IsLog(row)) return TakeLog(row);
        NoteNamed(row);
    });
}

std::map<Partition, std::uint64_t> StrayRows::CountLost() const {
    std::map<Partition, std::uint64_t> lost;
    for (const Serial serial : lost_) ++lost[PartitionOf(static_cast<std::int64_t>(serial))];
    return lost;
}

void StrayRows::TakeRow(const FoundRow& row, bool live) {
    const Home home = HomeOf(row);
    if (home.name.empty() || home.name.ends_with("live") != live) return;
    if (!HasTables(home.partition)) return;
    const std::string table = TablePrefix(home.partition) + home.name;
    if (!options_.broken.contains(table)) return;
    if ((live || home.name == "tasks") && !options_.erased) return;
    // It has ended since, or was begun anew: that stands in a page of its own.
    const bool execution = live || home.name.ends_with("history");
    if (execution && HasExecution(home.partition, "id", row.values[kId])) return;
    Put(table, row);
}

void StrayRows::TakeLog(const FoundRow& row) {
    // A log names its execution and not the partition, and ids are unique within one alone.
    const auto home = OnlyHomeOf(row.values[0]);
    if (!home) return;
    const std::string table = TablePrefix(*home) + "logs";
    if (options_.broken.contains(table)) Put(table, row);
}

std::optional<Partition> StrayRows::OnlyHomeOf(const FoundValue& id) {
    const auto& text = std::get<std::string>(id);
    if (text == log_of_) return log_home_;
    log_of_ = text;
    log_home_.reset();
    for (const auto& [partition, there] : partitions_) {
        if (!there || !HasExecution(partition, "id", id)) continue;
        if (log_home_) {
            log_home_.reset();
            break;
        }
        log_home_ = partition;
    }
    return log_home_;
}

void StrayRows::NoteNamed(const FoundRow& row) {
    if (row.rowid || row.values.size() != 2 || !Is<std::int64_t>(row, 1)) return;
    const std::int64_t serial = std::get<std::int64_t>(row.values[1]);
    if (serial < kSerialMin || !HasTables(PartitionOf(serial))) return;
    if (lost_.contains(static_cast<Serial>(serial))) return;
    if (!HasExecution(PartitionOf(serial), "serial", row.values[1])) {
        lost_.insert(static_cast<Serial>(serial));
    }
}

void StrayRows::Put(const std::string& table, const FoundRow& row) {
    const auto columns = row.values.size();
    auto put = puts_.find({table, columns});
    if (put == puts_.end()) {
        put = puts_
                  .emplace(std::piecewise_construct, std::forward_as_tuple(table, columns),
                           std::forward_as_tuple(to_, table, static_cast<int>(columns)))
                  .first;
    }
    if (!put->second.fits()) return;
    Statement& statement = put->second.statement();
    const bool by_row_id = row.rowid && Is<std::monostate>(row, 0);
    for (std::size_t i = 0; i < columns; ++i) {
        if (i == 0 && by_row_id) {
            statement.Int(*row.rowid);
        } else {
            Bind(statement, row.values[i]);
        }
    }
    put->second.Run();
}

bool StrayRows::HasTables(Partition partition) {
    const auto known = partitions_.find(partition);
    if (known != partitions_.end()) return known->second;
    const std::vector<std::string> names = PartitionTables(partition);
    bool there = to_.QueryInt(fmt::format("SELECT count(*) FROM sqlite_schema WHERE name = '{}'",
                                          names.front())) > 0;
    if (!there && options_.tables_lost) {
        to_.Run(PartitionSql(partition));
        options_.broken.insert(names.begin(), names.end());
        there = true;
    }
    partitions_.emplace(partition, there);
    return there;
}

bool StrayRows::HasExecution(Partition partition, const char* column, const FoundValue& value) {
    auto look = looks_.find(TablePrefix(partition) + column);
    if (look == looks_.end()) {
        std::string sql;
        for (const char* table : {"live", "history", "child_live", "child_history"}) {
            // Version 1 has no children.
            const std::string name = TablePrefix(partition) + table;
            if (to_.QueryInt(fmt::format("SELECT count(*) FROM sqlite_schema WHERE name = '{}'",
                                         name)) == 0) {
                continue;
            }
            sql += fmt::format("{}SELECT 1 FROM {} WHERE {} = ?1", sql.empty() ? "" : " UNION ALL ",
                               name, column);
        }
        look = looks_.emplace(TablePrefix(partition) + column, to_.Prepare(sql)).first;
    }
    const Rows rows(look->second);
    Bind(look->second, value);
    return look->second.Step();
}

}  // namespace takt::internal::embedded
