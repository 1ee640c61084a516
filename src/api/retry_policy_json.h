// A retry policy as the REST API spells it: {"max_retries": 3, "delay": "1s", …}.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "base/json_view.h"
#include "model/task.h"

namespace takt::internal {

constexpr std::int64_t kRetriesMax = 10'000;

// A policy that is being read.
struct RetryDraft {
    RetryPolicy policy;
    const RetryPolicy* standard = nullptr;     // The parts that null asks for.
    std::optional<std::uint32_t> retries_max;  // As the request says; nothing if it does not.
};

// A part that is left out stays as it is in `draft`; null is the standard. kInvalid names the part
// at fault, "retry_policy.delay".
Result<RetryDraft> ReadRetryParts(const JsonView& value, std::string_view field, RetryDraft draft);
void WriteRetryPolicy(JsonWriter& json, const RetryPolicy& policy);

// JSON Schemas of what is taken and of what is given.
std::string RetryPolicyRequestSchema();
std::string RetryPolicySchema();

}  // namespace takt::internal
