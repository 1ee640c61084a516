#include <algorithm>
#include <utility>

#include "sim/actors.h"

namespace takt::internal::sim {

SimHost::SimHost(World& world, SimDatabase& database, int number)
    : world_(world), database_(database), name_("node-" + std::to_string(number)) {}

void SimHost::Start() {
    if (running()) return;
    world_.Note(name_, "starts");
    process = std::make_shared<Process>();
    stopping_ = false;
    runtime_ = std::make_unique<SimRuntime>(world_, process, wall_offset_);
    store_ = std::make_unique<SimStore>(database_, process, store_link, *runtime_);
    if (nodes_.size() > 1) MakePresence();
    for (SimNode* node : nodes_) node->Begin();
    if (presence_) presence_->Start();
}

void SimHost::MakePresence() {
    const LeadershipConfig& config = nodes_.front()->config().leadership;
    commons_ = std::make_shared<const Commons>();
    presence_ = std::make_unique<Presence>(
        *runtime_, *store_,
        PresenceConfig{.row = {.node = NodeId(Text(name_)), .started_at = runtime_->Now().wall},
                       .ttl = config.ttl,
                       .renew_interval = config.renew_interval,
                       .acquire_interval = config.acquire_interval,
                       .margin = config.margin,
                       .shares = config.shares},
        SeedOf(world_.Below(UINT64_MAX)));
}

void SimHost::Destroy() {
    process->alive = false;
    for (SimNode* node : nodes_) node->End();
    presence_.reset();
    store_.reset();
    runtime_.reset();
}

void SimHost::Crash() {
    if (!running()) return;
    world_.Note(name_, "crashes");
    Destroy();
}

// As a server does it: all nodes give up their leads, then the process takes its leave.
void SimHost::StopInOrder() {
    if (!running() || std::exchange(stopping_, true)) return;
    world_.Note(name_, "stops");
    const auto end = [this, process = process] {
        world_.After(Micros(0), nullptr, [this, process] {
            if (process->alive) Destroy();
        });
    };
    const auto left = std::make_shared<std::size_t>(nodes_.size());
    for (SimNode* node : nodes_) {
        node->Stop([this, left, end] {
            if (--*left > 0) return;
            presence_ ? presence_->Leave(end) : end();
        });
    }
}

void SimHost::Freeze(Micros time) {
    if (!running()) return;
    world_.Note(name_, "is frozen for ms", "", std::uint64_t(time.count() / 1000));
    process->frozen_until = std::max(process->frozen_until, world_.now() + time);
}

bool SimHost::well() const {
    return running() && !store_link.cut && process->frozen_until <= world_.now();
}

void SimHost::SetClock(Duration offset) {
    world_.Note(name_, "has its clock set");
    ++world_.clocks_set;
    clock_set_[world_.now()] = offset;
    wall_offset_ = offset;
}

// One that was set ahead by a minute or more counts for nothing before it has stayed there for an hour.
Duration SimHost::AheadSince(Steady began) const {
    Duration lowest = wall_offset_;
    Duration highest = wall_offset_;
    Duration before{0};
    for (const auto& [at, offset] : clock_set_) {
        // Each offset lasted until the next: the one before counts up to this moment.
        if (at >= began - std::chrono::hours(1)) lowest = std::min({lowest, before, offset});
        if (at >= began) highest = std::max({highest, before, offset});
        before = offset;
    }
    const Duration ahead = highest - lowest;
    return ahead < std::chrono::minutes(1) ? Duration(0) : ahead;
}

}  // namespace takt::internal::sim
