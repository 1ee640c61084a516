#include "worker/demo.h"

#include <algorithm>
#include <boost/json/value.hpp>
#include <condition_variable>
#include <mutex>

#include "base/json.h"

namespace takt::internal {
namespace {

// A number of the payload; `otherwise` if there is no payload or it has none of that name. kInvalid
// if it is no whole number from 0 to `most`, or if something else is there: who writes seconds for
// ms should learn it.
Result<std::int64_t> NumberOf(const std::string& payload, std::string_view name,
                              std::int64_t otherwise, std::int64_t most) {
    if (payload.empty()) return otherwise;
    auto json = ParseJson(payload);
    if (!json) return std::unexpected(json.error());
    const auto* object = json->if_object();
    const auto* value = object ? object->if_contains(name) : nullptr;
    if (object && object->size() > (value ? 1u : 0u)) {
        return Fail(ErrorCode::kInvalid,
                    "the payload has " + std::string(name) + " and no other field");
    }
    if (!value) return otherwise;
    if (!value->is_int64() || value->get_int64() < 0 || value->get_int64() > most) {
        return Fail(ErrorCode::kInvalid, std::string(name) + " must be a whole number from 0 to " +
                                             std::to_string(most));
    }
    return value->get_int64();
}

TaskResult Sleep(TaskContext& context) {
    const auto ms = NumberOf(context.payload(), "ms", 20, 86'400'000);
    if (!ms) return TaskResult::Rejected(ms.error().detail);
    std::mutex mutex;
    std::condition_variable_any changed;
    std::unique_lock lock(mutex);
    // Only a stop ends it early.
    changed.wait_for(lock, context.stop_token(), Duration(*ms), [] { return false; });
    if (context.stop_token().stop_requested()) return TaskResult::Failure("stopped while asleep");
    return TaskResult::Success();
}

TaskResult FailSometimes(TaskContext& context) {
    const auto times = NumberOf(context.payload(), "times", 1'000'000, 1'000'000);
    if (!times) return TaskResult::Rejected(times.error().detail);
    if (context.task().failures >= *times) return TaskResult::Success();
    return TaskResult::Failure("failing on purpose, failure " +
                               std::to_string(context.task().failures + 1));
}

TaskResult WriteLog(TaskContext& context) {
    const auto lines = NumberOf(context.payload(), "lines", 3, 100'000);
    if (!lines) return TaskResult::Rejected(lines.error().detail);
    for (std::int64_t i = 1; i <= *lines && !context.stop_token().stop_requested(); ++i) {
        context.Log("line " + std::to_string(i) + " of " + std::to_string(*lines));
        context.Progress(static_cast<double>(i) / static_cast<double>(*lines));
    }
    return TaskResult::Success();
}

}  // namespace

Result<void> AddDemoHandlers(HandlerRegistry& registry) {
    const std::pair<const char*, TaskFunction> handlers[] = {
        {"noop", [](TaskContext&) { return TaskResult::Success(); }},
        {"echo", [](TaskContext& context) { return TaskResult::Success(context.payload()); }},
        {"sleep", Sleep},
        {"fail", FailSometimes},
        {"log", WriteLog},
    };
    for (const auto& [type, function] : handlers) {
        if (auto added = registry.AddFunction(type, function); !added) return added;
    }
    return {};
}

}  // namespace takt::internal
