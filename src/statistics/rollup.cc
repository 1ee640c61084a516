#include "statistics/rollup.h"

#include <algorithm>
#include <charconv>

namespace takt::internal {
namespace {

// Names of one-off tasks that are spelled as a key once only; ten times what a table can hold.
constexpr std::size_t kOnceKeysMax = 1'000;

constexpr std::array<std::string_view, kDimensionCount> kNames = {"hour", "task", "type", "worker"};

// One record may stand for many due times in a row; the engine says how many in its message.
std::uint64_t DueTimesOf(const Outcome& outcome) {
    constexpr std::string_view kMoreThan = "more than ";
    std::string_view text = outcome.message;
    if (text.starts_with(kMoreThan)) text.remove_prefix(kMoreThan.size());
    std::uint64_t count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    return error == std::errc() && count > 0 ? count : 1;
}

void Count(StatisticsCell& cell, const Execution& row) {
    // One that was dropped has no result.
    if (row.status != Status::kSkipped) cell.SetLast(row.status, row.finished_at);
    switch (row.status) {
        case Status::kSuccess:
            ++cell.success;
            break;
        case Status::kFailed:
            ++cell.failed;
            break;
        case Status::kCancelled:
            ++cell.cancelled;
            break;
        default:
            if (row.outcome && (row.outcome->reason == Reason::kMissed ||
                                row.outcome->reason == Reason::kPaused)) {
                cell.missed += DueTimesOf(*row.outcome);
            } else {
                ++cell.skipped;
            }
            break;
    }
    // The last failure of one that failed was not repeated.
    const bool last_failed = row.status == Status::kFailed && row.failures > 0;
    cell.retries += row.failures - (last_failed ? 1 : 0);
    if (row.started_at == Time{} || row.worker.empty()) return;
    // One that ended between two attempts had no worker by then: its last attempt was over before,
    // and when the next one could have started says nothing about the last.
    const auto* past =
        row.outcome && !row.outcome->past.empty() ? &row.outcome->past.back() : nullptr;
    if (past && past->attempt == row.attempt) {
        cell.duration.Add(past->finished_at - row.started_at);
        return;
    }
    cell.duration.Add(row.finished_at - row.started_at);
    cell.wait.Add(row.started_at - row.ready_at);
}

// "00" to "23".
const Text& HourKey(unsigned hour) {
    static const std::array<Text, 24> kHours = [] {
        std::array<Text, 24> hours;
        for (unsigned i = 0; i < 24; ++i) {
            hours[i] = Text((i < 10 ? "0" : "") + std::to_string(i));
        }
        return hours;
    }();
    return kHours[hour];
}

}  // namespace

std::string_view Name(Dimension dimension) {
    return kNames[static_cast<std::size_t>(dimension)];
}

StatisticsTable::Places PlacesOf(Dimension dimension) {
    switch (dimension) {
        case Dimension::kHour:
            return {.cells_max = 24};
        case Dimension::kType:
            return {.cells_max = 32};
        case Dimension::kTask:
            return {.cells_max = 200, .once_max = 100};
        case Dimension::kWorker:
            return {.cells_max = 100};
    }
    return {};
}

std::string DayText(Day day) {
    return FormatTime(Time(day)).substr(0, 10);
}

std::string StatisticsKey(Day day, Dimension dimension) {
    return std::string(kStatisticsPrefix) + DayText(day) + "/" + std::string(Name(dimension));
}

std::optional<StatisticsKeyParts> ParseStatisticsKey(std::string_view key) {
    if (!key.starts_with(kStatisticsPrefix)) return std::nullopt;
    key.remove_prefix(kStatisticsPrefix.size());
    if (key.size() < 12 || key[10] != '/') return std::nullopt;
    const auto time = ParseTime(std::string(key.substr(0, 10)) + "T00:00:00Z");
    const auto name = std::ranges::find(kNames, key.substr(11));
    if (!time || name == kNames.end()) return std::nullopt;
    return StatisticsKeyParts{std::chrono::floor<std::chrono::days>(*time),
                              static_cast<Dimension>(name - kNames.begin())};
}

Rollup::Tables::Tables()
    : tables{StatisticsTable(PlacesOf(Dimension::kHour)),
             StatisticsTable(PlacesOf(Dimension::kTask)),
             StatisticsTable(PlacesOf(Dimension::kType)),
             StatisticsTable(PlacesOf(Dimension::kWorker))} {}

Rollup::Tables& Rollup::Of(Time at) {
    const Day day = std::chrono::floor<std::chrono::days>(at);
    if (last_ && day == last_day_) return *last_;
    auto& tables = days_[day];
    if (!tables) tables = std::make_unique<Tables>();
    last_ = tables.get();
    last_day_ = day;
    return *tables;
}

void Rollup::Add(const Execution& row) {
    Tables& day = Of(row.finished_at);
    const auto table = [&](Dimension dimension) -> StatisticsTable& {
        day.changed[static_cast<std::size_t>(dimension)] = true;
        return day.tables[static_cast<std::size_t>(dimension)];
    };
    const auto of_day = row.finished_at.time_since_epoch() % std::chrono::days(1);
    const auto hour = std::chrono::duration_cast<std::chrono::hours>(of_day).count();
    const Task& task = *row.task;
    // A run and its steps are never in one number: the run is counted by hour and task, its steps by
    // what ran them.
    if (!task.workflow()) Count(table(Dimension::kType).At(task.type), row);
    if (!row.worker.empty()) Count(table(Dimension::kWorker).At(row.worker.text()), row);
    if (row.origin == Origin::kStep) return;
    Count(table(Dimension::kHour).At(HourKey(static_cast<unsigned>(hour))), row);

    const Text* key = &task.id.text();
    if (row.origin == Origin::kOnce) {
        // Spelled once per name; beyond what a table can hold, all names are one.
        auto found = once_keys_.find(task.name.view());
        if (found == once_keys_.end() && once_keys_.size() < kOnceKeysMax) {
            found = once_keys_.emplace(task.name, Text(std::string(kOncePrefix) + task.name.str()))
                        .first;
        }
        static const Text kOther(kOtherKey);
        key = found == once_keys_.end() ? &kOther : &found->second;
    }
    StatisticsCell& of_task = table(Dimension::kTask).At(*key);
    if (of_task.total() == 0) of_task.SetName(task.name, task.type);
    Count(of_task, row);
}

std::vector<Day> Rollup::TakeNew() {
    std::vector<Day> days;
    for (auto& [day, tables] : days_) {
        if (!std::exchange(tables->announced, true)) days.push_back(day);
    }
    return days;
}

Result<void> Rollup::Load(Day day, const std::vector<SettingPut>& rows) {
    const auto found = days_.find(day);
    if (found == days_.end() || found->second->loaded) return {};
    found->second->loaded = true;
    Result<void> result;
    for (const SettingPut& row : rows) {
        const auto parts = ParseStatisticsKey(row.key);
        if (!parts || parts->day != day) continue;
        auto added =
            found->second->tables[static_cast<std::size_t>(parts->dimension)].AddEncoded(row.value);
        if (!added) result = added;
    }
    return result;
}

std::vector<SettingPut> Rollup::TakeChanged() {
    std::vector<SettingPut> rows;
    for (auto& [day, tables] : days_) {
        if (!tables->loaded) continue;
        for (std::size_t i = 0; i < kDimensionCount; ++i) {
            if (!std::exchange(tables->changed[i], false)) continue;
            rows.push_back({Text(StatisticsKey(day, static_cast<Dimension>(i))),
                            Text(tables->tables[i].Encode())});
        }
    }
    return rows;
}

void Rollup::PutBack(const std::vector<SettingPut>& rows) {
    for (const SettingPut& row : rows) {
        const auto parts = ParseStatisticsKey(row.key);
        const auto found = parts ? days_.find(parts->day) : days_.end();
        if (found == days_.end()) continue;
        found->second->changed[static_cast<std::size_t>(parts->dimension)] = true;
    }
}

std::vector<Rollup::Row> Rollup::Rows() const {
    std::vector<Row> rows;
    for (const auto& [day, tables] : days_) {
        for (std::size_t i = 0; i < kDimensionCount; ++i) {
            rows.push_back({{Text(StatisticsKey(day, static_cast<Dimension>(i))),
                             Text(tables->tables[i].Encode())},
                            tables->loaded});
        }
    }
    return rows;
}

void Rollup::Clear() {
    days_.clear();
    once_keys_.clear();
    last_ = nullptr;
}

void Rollup::Forget(Day before) {
    std::erase_if(days_, [&](const auto& entry) {
        const Tables& tables = *entry.second;
        return entry.first < before && tables.loaded &&
               std::ranges::none_of(tables.changed, std::identity{});
    });
    last_ = nullptr;
    once_keys_.clear();
}

}  // namespace takt::internal
