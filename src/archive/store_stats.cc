#include "archive/store_stats.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "archive/row_reader.h"
#include "model/namespace.h"
#include "store/wait.h"

namespace takt::internal {
namespace {

constexpr std::uint64_t kStatsProgressEvery = 1'000;

void CountFinished(const Execution& row, std::size_t bytes, Time at, PartitionStats& stats) {
    stats.runs += row.parent.empty();
    if (stats.oldest_finished == Time{} || row.finished_at < stats.oldest_finished) {
        stats.oldest_finished = row.finished_at;
    }
    stats.newest_finished = std::max(stats.newest_finished, row.finished_at);
    const auto days = std::chrono::floor<std::chrono::days>(at - row.finished_at).count();
    if (days < 0 || days >= static_cast<std::int64_t>(stats.days.size())) return;
    ++stats.days[static_cast<std::size_t>(days)].rows;
    stats.days[static_cast<std::size_t>(days)].bytes += bytes;
}

}  // namespace

std::optional<Tally::Part> PartitionStats::Daily(Time at) const {
    if (oldest_finished == Time{} || at - oldest_finished < std::chrono::hours(1)) {
        return std::nullopt;
    }
    const Duration covered =
        std::min<Duration>(at - oldest_finished, std::chrono::days(std::ssize(days)));
    const auto daily =
        [count = std::chrono::duration<double, std::chrono::days::period>(covered).count()](
            std::uint64_t sum) {
            return static_cast<std::uint64_t>(std::llround(double(sum) / count));
        };
    Tally::Part sum;
    for (const Tally::Part& day : days) {
        sum.rows += day.rows;
        sum.bytes += day.bytes;
    }
    return Tally::Part{.rows = daily(sum.rows), .bytes = daily(sum.bytes)};
}

Result<std::vector<std::string>> ReadNames(Store& store) {
    const auto settings = AskStore<std::vector<SettingPut>>([&](auto done) {
        store.ListSettings(kDefaultPartition, Text(kDirectoryPrefix), std::move(done));
    });
    if (!settings) return std::unexpected(settings.error());
    std::vector<std::string> names(kNamespaceNumberMax + 1);
    names[kDefaultPartition] = kDefaultNamespace;
    for (const auto& [name, row] : ReadDirectory(*settings).rows) names[row.number] = name;
    return names;
}

Result<StoreStats> ReadStats(Store& store, Time at, const TransferProgress& progress) {
    const auto names = ReadNames(store);
    if (!names) return std::unexpected(names.error());
    const auto heads = ReadHeads(store);
    if (!heads) return std::unexpected(heads.error());
    StoreStats stats{.at = at, .partitions = {}};
    Tally all;
    std::uint64_t counted = 0;
    for (const PartitionHead& head : *heads) {
        PartitionStats& part = stats.partitions.emplace_back();
        part.partition = head.partition;
        part.name = (*names)[head.partition];
        const auto read = ReadRows(store, head.partition, [&](Change change) -> Result<void> {
            part.rows.Count(change);
            all.Count(change);
            const auto* execution = std::get_if<ExecutionChange>(&change);
            if (execution && execution->after == Place::kHistory) {
                CountFinished(execution->row, SizeOf(change), at, part);
            }
            if (++counted % kStatsProgressEvery == 0 && progress) progress(all);
            return {};
        });
        if (!read) return std::unexpected(read.error());
    }
    std::ranges::sort(stats.partitions, {}, &PartitionStats::partition);
    return stats;
}

}  // namespace takt::internal
