// Fail points: named places where a test can make the process die, stop, wait or fail.
//
//   TAKT_FAIL_POINT("node.commit.before");
//   if (TAKT_FAIL_POINT_ERROR("store.embedded.write")) return Fail(ErrorCode::kUnavailable, "…");
//
// Armed by the environment of the process, so that a test can aim at any of a cluster's nodes:
//
//   TAKT_FAILPOINTS="node.commit.before:exit:3,store.embedded.write:error"
//
// is a list of name:action[:nth]. Actions: exit (at once, with status 87), abort, stop (SIGSTOP, as
// a paused machine), delay=MS, and error where the place supports it. With nth only that pass,
// counted from 1, else every pass. In a build without tests (TAKT_TESTING) the places compile to
// nothing.
//
// Names are area.place.moment. A point is known from the start of the process, passed or not.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "switches.h"  // Made by CMake.

namespace takt::internal {

constexpr int kFailPointExitStatus = 87;  // Used by nothing else, so that a test can tell.

// Arms what TAKT_FAILPOINTS says. Call it once at the start, before threads. kInvalid if the
// variable cannot be read, names an unknown point (the nearest known one is in the detail), or is
// set for a build without fail points.
Result<void> StartFailPoints();

// Arms what `list` says and disarms all else; an empty list disarms all. kInvalid as above; then
// nothing changes.
Result<void> SetFailPoints(std::string_view list);

// The names of all points in this process, sorted. Empty in a build without fail points.
std::vector<std::string> KnownFailPoints();

namespace failpoint_internal {

enum class Action : std::uint8_t { kNone, kExit, kAbort, kStop, kDelay, kError };

class Point {
  public:
    Point(const char* name, bool can_fail);

    // Whether the caller shall fail.
    bool Pass() { return action_.load(std::memory_order_relaxed) != Action::kNone && Fire(); }

  private:
    friend Result<void> internal::SetFailPoints(std::string_view list);
    friend std::vector<std::string> internal::KnownFailPoints();

    bool Fire();

    const char* const name_;
    const bool can_fail_;
    Point* const next_;  // All points are one list.
    std::atomic<Action> action_{Action::kNone};
    std::atomic<std::uint32_t> delay_ms_{0};
    std::atomic<std::uint64_t> nth_{0};  // 0 is every pass.
    std::atomic<std::uint64_t> passes_{0};
};

template <std::size_t kSize>
struct PointName {
    char text[kSize];
    consteval PointName(const char (&from)[kSize]) {  // NOLINT: a literal is the name.
        std::copy_n(from, kSize, text);
    }
};

// A variable per name, made before main() wherever a place with that name is linked in.
template <PointName kName, bool kCanFail>
inline Point point{kName.text, kCanFail};

}  // namespace failpoint_internal
}  // namespace takt::internal

#if TAKT_TESTING
#define TAKT_FAIL_POINT(name) \
    static_cast<void>(::takt::internal::failpoint_internal::point<name, false>.Pass())
#define TAKT_FAIL_POINT_ERROR(name) (::takt::internal::failpoint_internal::point<name, true>.Pass())
#else
#define TAKT_FAIL_POINT(name) static_cast<void>(0)
#define TAKT_FAIL_POINT_ERROR(name) false
#endif

// A mutant: while it is armed ("mutant.engine.forget_pace:error"), the place does what is wrong. The
// checkers have to notice each of them, for the right reason: tests/mutants has the list.
#define TAKT_MUTANT(name) TAKT_FAIL_POINT_ERROR("mutant." name)
