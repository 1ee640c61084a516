#include "model/task.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "model/names.h"

namespace takt::internal {
namespace {

constexpr std::array<std::string_view, 4> kModes = {"sequential", "parallel", "skip", "replace"};
constexpr std::array<std::string_view, 3> kMisfires = {"fire_once", "fire_all", "skip"};
constexpr std::array<std::string_view, 3> kDsts = {"once", "skip", "twice"};
constexpr std::array<std::string_view, 10> kStrategies = {
    "least_tasks",    "round_robin",     "weighted_round_robin",
    "random",         "consistent_hash", "least_connections",
    "capacity_based", "sticky",          "resource_aware",
    "custom",
};

}  // namespace

std::optional<std::uint8_t> ParsePriority(std::string_view name) {
    if (name == "low") return 2;
    if (name == "normal") return kPriorityNormal;
    if (name == "high") return 7;
    if (name == "urgent") return kPriorityMax;
    if (name.size() == 1 && name[0] >= '0' && name[0] <= '9') {
        return static_cast<std::uint8_t>(name[0] - '0');
    }
    return std::nullopt;
}

Duration RetryDelay(const RetryPolicy& policy, std::uint32_t retry) {
    const Duration longest = std::clamp(policy.delay_max, Duration(0), kDurationMax);
    if (policy.delay <= Duration(0)) return Duration(0);
    // A rate that is no rate must not turn into no delay at all: that would be a retry storm.
    const double rate = policy.backoff_rate >= 0 ? policy.backoff_rate : 1.0;
    const double steps = retry > 1 ? static_cast<double>(retry - 1) : 0.0;
    const double delay = static_cast<double>(policy.delay.count()) * std::pow(rate, steps);
    // Written so that infinity ends here too, before the conversion that it would overflow.
    if (!(delay < static_cast<double>(longest.count()))) return longest;
    return Duration(static_cast<std::int64_t>(delay));
}

std::string_view Name(Mode mode) {
    return names::Find(kModes, mode);
}
std::string_view Name(Misfire misfire) {
    return names::Find(kMisfires, misfire);
}
std::string_view Name(Dst dst) {
    return names::Find(kDsts, dst);
}
std::string_view Name(Strategy strategy) {
    return names::Find(kStrategies, strategy);
}

std::optional<Mode> ParseMode(std::string_view name) {
    return names::Parse<Mode>(kModes, name);
}

std::optional<Misfire> ParseMisfire(std::string_view name) {
    return names::Parse<Misfire>(kMisfires, name);
}

std::optional<Dst> ParseDst(std::string_view name) {
    return names::Parse<Dst>(kDsts, name);
}

std::optional<Strategy> ParseStrategy(std::string_view name) {
    if (name == "least_loaded" || name == "least_load") return Strategy::kLeastTasks;
    if (name == "weighted") return Strategy::kWeightedRoundRobin;
    return names::Parse<Strategy>(kStrategies, name);
}

Task::Task(const Task& other)
    // The count of references belongs to the object, not to its value: this starts a new one.
    : boost::intrusive_ref_counter<Task, boost::thread_safe_counter>(other),
      id(other.id),
      name(other.name),
      type(other.type),
      queue(other.queue),
      payload(other.payload),
      priority(other.priority),
      version(other.version),
      timeout(other.timeout),
      run_at(other.run_at),
      created_at(other.created_at),
      updated_at(other.updated_at),
      options(other.options ? std::make_unique<const TaskOptions>(*other.options) : nullptr) {}

const TaskOptions& Task::opt() const {
    static const TaskOptions kDefaults;
    return options ? *options : kDefaults;
}

// A task that is sent again comes from another span of its sender's trace, and is still the same.
static bool SameButForTraces(const TaskOptions& a, const TaskOptions& b) {
    if (a.trace == b.trace && a.trace_state == b.trace_state) return a == b;
    TaskOptions other = a;
    other.trace = b.trace;
    other.trace_state = b.trace_state;
    return other == b;
}

bool SameRequest(const Task& a, const Task& b) {
    return a.id == b.id && a.name == b.name && a.type == b.type && a.queue == b.queue &&
           a.payload == b.payload && a.priority == b.priority && a.timeout == b.timeout &&
           a.run_at == b.run_at && SameButForTraces(a.opt(), b.opt());
}

bool WouldWaitForRun(const TaskOptions& run, const TaskOptions& step) {
    if (run.concurrency_key.empty() || run.concurrency_key != step.concurrency_key) return false;
    return run.concurrency_max > 0 || step.concurrency_max > 0;
}

std::unexpected<Error> NoSuchTask(const TaskId& id) {
    return Fail(ErrorCode::kNotFound, "there is no recurring task '" + id.text().str() + "'");
}

}  // namespace takt::internal
