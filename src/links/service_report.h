// A service's report of an attempt: in the answer to the call itself, or later by a callback.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "engine/input.h"
#include "http/client.h"
#include "model/execution.h"

namespace takt::internal {

struct ServiceReport {
    bool success = false;
    bool retryable = true;
    OutcomePtr outcome;  // Never null.
    std::string log;     // Lines that it wrote, each ended by a newline.
};

// An error message beyond this is cut: it is stored with the execution and shown in lists.
constexpr std::size_t kErrorBytesMax = 4096;
// Of an answer or a callback: a result of a MiB and what is around it.
constexpr std::size_t kReportBytesMax = (1 << 20) + (64 << 10);

// The body of a callback.
struct CallbackBody {
    ServiceReport report;
    std::string token;  // Empty: the header has it.
    std::string execution_id;
};
// {"status": "success" | "completed" | "failed", "result": …, "error": "…" | {code, message},
// "retryable": …, "log": "…" | ["…"], "token": "…", "execution_id": "…"}, the token also as
// callback_token, the name under which it was sent. kInvalid names the field
// at fault.
Result<CallbackBody> ReadCallback(std::string_view body);

// News of an attempt, said while it works.
struct NewsBody {
    std::string lines;  // Each ended by a newline.
    std::optional<double> fraction;
    std::string message;
    std::string token;
};
// {"lines": "…" | ["…"], "progress": {"percent": 0 to 100, "message": "…"}, "token": "…"}, the
// token also as callback_token. kInvalid names the field at fault.
Result<NewsBody> ReadNews(std::string_view body);

// The inputs that hand `lines` to the engine: long lines cut, in pieces that fit a commit.
void AppendLog(SessionId session, const AttemptRef& attempt, std::string_view lines,
               std::vector<Input>& inputs);

// The meaning of an answer to POST /execute.
struct PushAnswer {
    std::optional<ServiceReport> ended;  // Nothing: a callback will tell.
    std::string log;                     // Lines so far, if nothing has ended.
    bool instance_failed = false;        // It is the instance, not the task, that does not work.
    bool unsent = false;                 // The order did not arrive: nobody's failure.
    std::string trouble;                 // Of an instance that failed: why.
    bool understood = true;              // False: `ended` is our word for it, not the executor's.
};
PushAnswer ReadPushAnswer(const Result<HttpAnswer>& answer);

// Whether a report says again what another one said.
bool SaysTheSame(const Outcome* first, const Outcome* again);

}  // namespace takt::internal
