#include "store/embedded/table_salvage.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

namespace takt::internal::embedded {
namespace {

// More than a file has pages that anybody would want to keep.
constexpr std::uint64_t kGapsMax = 100'000;

using RowId = TableSalvage::RowId;
constexpr RowId kFirst = std::numeric_limits<RowId>::min();
constexpr RowId kLast = std::numeric_limits<RowId>::max();

int ColumnsOf(Connection& to, const std::string& table) {
    return to.Prepare("SELECT * FROM " + table).row().count();
}

std::string PutSql(Connection& to, const std::string& table, int columns) {
    const Statement all = to.Prepare("SELECT * FROM " + table);
    std::string names;
    std::string marks;
    for (int i = 0; i < columns; ++i) {
        names += fmt::format("{}\"{}\"", i == 0 ? "" : ", ", all.row().Name(i));
        marks += i == 0 ? "?" : ", ?";
    }
    return fmt::format("INSERT OR IGNORE INTO {} ({}) VALUES ({})", table, names, marks);
}

}  // namespace

RowPut::RowPut(Connection& to, const std::string& table, int columns)
    : to_(to),
      fits_(columns <= ColumnsOf(to, table)),
      put_(fits_ ? to.Prepare(PutSql(to, table, columns)) : Statement()) {}

bool RowPut::Run() {
    put_.Run();
    return to_.changes() > 0;
}

std::uint64_t TableSalvage::Run() {
    if (HasRowIds()) {
        WalkAll(true);
        // A damaged row may have led astray; from the other end it does not.
        if (gaps_ > 0) WalkAll(false);
        // Between damaged ends neither finds a way; an index knows where rows are.
        if (gaps_ > 0) WalkIndex();
    } else if (!WalkKeys(true)) {
        ++gaps_;
        WalkKeys(false);
    }
    return gaps_;
}

bool TableSalvage::HasRowIds() {
    return to_.QueryInt(fmt::format("SELECT count(*) FROM sqlite_schema WHERE name = '{}' AND "
                                    "sql LIKE '%WITHOUT ROWID%'",
                                    table_)) == 0;
}

std::optional<Statement> TableSalvage::Ask(const std::string& sql) const {
    try {
        return from_.Prepare(sql);
    } catch (const SqliteError& error) {
        if (!error.is_damage() && error.code() != SQLITE_ERROR) throw;
        return std::nullopt;
    }
}

TableSalvage::Seen TableSalvage::StepTo(Statement& rows) {
    try {
        return rows.Step() ? Seen::kRow : Seen::kEnd;
    } catch (const SqliteError& error) {
        if (!error.is_damage()) throw;
        return Seen::kDamage;
    }
}

void TableSalvage::Put(const Row& row, int first_column, bool forward) {
    const int columns = row.count();
    if (!put_) put_.emplace(to_, table_, columns - first_column);
    if (!put_->fits()) {
        if (forward) ++gaps_;
        return;
    }
    for (int i = first_column; i < columns; ++i) put_->statement().Value(row.Value(i));
    // On the way back most are there already.
    if (!put_->Run() && forward) ++gaps_;
}

bool TableSalvage::Walk(RowId& at, bool forward) {
    auto rows =
        Ask(fmt::format("SELECT rowid, * FROM {} NOT INDEXED WHERE rowid {} ?1 ORDER BY rowid {}",
                        table_, forward ? ">=" : "<=", forward ? "ASC" : "DESC"));
    if (!rows) return false;
    rows->Int(at);
    while (true) {
        const Seen seen = StepTo(*rows);
        if (seen != Seen::kRow) return seen == Seen::kEnd;
        Put(rows->row(), 1, forward);
        const RowId row = rows->row().Int(0);
        if (row == (forward ? kLast : kFirst)) return true;
        at = forward ? std::max(at, row + 1) : std::min(at, row - 1);
    }
}

bool TableSalvage::WalkKeys(bool forward) {
    const char* order = forward ? "ASC" : "DESC";
    auto rows =
        Ask(fmt::format("SELECT * FROM {} ORDER BY execution {}, chunk {}", table_, order, order));
    if (!rows) return false;
    while (true) {
        const Seen seen = StepTo(*rows);
        if (seen != Seen::kRow) return seen == Seen::kEnd;
        Put(rows->row(), 0, forward);
    }
}

TableSalvage::Seen TableSalvage::LookAt(RowId at, bool forward, RowId* found) {
    auto row = Ask(
        fmt::format("SELECT rowid FROM {} NOT INDEXED WHERE rowid {} ?1 ORDER BY rowid {} LIMIT 1",
                    table_, forward ? ">=" : "<=", forward ? "ASC" : "DESC"));
    if (!row) return Seen::kDamage;
    row->Int(at);
    const Seen seen = StepTo(*row);
    if (seen == Seen::kRow && found) *found = row->row().Int(0);
    return seen;
}

std::optional<RowId> TableSalvage::Beyond(RowId at, bool forward) {
    const auto room = forward ? std::uint64_t(kLast) - std::uint64_t(at)
                              : std::uint64_t(at) - std::uint64_t(kFirst);
    const auto place = [&](std::uint64_t step) {
        return static_cast<RowId>(forward ? std::uint64_t(at) + step : std::uint64_t(at) - step);
    };
    // The row at which the walk ended is there, and only its content cannot be read.
    if (RowId row = 0; LookAt(at, forward, &row) == Seen::kRow) {
        if (row == (forward ? kLast : kFirst)) return std::nullopt;
        return forward ? std::max(at, row) + 1 : std::min(at, row) - 1;
    }
    std::uint64_t near = 0;  // Cannot be read from.
    std::uint64_t far = std::min<std::uint64_t>(1, room);
    while (LookAt(place(far), forward) == Seen::kDamage) {
        if (far == room) return std::nullopt;
        near = far;
        far = far > room / 2 ? room : far * 2;
    }
    while (far - near > 1) {
        const std::uint64_t middle = near + (far - near) / 2;
        (LookAt(place(middle), forward) == Seen::kDamage ? near : far) = middle;
    }
    if (LookAt(place(far), forward) == Seen::kEnd) return std::nullopt;
    return place(far);
}

void TableSalvage::WalkAll(bool forward) {
    RowId at = forward ? kFirst : kLast;
    for (std::uint64_t gaps = 0; gaps < kGapsMax && !Walk(at, forward); ++gaps) {
        if (forward) ++gaps_;
        const auto next = Beyond(at, forward);
        if (!next) return;
        at = *next;
    }
}

void TableSalvage::WalkIndex() {
    auto ids = Ask(fmt::format("SELECT rowid FROM {0} INDEXED BY sqlite_autoindex_{0}_1", table_));
    while (ids && StepTo(*ids) == Seen::kRow) TakeRow(ids->row().Int(0));
}

void TableSalvage::TakeRow(RowId id) {
    auto row = Ask(fmt::format("SELECT rowid, * FROM {} NOT INDEXED WHERE rowid = ?1", table_));
    if (!row) return;
    row->Int(id);
    if (StepTo(*row) == Seen::kRow) Put(row->row(), 1, false);
}

}  // namespace takt::internal::embedded
