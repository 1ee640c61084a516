// Step: a part of a task that is a workflow. docs/workflows.md tells what its fields mean; workflow.h
// writes them as on a whiteboard.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "takt/export.h"
#include "takt/name.h"
#include "takt/policy.h"
#include "takt/time.h"

namespace takt {

// The demand of a step on those that it comes after.
enum class When : std::uint8_t { kAllSuccess, kAnySuccess, kAllDone, kAnyFailed, kNoneFailed };

// The meaning of a step's failure for the others of its run.
enum class OnFailure : std::uint8_t { kStop, kContinue };

TAKT_EXPORT std::string_view Name(When when);
TAKT_EXPORT std::string_view Name(OnFailure on_failure);
template <>
inline constexpr bool kHasName<When> = true;
template <>
inline constexpr bool kHasName<OnFailure> = true;

// The step is skipped unless both are the same. JSON; `value` may have values, as a payload.
struct StepCondition {
    std::string value;
    std::string equals;
};

struct Step {
    std::string name;
    std::string type = {};     // What workers know it by; empty is the name.
    std::string task = {};     // Runs the recurring task of this id instead.
    std::string payload = {};  // JSON, with values: see From, Input and Item in workflow.h.
    std::vector<std::string> after = {};
    When when = When::kAllSuccess;
    std::optional<StepCondition> condition = {};

    // Many executions instead of one; one of the first three.
    std::uint32_t shards = 0;
    std::string for_each = {};  // JSON: a list, or a value that is one.
    bool each_worker = false;
    std::uint32_t parallel_max = 0;  // So many of them at a time; 0 is no limit.
    std::uint32_t min_success = 0;   // Done when so many have succeeded; 0 is all.

    // Else the workflow's.
    std::string queue = {};
    std::optional<int> priority = {};
    std::map<std::string, std::string> metadata = {};
    std::map<std::string, std::string> labels = {};
    RetryPolicy retry = {};

    std::string executor = {};
    std::string load_balance_strategy = {};
    Duration timeout{0};
    Duration expires_after{0};
    Duration delay{0};
    std::string concurrency_key = {};
    std::uint32_t concurrency_max = 0;
    RateLimit rate_limit = {};
    std::vector<LockWant> locks = {};
};

}  // namespace takt
