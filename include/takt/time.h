// Time as this library spells it: milliseconds, and UTC.
//
//     using namespace std::chrono_literals;
//     task.timeout = 90s;
//     task.run_at = std::chrono::system_clock::now() + 2h;
#pragma once

#include <chrono>
#include <version>

namespace takt {

using Duration = std::chrono::milliseconds;

// A time point of the system's clock in milliseconds, made from any finer or coarser one (what is
// below a millisecond is left out), from the steady clock (by what both say now) and, where the
// standard library can, from every other clock.
class Time : public std::chrono::time_point<std::chrono::system_clock, Duration> {
    using Clock = std::chrono::system_clock;

  public:
    using Base = std::chrono::time_point<Clock, Duration>;
    using Base::Base;

    constexpr Time() = default;
    template <typename Precision>
    constexpr Time(const std::chrono::time_point<Clock, Precision>& at)
        : Base(std::chrono::floor<Duration>(at)) {}
    template <typename Precision>
    Time(const std::chrono::time_point<std::chrono::steady_clock, Precision>& at)
        : Time(Clock::now() +
               std::chrono::duration_cast<Clock::duration>(at - std::chrono::steady_clock::now())) {
    }
#if defined(__cpp_lib_chrono) && __cpp_lib_chrono >= 201907L
    template <typename Other, typename Precision>
        requires requires(const std::chrono::time_point<Other, Precision>& at) {
            std::chrono::clock_cast<Clock>(at);
        }
    Time(const std::chrono::time_point<Other, Precision>& at)
        : Time(std::chrono::clock_cast<Clock>(at)) {}
#endif

    // So that what is added to a Time is one, too.
    template <typename Rep, typename Period>
    friend constexpr Time operator+(const Time& at, const std::chrono::duration<Rep, Period>& by) {
        return static_cast<const Base&>(at) + by;
    }
    template <typename Rep, typename Period>
    friend constexpr Time operator-(const Time& at, const std::chrono::duration<Rep, Period>& by) {
        return static_cast<const Base&>(at) - by;
    }
};

inline Time Now() {
    return std::chrono::system_clock::now();
}

}  // namespace takt
