#include "statistics/table.h"

#include <algorithm>
#include <vector>

#include "statistics.pb.h"

namespace takt::internal {
namespace {

void Encode(const Sketch& sketch, record::Sketch& to) {
    std::size_t last = 0;
    for (std::size_t bucket = 0; bucket < Sketch::kBuckets; ++bucket) {
        const std::uint32_t count = sketch.counts()[bucket];
        if (count == 0) continue;
        to.add_steps(static_cast<std::uint32_t>(bucket - last));
        to.add_counts(count);
        last = bucket;
    }
    to.set_sum_ms(sketch.sum_ms());
    to.set_max_ms(sketch.max_ms());
}

void Decode(const record::Sketch& from, Sketch& to) {
    std::size_t bucket = 0;
    const int size = std::min(from.steps_size(), from.counts_size());
    for (int i = 0; i < size; ++i) {
        bucket += from.steps(i);
        to.AddBucket(bucket, from.counts(i));
    }
    to.AddExact(from.sum_ms(), from.max_ms());
}

// One more than the state's place: 0 is what a record without the field says.
std::uint32_t NumberOf(Status status) {
    return static_cast<std::uint32_t>(status) + 1;
}

std::optional<Status> StatusOfNumber(std::uint32_t number) {
    if (number == 0 || number > static_cast<std::uint32_t>(kStatusCount)) return std::nullopt;
    return static_cast<Status>(number - 1);
}

}  // namespace

void StatisticsCell::SetName(const Text& name_now, const Text& type_now) {
    if (is_other) return;
    if (name.empty()) name = name_now;
    if (type.empty()) type = type_now;
}

void StatisticsCell::Add(const StatisticsCell& other) {
    if (!is_other && !other.name.empty()) name = other.name;
    if (!is_other && !other.type.empty()) type = other.type;
    success += other.success;
    failed += other.failed;
    cancelled += other.cancelled;
    skipped += other.skipped;
    missed += other.missed;
    retries += other.retries;
    duration.Add(other.duration);
    wait.Add(other.wait);
    if (other.last_status) SetLast(*other.last_status, other.last_at);
}

void StatisticsCell::SetLast(Status status, Time at) {
    if (last_status && at < last_at) return;
    last_status = status;
    last_at = at;
}

StatisticsCell& StatisticsTable::At(const Text& key) {
    const auto found = cells_.find(key.view());
    if (found != cells_.end()) return *found->second;
    const bool once = places_.once_max > 0 && key.view().starts_with(kOncePrefix);
    const std::size_t taken_max = once ? places_.once_max : places_.cells_max - places_.once_max;
    std::size_t& taken = once ? once_ : plain_;
    const bool own = taken < taken_max && key.view() != kOtherKey;
    auto& cell = cells_[own ? key : Text(kOtherKey)];
    if (cell) return *cell;
    cell = std::make_unique<StatisticsCell>();
    cell->is_other = !own;
    taken += own ? 1 : 0;
    return *cell;
}

Result<void> StatisticsTable::AddEncoded(std::string_view bytes) {
    record::Table table;
    if (!table.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
        return Fail(ErrorCode::kInvalid, "a stored table of statistics cannot be read");
    }
    for (const record::Cell& from : table.cells()) {
        StatisticsCell& cell = At(Text(from.key()));
        cell.SetName(Text(from.name()), Text(from.type()));
        cell.success += from.success();
        cell.failed += from.failed();
        cell.cancelled += from.cancelled();
        cell.skipped += from.skipped();
        cell.missed += from.missed();
        cell.retries += from.retries();
        Decode(from.duration(), cell.duration);
        Decode(from.wait(), cell.wait);
        if (const auto last = StatusOfNumber(from.last_status())) {
            cell.SetLast(*last, Time(Duration(from.last_at_ms())));
        }
    }
    return {};
}

std::string StatisticsTable::Encode() const {
    // In the order of their keys, so that equal tables are equal bytes.
    std::vector<std::pair<std::string_view, const StatisticsCell*>> sorted;
    sorted.reserve(cells_.size());
    for (const auto& [key, cell] : cells_) sorted.emplace_back(key.view(), cell.get());
    std::ranges::sort(sorted, {}, [](const auto& entry) { return entry.first; });
    record::Table table;
    for (const auto& [key, cell] : sorted) {
        record::Cell& to = *table.add_cells();
        to.set_key(std::string(key));
        to.set_name(cell->name.str());
        to.set_type(cell->type.str());
        to.set_success(cell->success);
        to.set_failed(cell->failed);
        to.set_cancelled(cell->cancelled);
        to.set_skipped(cell->skipped);
        to.set_missed(cell->missed);
        to.set_retries(cell->retries);
        internal::Encode(cell->duration, *to.mutable_duration());
        internal::Encode(cell->wait, *to.mutable_wait());
        if (!cell->last_status) continue;
        to.set_last_status(NumberOf(*cell->last_status));
        to.set_last_at_ms(cell->last_at.time_since_epoch().count());
    }
    return table.SerializeAsString();
}

}  // namespace takt::internal
