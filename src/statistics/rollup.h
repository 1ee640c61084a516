// Rollup: adds finished executions up, by day and inside it by hour, task, type and worker.
//
// Pure: no clock, no store. Whoever holds it loads each day once it appears, writes down what has
// changed, and lets go of days that are over. Not for concurrent use.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/change.h"
#include "model/execution.h"
#include "statistics/table.h"

namespace takt::internal {

// UTC, as everything here.
using Day = std::chrono::sys_days;

enum class Dimension : std::uint8_t { kHour, kTask, kType, kWorker };
constexpr std::size_t kDimensionCount = 4;
std::string_view Name(Dimension dimension);

// Under which statistics are stored: "stats/2026-11-15/task".
constexpr std::string_view kStatisticsPrefix = "stats/";
std::string StatisticsKey(Day day, Dimension dimension);
struct StatisticsKeyParts {
    Day day;
    Dimension dimension{};
};
std::optional<StatisticsKeyParts> ParseStatisticsKey(std::string_view key);
std::string DayText(Day day);

// Cells per day and dimension. A full day is some 85 KiB, 400 days 33 MiB.
StatisticsTable::Places PlacesOf(Dimension dimension);

class Rollup {
  public:
    // An execution that ended: its row as the store keeps it.
    void Add(const Execution& row);

    // Days that appeared since the last call and must be loaded before they can be written.
    std::vector<Day> TakeNew();
    // The rows that the store has of a day. A table that cannot be read is left out, and said so.
    Result<void> Load(Day day, const std::vector<SettingPut>& rows);

    // Rows that have changed since they were last taken, of days that are loaded.
    std::vector<SettingPut> TakeChanged();
    // They could not be written: they will be taken again.
    void PutBack(const std::vector<SettingPut>& rows);
    // All that is in memory. A row that is whole stands instead of the stored one, another is to be
    // added to it.
    struct Row {
        SettingPut row;
        bool whole = false;
    };
    std::vector<Row> Rows() const;

    // Lets go of days before `day` that have nothing to be written.
    void Forget(Day before);
    void Clear();

  private:
    struct Tables {
        Tables();
        std::array<StatisticsTable, kDimensionCount> tables;
        std::array<bool, kDimensionCount> changed{};
        bool announced = false;
        bool loaded = false;
    };

    Tables& Of(Time at);

    std::map<Day, std::unique_ptr<Tables>> days_;
    Tables* last_ = nullptr;  // Most executions end on the day of the one before.
    Day last_day_{};
    boost::unordered_flat_map<Text, Text, TextHash, TextEqual> once_keys_;  // By name.
};

}  // namespace takt::internal
