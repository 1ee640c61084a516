#include "statistics/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace takt::internal {
namespace {

constexpr std::array<std::string_view, 5> kByNames = {"day", "hour", "task", "type", "worker"};

std::string Number(const std::optional<double>& value, int digits = 1) {
    return value ? fmt::format("{:.{}f}", *value, digits) : "";
}

template <typename Unit>
std::int64_t UnitsTouched(const ReportQuery& query) {
    return (std::chrono::floor<Unit>(query.to - Duration(1)) - std::chrono::floor<Unit>(query.from))
               .count() +
           1;
}

// Days and hours cannot share a line "(other)": it would hide the newest, which matter most.
Result<void> CheckLength(const ReportQuery& query) {
    const bool by_hour = query.by == ReportBy::kHour;
    if (!by_hour && query.by != ReportBy::kDay) return {};
    const std::int64_t lines =
        by_hour ? UnitsTouched<std::chrono::hours>(query) : UnitsTouched<std::chrono::days>(query);
    if (lines <= static_cast<std::int64_t>(kReportLinesMax)) return {};
    return Fail(ErrorCode::kInvalid,
                fmt::format("from is too early: by={} that would be {} lines, and at most {} are "
                            "given; choose a later from{}",
                            Name(query.by), lines, kReportLinesMax, by_hour ? ", or by=day" : ""),
                "from");
}

}  // namespace

std::optional<ReportBy> ParseReportBy(std::string_view name) {
    const auto found = std::ranges::find(kByNames, name);
    if (found == kByNames.end()) return std::nullopt;
    return static_cast<ReportBy>(found - kByNames.begin());
}

std::string_view Name(ReportBy by) {
    return kByNames[static_cast<std::size_t>(by)];
}

Result<void> CheckReport(const ReportQuery& query) {
    if (query.to <= query.from) return Fail(ErrorCode::kInvalid, "to must be after from", "to");
    if (!query.task.empty() && query.by != ReportBy::kDay) {
        return Fail(ErrorCode::kInvalid, "task_id can be combined with by=day only", "task_id");
    }
    if (!query.type.empty() && query.by != ReportBy::kDay && query.by != ReportBy::kTask) {
        return Fail(ErrorCode::kInvalid, "type can be combined with by=day or by=task only",
                    "type");
    }
    if (!query.type.empty() && !query.task.empty()) {
        return Fail(ErrorCode::kInvalid, "give task_id or type, not both", "type");
    }
    return CheckLength(query);
}

Dimension StatisticsReport::dimension() const {
    switch (query_.by) {
        case ReportBy::kDay:
            return !query_.task.empty()   ? Dimension::kTask
                   : !query_.type.empty() ? Dimension::kType
                                          : Dimension::kHour;
        case ReportBy::kHour:
            return Dimension::kHour;
        case ReportBy::kTask:
            return Dimension::kTask;
        case ReportBy::kType:
            return Dimension::kType;
        case ReportBy::kWorker:
            return Dimension::kWorker;
    }
    return Dimension::kHour;
}

Result<void> StatisticsReport::Add(const SettingPut& row) {
    const auto parts = ParseStatisticsKey(row.key);
    if (!parts || parts->dimension != dimension()) return {};
    if (Time(parts->day) >= query_.to || Time(parts->day + std::chrono::days(1)) <= query_.from) {
        return {};
    }
    StatisticsTable table({.cells_max = SIZE_MAX});  // As many as were written.
    if (auto added = table.AddEncoded(row.value); !added) return added;
    for (const auto& [key, cell] : table.cells()) AddCell(parts->day, key, *cell);
    return {};
}

void StatisticsReport::AddCell(Day day, const Text& key, const StatisticsCell& cell) {
    if (query_.by == ReportBy::kDay) {
        if (!query_.task.empty() && !(key == query_.task)) return;
        if (!query_.type.empty() && !(key == query_.type)) return;
        return lines_.At(Text(DayText(day))).Add(cell);
    }
    if (query_.by == ReportBy::kHour) {
        const std::string_view hour = key;
        if (hour.size() != 2) return;
        const Time at = Time(day) + std::chrono::hours((hour[0] - '0') * 10 + (hour[1] - '0'));
        if (at >= query_.to || at + std::chrono::hours(1) <= query_.from) return;
        return lines_.At(Text(FormatTime(at))).Add(cell);
    }
    if (!query_.type.empty() && !(cell.type == query_.type)) return;
    lines_.At(key).Add(cell);
}

std::vector<ReportLine> StatisticsReport::Finish() {
    std::vector<ReportLine> lines;
    for (const auto& [key, cell] : lines_.cells()) {
        auto copy = std::make_unique<StatisticsCell>();
        copy->Add(*cell);
        lines.push_back({key, std::move(copy)});
    }
    const bool by_time = query_.by == ReportBy::kDay || query_.by == ReportBy::kHour;
    std::ranges::sort(lines, [&](const ReportLine& a, const ReportLine& b) {
        const std::uint64_t x = a.cell->total(), y = b.cell->total();
        return by_time || x == y ? a.key < b.key : x > y;
    });
    return lines;
}

std::string CsvCell(std::string_view text) {
    std::string safe;
    // A spreadsheet runs what looks like a formula; an apostrophe makes it text.
    if (!text.empty() && std::string_view("=+-@\t\r").contains(text[0])) safe = "'";
    safe += text;
    if (safe.find_first_of(",\"\r\n'") == std::string::npos) return safe;
    std::string quoted = "\"";
    for (const char c : safe) {
        if (c == '"') quoted += '"';
        quoted += c;
    }
    return quoted + '"';
}

std::string ReportCsv(ReportBy by, const std::vector<ReportLine>& lines) {
    std::string csv(Name(by));
    csv +=
        ",name,total,success,failed,cancelled,skipped,missed,retries,success_rate,duration_avg_ms,"
        "duration_p50_ms,duration_p95_ms,duration_p99_ms,duration_max_ms,wait_avg_ms,wait_p95_ms"
        "\r\n";
    for (const ReportLine& line : lines) {
        const StatisticsCell& cell = *line.cell;
        csv += CsvCell(line.key) + "," + CsvCell(cell.name);
        for (const std::uint64_t count : {cell.total(), cell.success, cell.failed, cell.cancelled,
                                          cell.skipped, cell.missed, cell.retries}) {
            csv += "," + std::to_string(count);
        }
        csv += "," + Number(cell.success_rate(), 4);
        csv += "," + Number(cell.duration.Mean());
        for (const double quantile : {0.5, 0.95, 0.99}) {
            csv += "," + Number(cell.duration.Quantile(quantile));
        }
        const bool ran = cell.duration.count() > 0;
        csv += "," + (ran ? std::to_string(cell.duration.max_ms()) : "");
        csv += "," + Number(cell.wait.Mean()) + "," + Number(cell.wait.Quantile(0.95)) + "\r\n";
    }
    return csv;
}

}  // namespace takt::internal
