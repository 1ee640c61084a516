// World: one thread, one seed, one queue of events in virtual time. Everything that happens in a
// simulation happens here, in an order that the seed determines.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "node/runtime.h"

namespace takt::internal::sim {

using Micros = std::chrono::microseconds;
using namespace std::chrono_literals;

// When most simulations begin.
constexpr Time kWallBegin = std::chrono::sys_days(std::chrono::year(2026) / 1 / 1);

// Something that can be frozen (SIGSTOP, a long garbage collection, a suspended machine) or be
// gone. Its events wait while it is frozen, in order, and never happen once it is gone.
struct Process {
    bool alive = true;
    Steady frozen_until{};
};
using ProcessPtr = std::shared_ptr<Process>;

class World {
  public:
    World(std::uint64_t seed, bool trace) : random_(SeedOf(seed)), trace_(trace) {}

    std::size_t clocks_set = 0;  // How often the clock of a host was.
    Time begin = kWallBegin;     // When it begins, by a clock that is right.

    Steady now() const { return now_; }
    // The time of a clock that is right.
    Time wall() const {
        return begin + std::chrono::floor<Duration>(now_ - Steady(std::chrono::hours(1)));
    }

    // The owner may be null: the world itself.
    void After(Micros delay, ProcessPtr owner, Action action);

    // Runs the next event; false if there is none before `until`, and then it is `until`.
    bool RunOne(Steady until);

    std::uint64_t Below(std::uint64_t bound) { return random_.Below(bound); }
    bool Chance(double probability) { return random_.Fraction() < probability; }
    // Uniform in [from, to].
    Micros Between(Micros from, Micros to) {
        return from + Micros(Below(std::uint64_t((to - from).count()) + 1));
    }

    // The events, for people who replay a seed and for the hash that proves the replay.
    void Note(std::string_view who, std::string_view what, std::string_view about = {},
              std::uint64_t number = 0);
    std::uint64_t hash() const { return hash_; }
    std::uint64_t events() const { return order_; }

  private:
    struct Event {
        ProcessPtr owner;
        Action action;
    };
    // Small, so that the heap moves little: the event itself stays in its slot.
    struct Due {
        Steady at{};
        Steady planned{};  // Earlier if its owner was frozen then: what comes first stays first.
        std::uint64_t order = 0;
        std::uint32_t slot = 0;

        friend auto operator<=>(const Due&, const Due&) = default;
    };

    void Put(Steady at, Steady planned, Event event);

    Random random_;
    const bool trace_;
    Steady now_{std::chrono::hours(1)};
    std::uint64_t order_ = 0;
    std::uint64_t hash_ = 14695981039346656037u;
    std::vector<Due> queue_;  // A heap, the first on top.
    std::vector<Event> slots_;
    std::vector<std::uint32_t> free_;  // Slots.
};

// The runtime of one scheduler process: its clocks may be wrong, its timers are its own.
class SimRuntime final : public Runtime {
  public:
    SimRuntime(World& world, ProcessPtr process, const Duration& wall_offset)
        : world_(world), process_(std::move(process)), wall_offset_(wall_offset) {}

    Instant Now() override;
    void Post(Action action) override;
    std::uint64_t After(Duration delay, Action action) override;
    void Cancel(std::uint64_t timer) override { std::erase(*timers_, timer); }

    // The latest that this process ever read on its wall clock, and when it last read that.
    Instant latest() const { return latest_; }

  private:
    World& world_;
    const ProcessPtr process_;
    const Duration& wall_offset_;
    Instant latest_{};
    std::uint64_t last_timer_ = 0;
    // Timers that are set: a handful.
    std::shared_ptr<std::vector<std::uint64_t>> timers_ =
        std::make_shared<std::vector<std::uint64_t>>();
};

}  // namespace takt::internal::sim
