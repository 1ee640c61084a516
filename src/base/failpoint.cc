#include "base/failpoint.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>

#include "base/nearest.h"
#include "base/number.h"

namespace takt::internal {

using failpoint_internal::Action;
using failpoint_internal::Point;

namespace {

// Longer than any timeout that a test waits for, and short enough to end by itself.
constexpr std::uint32_t kDelayMsMax = 600'000;

// Zero before any point is made, whatever order the points of other files are made in.
constinit Point* first_point = nullptr;

struct Order {
    std::string_view name;
    Action action = Action::kNone;
    std::uint32_t delay_ms = 0;
    std::uint64_t nth = 0;
};

std::string_view TakeUntil(std::string_view& rest, char separator) {
    const std::size_t end = std::min(rest.find(separator), rest.size());
    const std::string_view taken = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return taken;
}

Result<Order> ParseOrder(std::string_view item) {
    const auto bad = [&](std::string_view why) {
        return Fail(ErrorCode::kInvalid,
                    "fail point '" + std::string(item) + "': " + std::string(why),
                    "TAKT_FAILPOINTS");
    };
    std::string_view rest = item;
    Order order{.name = TakeUntil(rest, ':')};
    const std::string_view action = TakeUntil(rest, ':');
    if (action == "exit") {
        order.action = Action::kExit;
    } else if (action == "abort") {
        order.action = Action::kAbort;
    } else if (action == "stop") {
        order.action = Action::kStop;
    } else if (action == "error") {
        order.action = Action::kError;
    } else if (action.starts_with("delay=")) {
        const auto ms = ParseNumber<std::uint64_t>(action.substr(6));
        if (!ms || *ms > kDelayMsMax) return bad("delay=MS takes 0 to 600000 milliseconds");
        order.action = Action::kDelay;
        order.delay_ms = static_cast<std::uint32_t>(*ms);
    } else {
        return bad(
            "write it as name:action[:nth], action one of exit, abort, stop, delay=MS, error");
    }
    if (rest.empty() && !item.ends_with(':')) return order;
    const auto nth = ParseNumber<std::uint64_t>(rest);
    if (!nth || *nth == 0) return bad("the pass is a number from 1");
    order.nth = *nth;
    return order;
}

}  // namespace

namespace failpoint_internal {

Point::Point(const char* name, bool can_fail)
    : name_(name), can_fail_(can_fail), next_(std::exchange(first_point, this)) {}

bool Point::Fire() {
    const Action action = action_.load();
    const std::uint64_t pass = passes_.fetch_add(1) + 1;
    const std::uint64_t nth = nth_.load();
    if (nth != 0 && pass != nth) return false;
    if (action == Action::kDelay) {
        std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms_.load()));
        return false;
    }
    if (action == Action::kError) return true;
    std::fprintf(stderr, "takt: fail point %s, pass %llu\n", name_,
                 static_cast<unsigned long long>(pass));
    std::fflush(stderr);
    // Not exit(): what dies here must not flush, unlock or say goodbye.
    if (action == Action::kExit) _exit(kFailPointExitStatus);
    if (action == Action::kAbort) std::abort();
    if (action == Action::kStop) raise(SIGSTOP);
    return false;
}

}  // namespace failpoint_internal

Result<void> SetFailPoints(std::string_view list) {
    std::vector<Order> orders;
    for (std::string_view rest = list; !rest.empty();) {
        auto order = ParseOrder(TakeUntil(rest, ','));
        if (!order) return std::unexpected(std::move(order.error()));
        bool known = false;
        bool able = order->action != Action::kError;
        for (const Point* point = first_point; point; point = point->next_) {
            if (point->name_ != order->name) continue;
            known = true;
            able = able || point->can_fail_;
        }
        const std::string quoted = "fail point '" + std::string(order->name) + "'";
        if (!known) {
            const std::vector<std::string> names = KnownFailPoints();
            const std::string nearest(NearestName(
                order->name, std::vector<std::string_view>(names.begin(), names.end())));
            std::string detail = "there is no " + quoted;
            if (names.empty()) detail += "; this build has none";
            if (!nearest.empty()) detail += "; the nearest is " + nearest;
            return Fail(ErrorCode::kInvalid, std::move(detail), "TAKT_FAILPOINTS");
        }
        if (!able) {
            return Fail(ErrorCode::kInvalid, quoted + " cannot do 'error'", "TAKT_FAILPOINTS");
        }
        orders.push_back(*order);
    }
    for (Point* point = first_point; point; point = point->next_) {
        Order chosen;
        for (const Order& order : orders) {
            if (order.name == point->name_ &&
                (order.action != Action::kError || point->can_fail_)) {
                chosen = order;
            }
        }
        point->action_ = Action::kNone;
        point->delay_ms_ = chosen.delay_ms;
        point->nth_ = chosen.nth;
        point->passes_ = 0;
        point->action_ = chosen.action;
    }
    return {};
}

Result<void> StartFailPoints() {
    const char* list = std::getenv("TAKT_FAILPOINTS");
    return list ? SetFailPoints(list) : Result<void>();
}

std::vector<std::string> KnownFailPoints() {
    std::vector<std::string> names;
    for (const Point* point = first_point; point; point = point->next_) {
        names.emplace_back(point->name_);
    }
    std::ranges::sort(names);
    names.erase(std::ranges::unique(names).begin(), names.end());
    return names;
}

}  // namespace takt::internal
