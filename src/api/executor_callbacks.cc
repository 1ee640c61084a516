// Executors tell, by calls of their own, how an attempt ended, what it writes and how far it is.
#include <optional>
#include <string>
#include <utility>

#include "api/call_flow.h"
#include "api/execution_json.h"
#include "api/executor_call.h"
#include "api/json_read.h"
#include "api/query.h"
#include "api/services.h"
#include "links/push_link.h"
#include "links/step_results.h"
#include "model/workflow.h"

namespace takt::internal {
namespace {

Problem ProblemOf(CallbackAnswer answer) {
    switch (answer.verdict) {
        case CallbackAnswer::Verdict::kStale:
            return {409, "conflict", std::move(answer.detail)};
        case CallbackAnswer::Verdict::kForeign:
            return {401, "unauthorized", std::move(answer.detail)};
        case CallbackAnswer::Verdict::kNotFound:
            return {404, "not_found", std::move(answer.detail), "id"};
        default:
            return {503, "unavailable", std::move(answer.detail), "", 1};
    }
}

// Whether the token is that of the execution's current or last attempt. Whoever does not have it is
// told nothing more: neither whether there is such an execution nor how it stands.
Flow<Result<bool>> HoldsToken(const Call& call, ExecutionId id, Token token) {
    const auto live = co_await Looked<std::optional<Token>>(call, [&](const Engine& engine) {
        const Execution* row = engine.FindExecution(id);
        return row ? std::optional(row->token) : std::nullopt;
    });
    if (!live) co_return std::unexpected(live.error());
    if (*live) co_return **live == token;
    const auto found = co_await Answered<FoundExecutions>(
        call, [&](auto done) { call.services().rows.FindExecutions({id}, std::move(done)); });
    if (!found) co_return std::unexpected(found.error());
    co_return found->front() && found->front()->token == token;
}

const Problem kWrongToken = {
    401, "unauthorized",
    "this needs the token that came with the execution's current attempt, as X-Takt-Token or as "
    "callback_token in the body; another attempt may have begun meanwhile"};

// True: the token fits. Otherwise the call is answered.
Flow<bool> ProveToken(Call& call, const ExecutionId& id, std::string_view text) {
    const auto token = ParseToken(text);
    if (!token) {
        call.Refuse(kWrongToken);
        co_return false;
    }
    const auto holds = co_await HoldsToken(call, id, *token);
    if (!holds) {
        // The caller is not known, and a store's own words name its host.
        call.Refuse({503, "unavailable",
                     "the token cannot be looked up at the moment; say it again", "", 1});
    } else if (!*holds) {
        call.Refuse(kWrongToken);
    }
    co_return holds && *holds;
}

std::string HeaderToken(const Call& call) {
    return std::string(call.request().headers.Find("X-Takt-Token").value_or(""));
}

// The header is looked at before the body is read: a MiB of a stranger's is not worth the time.
Flow<> Callback(PushLink& link, Call call) {
    const auto id = PathId<ExecutionId>(call);
    if (!id) co_return;
    std::string token = HeaderToken(call);
    if (!token.empty() && !co_await ProveToken(call, *id, token)) co_return;
    auto body = ReadCallback(call.request().body);
    if (!body) co_return call.RefuseRequest(body.error());
    if (!body->execution_id.empty() && body->execution_id != id->view()) {
        co_return call.RefuseRequest(
            BadField("execution_id", "is not the one in the address").error());
    }
    if (!body->token.empty() || token.empty()) {
        token = body->token;
        if (!co_await ProveToken(call, *id, token)) co_return;
    }
    const bool success = body->report.success;
    CallbackReport report{
        .execution = *id, .token = *ParseToken(token), .report = std::move(body->report)};
    auto answer = co_await Answered<CallbackAnswer>(
        call, [&](auto done) { link.Callback(std::move(report), std::move(done)); });
    if (answer.verdict != CallbackAnswer::Verdict::kAccepted) {
        co_return call.Refuse(ProblemOf(std::move(answer)));
    }
    std::string text;
    JsonWriter json(text);
    json.BeginObject().Field("execution_id", id->view()).Field("accepted", true);
    json.Field("status", success ? "success" : "failed").EndObject();
    call.Json(200, std::move(text));
}

Flow<> TakeNews(PushLink& link, Call call) {
    const auto id = PathId<ExecutionId>(call);
    if (!id) co_return;
    std::string token = HeaderToken(call);
    if (!token.empty() && !co_await ProveToken(call, *id, token)) co_return;
    auto body = ReadNews(call.request().body);
    if (!body) co_return call.RefuseRequest(body.error());
    if (!body->token.empty() || token.empty()) {
        token = body->token;
        if (!co_await ProveToken(call, *id, token)) co_return;
    }
    PushLink::News news{.execution = *id, .token = *ParseToken(token), .body = std::move(*body)};
    auto answer = co_await Answered<CallbackAnswer>(
        call, [&](auto done) { link.TakeNews(std::move(news), std::move(done)); });
    if (answer.verdict != CallbackAnswer::Verdict::kAccepted) {
        co_return call.Refuse(ProblemOf(std::move(answer)));
    }
    std::string text;
    JsonWriter json(text);
    json.BeginObject().Field("execution_id", id->view()).Field("accepted", true).EndObject();
    call.Json(202, std::move(text));
}

// Of the execution's own run, and only while the attempt goes on.
Flow<> FetchResults(PushLink&, Call call) {
    const auto id = PathId<ExecutionId>(call);
    if (!id) co_return;
    const std::string token = HeaderToken(call);
    if (!co_await ProveToken(call, *id, token)) co_return;
    const auto first = QueryCount(call.request(), "first", {0, kStepChildrenMax, 0});
    if (!first) co_return call.RefuseRequest(first.error());
    StepResultsQuestion question{.execution = *id,
                                 .token = *ParseToken(token),
                                 .step = call.request().Query("step").value_or(""),
                                 .first = static_cast<std::uint32_t>(*first)};
    const auto page = co_await Answered<Result<StepResultsPage>>(call, [&](auto done) {
        Services& services = call.services();
        ReadStepResults(services.node, services.rows, std::move(question), std::move(done));
    });
    if (!page) co_return call.RefuseAnswer(page.error());
    std::string text;
    JsonWriter json(text);
    json.BeginObject().Field("total", page->total).Field("list", page->list);
    json.Key("items").BeginArray();
    for (const std::string& part : page->parts) json.Raw(part);
    json.EndArray();
    const std::size_t next = *first + page->parts.size();
    next < page->total ? json.Field("next", next) : json.Key("next").Null();
    json.EndObject();
    call.Json(200, std::move(text));
}

}  // namespace

// The one-time token of the attempt is the credential.
void AddExecutorCallbackRoutes(std::vector<Route>& routes) {
    const auto add = [&](Route route, auto handler) {
        route.permission = Permission::kNone;
        route.tag = "executions";
        route.routine = true;
        AddExecutorRoute(routes, std::move(route), handler);
    };
    add({.method = HttpMethod::kPost,
         .path = "/api/v1/executions/{id}/callback",
         .summary = "An executor tells how an execution ended; needs the attempt's token",
         .takes = "Callback",
         .gives = "CallbackAnswer",
         .repeatable = true},
        Callback);
    add({.method = HttpMethod::kPost,
         .path = "/api/v1/executions/{id}/log",
         .summary = "An executor adds to the log and tells its progress; needs the attempt's token",
         .takes = "ExecutorNews",
         .gives = "CallbackAnswer",
         .success = 202},
        TakeNews);
    add({.method = HttpMethod::kGet,
         .path = "/api/v1/executions/{id}/results",
         .summary = "An executor reads the results of an earlier step of its run; needs the "
                    "attempt's token",
         .query = {{"step", "The step, which is over."},
                   {"first", "The first part that is wanted; the `next` of the answer before."}},
         .gives = "StepResults"},
        FetchResults);
}

}  // namespace takt::internal
