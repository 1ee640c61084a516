#include "sim/world.h"

#include <algorithm>
#include <cstdio>
#include <functional>

namespace takt::internal::sim {

void World::After(Micros delay, ProcessPtr owner, Action action) {
    const Steady at = now_ + std::max(delay, Micros(0));
    Put(at, at, {std::move(owner), std::move(action)});
}

void World::Put(Steady at, Steady planned, Event event) {
    if (free_.empty()) {
        free_.push_back(std::uint32_t(slots_.size()));
        slots_.emplace_back();
    }
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    slots_[slot] = std::move(event);
    queue_.push_back({at, planned, ++order_, slot});
    std::ranges::push_heap(queue_, std::greater());
}

bool World::RunOne(Steady until) {
    if (queue_.empty() || queue_.front().at > until) {
        now_ = std::max(now_, until);
        return false;
    }
    std::ranges::pop_heap(queue_, std::greater());
    const Due due = queue_.back();
    queue_.pop_back();
    now_ = due.at;
    Event event = std::move(slots_[due.slot]);
    free_.push_back(due.slot);
    if (!event.owner) {
        event.action();
    } else if (event.owner->alive && event.owner->frozen_until > now_) {
        const Steady thawed = event.owner->frozen_until;
        Put(thawed, due.planned, std::move(event));
    } else if (event.owner->alive) {
        event.action();
    }
    return true;
}

void World::Note(std::string_view who, std::string_view what, std::string_view about,
                 std::uint64_t number) {
    const auto mix = [&](std::string_view bytes) {
        for (const char c : bytes) hash_ = (hash_ ^ std::uint8_t(c)) * 1099511628211u;
    };
    const std::uint64_t at = std::uint64_t(now_.time_since_epoch().count());
    mix({reinterpret_cast<const char*>(&at), sizeof at});
    mix(who);
    mix(what);
    mix(about);
    mix({reinterpret_cast<const char*>(&number), sizeof number});
    if (!trace_) return;
    const double seconds = double((now_ - Steady(std::chrono::hours(1))).count()) / 1e6;
    std::printf("%12.6f  %-10.*s %.*s %.*s", seconds, int(who.size()), who.data(), int(what.size()),
                what.data(), int(about.size()), about.data());
    if (number != 0) std::printf(" %llu", static_cast<unsigned long long>(number));
    std::printf("\n");
}

Instant SimRuntime::Now() {
    const Time wall = world_.wall() + wall_offset_;
    if (wall >= latest_.wall) latest_ = {wall, world_.now()};
    return {wall, world_.now()};
}

void SimRuntime::Post(Action action) {
    world_.After(Micros(0), process_, std::move(action));
}

std::uint64_t SimRuntime::After(Duration delay, Action action) {
    const std::uint64_t timer = ++last_timer_;
    timers_->push_back(timer);
    world_.After(delay, process_, [timers = timers_, timer, action = std::move(action)]() mutable {
        if (std::erase(*timers, timer) > 0) action();
    });
    return timer;
}

}  // namespace takt::internal::sim
