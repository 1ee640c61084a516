#include "engine/free_index.h"

#include <algorithm>

namespace takt::internal {
namespace {

// With so many the busiest worker gets a twentieth more than its share (Appleton and O'Reilly,
// "Multi-probe consistent hashing", 2015).
constexpr std::uint64_t kPoints = 21;

// A turn of a worker of weight 1: what all weights up to kWeightMax divide well enough.
constexpr std::uint64_t kTurn = std::uint64_t{1} << 32;

std::uint64_t Mixed(std::uint64_t hash) {
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9;
    hash = (hash ^ (hash >> 27)) * 0x94d049bb133111eb;
    return hash ^ (hash >> 31);
}

// Equal on every node and in every build.
std::uint64_t PointOf(std::string_view text) {
    std::uint64_t hash = 14695981039346656037u;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
    return Mixed(hash);
}

}  // namespace

void HashRing::Add(Slot& slot) {
    ring_.emplace(std::pair(PointOf(slot.row.id.view()), slot.order), &slot);
}

void HashRing::Remove(Slot& slot) {
    ring_.erase({PointOf(slot.row.id.view()), slot.order});
}

Slot& HashRing::Find(std::string_view task) const {
    const std::uint64_t hash = PointOf(task);
    Slot* best = nullptr;
    std::uint64_t best_distance = 0;
    for (std::uint64_t i = 1; i <= kPoints; ++i) {
        const std::uint64_t point = Mixed(hash + i * 0x9e3779b97f4a7c15);
        auto next = ring_.lower_bound({point, 0});
        if (next == ring_.end()) next = ring_.begin();
        const std::uint64_t distance = next->first.first - point;
        if (best && distance >= best_distance) continue;
        best = next->second;
        best_distance = distance;
    }
    return *best;
}

void WeightedTurns::Add(Slot& slot) {
    Known& known = known_[slot.order];
    known.slot = &slot;
    known.turn = std::max(known.turn, now_);
    next_.emplace(known.turn, slot.order);
}

void WeightedTurns::Remove(Slot& slot) {
    next_.erase({known_[slot.order].turn, slot.order});
}

void WeightedTurns::Forget(Slot& slot) {
    Remove(slot);
    known_.erase(slot.order);
}

Slot& WeightedTurns::Take() {
    const auto [turn, order] = *next_.begin();
    next_.erase(next_.begin());
    Known& known = known_.at(order);
    now_ = turn;
    known.turn = turn + kTurn / known.slot->row.weight;
    next_.emplace(known.turn, order);
    return *known.slot;
}

}  // namespace takt::internal
