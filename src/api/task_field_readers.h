// How the fields of a task that have rules of their own are read; task_fields.cc has the table.
#pragma once

#include <cstdint>
#include <string_view>

#include "api/retry_policy_json.h"
#include "api/task_field_kinds.h"

namespace takt::internal::task_field {

constexpr std::int64_t kCountMax = 1'000'000;
constexpr std::size_t kExcludedDatesMax = 1'000;
constexpr Duration kShortest{1};

// Each puts what `value` says into the draft. kInvalid names `name`, which is what the caller
// wrote; the draft is of no use then.
Result<void> ReadId(TaskDraft& draft, const JsonView& value, std::string_view name);
Result<void> ReadQueue(TaskDraft& draft, const JsonView& value, std::string_view name);
Result<void> ReadPayload(TaskDraft& draft, const JsonView& value, std::string_view name);
Result<void> ReadPriority(TaskDraft& draft, const JsonView& value, std::string_view name);
Result<void> ReadMaxRetry(TaskDraft& draft, const JsonView& value, std::string_view name);
Result<void> ReadRetryPolicy(TaskDraft& draft, const JsonView& value, std::string_view name);
Result<void> ReadTaskRate(TaskDraft& draft, const JsonView& value, std::string_view name);
Result<void> ReadExcludedDates(TaskDraft& draft, const JsonView& value, std::string_view name);
Result<void> ReadTraceParent(TaskDraft& draft, const JsonView& value, std::string_view name);
Result<void> ReadTraceState(TaskDraft& draft, const JsonView& value, std::string_view name);
Result<void> ReadCronText(TaskDraft& draft, const JsonView& value, std::string_view name);
Result<void> ReadTaskStrategy(TaskDraft& draft, const JsonView& value, std::string_view name);

// Back to the default number of retries; the rest of the policy stays. One that then says nothing
// of its own is none.
void ForgetMaxRetry(TaskDraft& draft, std::string_view name);
// The scheduler's strategy decides again.
void ForgetStrategy(TaskDraft& draft, std::string_view name);

}  // namespace takt::internal::task_field
