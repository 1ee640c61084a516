// Report: what the stored tables say about a range of time, along one dimension.
//
// Pure: rows in, lines out. A report has at most kReportLinesMax lines. By task, type or worker
// what is beyond is one line "(other)"; ranges of more days or hours are refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "statistics/rollup.h"

namespace takt::internal {

constexpr std::size_t kReportLinesMax = 1000;
// Of a report by task, for names of one-off tasks.
constexpr std::size_t kReportOnceMax = 300;

enum class ReportBy : std::uint8_t { kDay, kHour, kTask, kType, kWorker };
std::optional<ReportBy> ParseReportBy(std::string_view name);
std::string_view Name(ReportBy by);

struct ReportQuery {
    ReportBy by = ReportBy::kDay;
    Time from{};  // Inclusive. Whole days, or whole hours if by hour, that the range touches.
    Time to{};    // Exclusive.
    Text task;    // By day: of this task only. Empty: of all.
    Text type;    // By day or task: of this type only.
};

// Combinations that the tables cannot answer, and ranges with too many lines, are kInvalid, with
// what can be asked instead.
Result<void> CheckReport(const ReportQuery& query);

struct ReportLine {
    Text key;  // "2026-11-15", "2026-11-15T13:00:00.000Z", or the id or name of what it is about.
    std::unique_ptr<StatisticsCell> cell;
};

// Days and hours in their order, everything else by how often it ran.
class StatisticsReport {
  public:
    explicit StatisticsReport(ReportQuery query)
        : query_(std::move(query)),
          lines_({.cells_max = kReportLinesMax,
                  .once_max = query_.by == ReportBy::kTask ? kReportOnceMax : 0}) {}

    // Which table of a day it needs.
    Dimension dimension() const;
    // Adds a stored row; those that do not belong to it are passed over. kInvalid if it is broken.
    Result<void> Add(const SettingPut& row);
    std::vector<ReportLine> Finish();

  private:
    void AddCell(Day day, const Text& key, const StatisticsCell& cell);

    const ReportQuery query_;
    StatisticsTable lines_;
};

// RFC 4180, with a head. A cell that a spreadsheet would take for a formula gets an apostrophe.
std::string ReportCsv(ReportBy by, const std::vector<ReportLine>& lines);
std::string CsvCell(std::string_view text);

}  // namespace takt::internal
