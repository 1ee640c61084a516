// Problems: how the API says no (RFC 9457, application/problem+json).
//
// `code` is stable and for programs, `detail` is for people and names what to do about it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "http/message.h"

namespace takt::internal {

struct Problem {
    int status = 500;
    std::string_view code;  // A literal.
    std::string detail;
    std::string field = {};       // Empty: no single field is at fault.
    int retry_after_seconds = 0;  // 0: repeating it would not help.
};

// The problem with a request that cannot be read: 400, and 413 for one that is too large.
Problem ProblemOfRequest(const Error& error);

// The problem that the engine or the store answered: 400, 404, 409, 429, 503.
Problem ProblemOfAnswer(const Error& error);

// Every code and what it is called; docs/api.md says what to do about each.
struct ProblemTitle {
    std::string_view code;
    std::string_view title;
};
std::span<const ProblemTitle> ProblemTitles();

// Into an object that is open, so that more can be said.
void WriteProblemFields(JsonWriter& json, const Problem& problem, std::string_view request_id);
void WriteProblem(JsonWriter& json, const Problem& problem, std::string_view request_id);
HttpResponse ProblemResponse(const Problem& problem, std::string_view request_id);
// The same for what the HTTP server refuses itself: malformed, too large, too slow, too many.
HttpResponse RefusalResponse(int status, std::string_view reason);

}  // namespace takt::internal
