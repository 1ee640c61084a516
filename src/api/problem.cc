#include "api/problem.h"

#include <utility>

namespace takt::internal {
namespace {

// A leader is found within a few seconds, and a full queue does not empty faster.
constexpr int kRetryAfterSeconds = 1;

constexpr ProblemTitle kTitles[] = {
    {"invalid", "The request cannot be understood"},
    {"too_large", "The request is too large"},
    {"not_found", "There is no such thing"},
    {"no_namespace", "There is no such namespace"},
    {"namespaces_full", "There can be no more namespaces"},
    {"not_yours", "The token is bound to something else"},
    {"no_route", "There is no such address"},
    {"method_not_allowed", "This address does not take that method"},
    {"unsupported_media_type", "The body is of a type that is not taken here"},
    {"conflict", "What is there does not allow it"},
    {"precondition_failed", "It has changed meanwhile"},
    {"exhausted", "A limit is reached"},
    {"unauthorized", "A valid token is needed"},
    {"forbidden", "The token does not allow this"},
    {"origin_refused", "Pages of other sites may not ask"},
    {"rate_limited", "Too many failed attempts"},
    {"no_leader", "No scheduler leads at the moment"},
    {"unavailable", "It cannot be done at the moment"},
    {"unknown", "Whether it was done is not known"},
};

std::string_view TitleOf(std::string_view code) {
    for (const ProblemTitle& known : kTitles) {
        if (known.code == code) return known.title;
    }
    return "Something is wrong on our side";
}

}  // namespace

std::span<const ProblemTitle> ProblemTitles() {
    return kTitles;
}

Problem ProblemOfRequest(const Error& error) {
    if (error.code == ErrorCode::kExhausted) return {413, "too_large", error.detail, error.field};
    return ProblemOfAnswer(error);
}

Problem ProblemOfAnswer(const Error& error) {
    switch (error.code) {
        case ErrorCode::kInvalid:
            return {400, "invalid", error.detail, error.field};
        case ErrorCode::kNotFound:
            return {404, "not_found", error.detail, error.field};
        case ErrorCode::kConflict:
            return {409, "conflict", error.detail, error.field};
        case ErrorCode::kExhausted:
            return {429, "exhausted", error.detail, error.field, kRetryAfterSeconds};
        case ErrorCode::kUnknown:
            return {503, "unknown", error.detail, error.field, kRetryAfterSeconds};
        case ErrorCode::kFenced:
        case ErrorCode::kUnavailable:
        case ErrorCode::kCancelled:
            break;
    }
    return {503, "unavailable", error.detail, error.field, kRetryAfterSeconds};
}

void WriteProblemFields(JsonWriter& json, const Problem& problem, std::string_view request_id) {
    json.Field("type", std::string_view("/docs#" + std::string(problem.code)));
    json.Field("title", TitleOf(problem.code)).Field("status", problem.status);
    json.Field("code", problem.code).Field("detail", std::string_view(problem.detail));
    if (!problem.field.empty()) json.Field("field", std::string_view(problem.field));
    if (!request_id.empty()) json.Field("request_id", request_id);
}

void WriteProblem(JsonWriter& json, const Problem& problem, std::string_view request_id) {
    json.BeginObject();
    WriteProblemFields(json, problem, request_id);
    json.EndObject();
}

HttpResponse ProblemResponse(const Problem& problem, std::string_view request_id) {
    HttpResponse response;
    response.status = problem.status;
    response.content_type = "application/problem+json";
    JsonWriter json(response.body);
    WriteProblem(json, problem, request_id);
    if (problem.retry_after_seconds > 0) {
        response.headers.emplace_back("Retry-After", std::to_string(problem.retry_after_seconds));
    }
    return response;
}

HttpResponse RefusalResponse(int status, std::string_view reason) {
    std::string detail(reason);
    if (status == 413 || status == 431) {
        return ProblemResponse({status, "too_large", std::move(detail)}, {});
    }
    // A body that there was no room for was not looked at; of what a handler was given and did not
    // answer nobody knows what became.
    if (status == 503 && reason.starts_with("too many")) {
        return ProblemResponse({503, "unavailable", std::move(detail), "", kRetryAfterSeconds}, {});
    }
    if (status == 500 || status == 503) {
        return ProblemResponse({status, "unknown", std::move(detail)}, {});
    }
    return ProblemResponse({status, "invalid", std::move(detail)}, {});
}

}  // namespace takt::internal
