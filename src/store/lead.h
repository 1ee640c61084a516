// Takes the lead of a partition, for callers that have no loop: a command, a bench, a test.
#pragma once

#include <optional>
#include <vector>

#include "store/store.h"
#include "store/wait.h"

namespace takt::internal {

// The row of a partition among those that Leaders gave.
inline std::optional<LeaderRow> RowOf(const std::vector<LeaderRow>& rows, Partition partition) {
    for (const LeaderRow& row : rows) {
        if (row.partition == partition) return row;
    }
    return std::nullopt;
}

// Who leads it, or nothing.
inline std::optional<LeaderRow> LeaderOf(const std::vector<LeaderRow>& rows, Partition partition) {
    auto row = RowOf(rows, partition);
    return row && row->leads() ? std::move(row) : std::nullopt;
}

struct LeadWish {
    NodeRow node;
    Duration ttl{10'000};
    Partition partition = 0;
    std::uint64_t epoch_floor = 0;
};

// Announces the node for the ttl and begins a term. kConflict if somebody leads.
inline Result<Term> TakeLead(Store& store, const LeadWish& wish) {
    const auto announced =
        AskStore<void>([&](auto done) { store.Announce(wish.node, wish.ttl, std::move(done)); });
    if (!announced) return std::unexpected(announced.error());
    const auto rows =
        AskStore<std::vector<LeaderRow>>([&](auto done) { store.Leaders(std::move(done)); });
    if (!rows) return std::unexpected(rows.error());
    const Candidate candidate{.partition = wish.partition,
                              .node = wish.node.node,
                              .address = wish.node.address,
                              .epoch_floor = wish.epoch_floor,
                              .replaced = RowOf(*rows, wish.partition)};
    return AskStore<Term>([&](auto done) { store.Acquire(candidate, std::move(done)); });
}

}  // namespace takt::internal
