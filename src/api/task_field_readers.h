// How the fields of a task that have rules of their own are read; task_fields.cc has the table.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "api/task_json.h"
#include "base/error.h"
#include "base/json_view.h"
#include "base/time.h"

namespace takt::internal::task_field {

constexpr std::int64_t kCountMax = 1'000'000;
constexpr Duration kShortest{1};

// Carries a value that was read to where it belongs.
template <typename T, typename Store>
Result<void> Keep(Result<T> value, Store store) {
    if (!value) return std::unexpected(std::move(value.error()));
    store(std::move(*value));
    return {};
}

// Each puts what `value` says into the draft. kInvalid names `field`, which is what the caller
// wrote; the draft is of no use then.
Result<void> ReadId(TaskDraft& draft, const JsonView& value, std::string_view field);
Result<void> ReadTaskName(TaskDraft& draft, const JsonView& value, std::string_view field);
Result<void> ReadType(TaskDraft& draft, const JsonView& value, std::string_view field);
Result<void> ReadQueue(TaskDraft& draft, const JsonView& value, std::string_view field);
Result<void> ReadPayload(TaskDraft& draft, const JsonView& value, std::string_view field);
Result<void> ReadPriority(TaskDraft& draft, const JsonView& value, std::string_view field);
Result<void> ReadTimeout(TaskDraft& draft, const JsonView& value, std::string_view field);
Result<void> ReadMaxRetry(TaskDraft& draft, const JsonView& value, std::string_view field);
Result<void> ReadRetryPolicy(TaskDraft& draft, const JsonView& value, std::string_view field);
Result<void> ReadRate(TaskDraft& draft, const JsonView& value, std::string_view field);
Result<void> ReadExcludedDates(TaskDraft& draft, const JsonView& value, std::string_view field);
Result<void> ReadTraceParent(TaskDraft& draft, const JsonView& value, std::string_view field);
Result<void> ReadTraceState(TaskDraft& draft, const JsonView& value, std::string_view field);
Result<void> ReadCronText(TaskDraft& draft, const JsonView& value, std::string_view field);
Result<void> ReadTaskStrategy(TaskDraft& draft, const JsonView& value, std::string_view field);

// Back to the default number of retries; the rest of the policy stays. One that then says nothing
// of its own is none.
void ForgetMaxRetry(TaskDraft& draft);

}  // namespace takt::internal::task_field
