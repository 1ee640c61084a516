// Submission: a task that was read from a request, on its way to the engine and back.
#pragma once

#include <cstdint>
#include <optional>

#include "api/services.h"
#include "api/task_json.h"

namespace takt::internal {

// The task in the body. On the server's thread.
Result<TaskRequest> ReadTaskBody(Call& call, const ReadTaskOptions& options);

// Gives a one-off task the trace that the request's headers name, unless it names one itself.
struct CallerTrace {
    std::string_view parent;  // traceparent; empty or malformed: none.
    std::string_view state;   // tracestate
};
void CarryTrace(const CallerTrace& trace, Task& task);

// The id that an Idempotency-Key stands for; empty if there is none. kInvalid for a key that cannot
// be one. `place` tells apart what one request creates.
Result<Text> IdOfKey(std::optional<std::string_view> key, std::string_view place = {});
inline std::optional<std::string_view> KeyOf(const HttpRequest& request) {
    return request.headers.Find(kIdempotencyKey.name);
}

// The version that an ETag such as "3" names; nothing if it is none of ours.
std::optional<std::uint32_t> VersionOfETag(std::string_view text);

// The condition of an If-Match header: the version that the task must have; 0 is any.
struct IfMatch {
    std::uint32_t version = 0;
};
Result<IfMatch> ReadIfMatch(const HttpRequest& request);

struct CreateRule {
    bool create_only = false;
    std::uint32_t if_version = 0;
};
// Hands the task to the engine and answers the call. On the server's thread.
void Create(Call call, TaskRequest request, CreateRule rule);

// Answers a call with what PutTask said.
void FinishPut(Call call, Result<Answer> answer);

void SendTask(Call& call, const TaskRow& row, int status);
void SendOnceTask(Call& call, const Execution& execution, int status);
// 412 if a version was asked for that the task does not have; else as usual.
void RefuseChange(Call& call, const Error& error);

}  // namespace takt::internal
