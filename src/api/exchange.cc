#include "api/exchange.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/answer_headers.h"
#include "api/api.h"
#include "api/audit.h"
#include "api/bulk.h"
#include "api/json_read.h"
#include "api/refusals.h"
#include "base/flow.h"
#include "base/utf8.h"
#include "metrics/meters.h"

namespace takt::internal {
namespace {

// For addresses that nobody has.
constexpr std::size_t kStrangerBytesMax = 4096;
// For callbacks and logs whose token, if there is one, is in the body: a MiB from everybody who
// can reach the port would be too much.
constexpr std::size_t kTokenlessBytesMax = 64 << 10;

HttpResponse NoRoute(const HttpRequest& request, const RouteTable::Match& match) {
    if (match.allowed.empty()) {
        return ProblemResponse({404, "no_route", "there is nothing at this address; see /docs"},
                               request.request_id);
    }
    const bool asks = request.method == HttpMethod::kOptions;
    HttpResponse response =
        asks ? HttpResponse{.status = 204}
             : ProblemResponse({405, "method_not_allowed", "this address takes " + match.allowed},
                               request.request_id);
    response.headers.emplace_back("Allow", match.allowed);
    return response;
}

// RFC 6750: whoever showed a token hears what is wrong with it, also a client that does not read the
// body, as of a WebSocket that was not opened.
std::string ChallengeOf(const Problem& problem, const HttpRequest& request) {
    const auto fits = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
    if (!request.headers.Find("Authorization") || !std::ranges::all_of(problem.detail, fits)) {
        return "Bearer";
    }
    return R"(Bearer error="invalid_token", error_description=")" + problem.detail + '"';
}

HttpResponse RefusalOf(const Problem& problem, const HttpRequest& request) {
    HttpResponse response = ProblemResponse(problem, request.request_id);
    if (problem.status == 401) {
        response.headers.emplace_back("WWW-Authenticate", ChallengeOf(problem, request));
    }
    GuardAnswer(response, request);
    return response;
}

std::optional<Problem> CheckQuery(const Route& route, const HttpRequest& request) {
    if (request.raw_query.empty() || route.open_query) return std::nullopt;
    std::vector<std::string_view> known;
    for (const RouteQuery& query : route.query) known.push_back(query.name);
    std::vector<std::string> seen;
    for (const auto& [name, value] : request.QueryAll()) {
        if (!IsValidUtf8(name) || !IsValidUtf8(value)) {
            const std::string which = IsValidUtf8(name) ? name : std::string();
            return Problem{400, "invalid", "the query " + which + " is not UTF-8", which};
        }
        if (std::ranges::find(known, name) == known.end()) {
            Error error = UnknownField(name, known).error();
            error.detail = "in the query: " + error.detail;
            return ProblemOfRequest(error);
        }
        if (std::ranges::find(seen, name) != seen.end()) {
            return Problem{400, "invalid", name + " comes twice in the query", name};
        }
        seen.push_back(name);
    }
    return std::nullopt;
}

// Nothing is unpacked here: a small body could become a huge one.
std::optional<Problem> CheckEncoding(const HttpRequest& request) {
    const auto header = request.headers.Find("Content-Encoding");
    if (!header || header->empty() || EqualsIgnoringCase(*header, "identity")) return std::nullopt;
    return Problem{415, "unsupported_media_type",
                   "send the body as it is, without Content-Encoding: '" +
                       std::string(CutUtf8(*header, 40)) + "' is not unpacked"};
}

// Browsers send forms to anybody without asking; JSON they do not.
std::optional<Problem> CheckType(const Route& route, const HttpRequest& request) {
    const auto header = request.headers.Find("Content-Type");
    if (!header) return std::nullopt;
    std::string_view type = header->substr(0, header->find(';'));
    while (type.ends_with(' ')) type.remove_suffix(1);
    static constexpr std::array<std::string_view, 5> kTypes = {
        "application/json", "application/merge-patch+json", "application/x-ndjson",
        "application/ndjson", "application/jsonl"};
    const auto taken = std::span(kTypes).first(route.takes_lines ? 5 : 2);
    if (std::ranges::any_of(taken, [&](auto known) { return EqualsIgnoringCase(known, type); })) {
        return std::nullopt;
    }
    return Problem{415, "unsupported_media_type",
                   "send JSON, with the header Content-Type: application/json"};
}

bool IsEmptyObject(std::string_view body) {
    std::string text;
    for (const char c : body.substr(0, 64)) {
        if (!std::string_view(" \t\r\n").contains(c)) text += c;
    }
    return body.size() <= 64 && text == "{}";
}

std::optional<Problem> CheckBody(const Route& route, const HttpRequest& request) {
    if (request.body.empty()) return std::nullopt;
    if (route.takes.empty()) {
        // Many clients send an empty object with every POST.
        if (IsEmptyObject(request.body)) return std::nullopt;
        return Problem{400, "invalid", "this address takes no body"};
    }
    if (auto problem = CheckEncoding(request)) return problem;
    return CheckType(route, request);
}

// The namespace that a request is for: the one its address names, else its token's, else `default`.
// Null if there is none of that name, as far as this node knows.
std::shared_ptr<Services> FindRealm(const Gate& gate, const RouteTable::Match& match,
                                    const Principal& who) {
    if (match.route->cluster) return gate.home_realm;
    std::string_view name = match.space;
    if (name.empty() && who.space != kEverySpace) name = who.space;
    if (name.empty()) return gate.home_realm;
    const auto found = gate.realms.find(name);
    return found == gate.realms.end() ? nullptr : found->second;
}

// Whether the head brings the token of some attempt. Others than the leader do not know them; they
// pass on what looks like one.
bool ShowsAttempt(const Services* realm, const HttpRequest& request) {
    const auto token = ParseToken(request.headers.Find("X-Takt-Token").value_or(""));
    if (!token) return false;
    if (!realm || !realm->node.leads()) return true;
    return realm->knows_attempt && realm->knows_attempt(*token);
}

AccessQuestion QuestionOf(const Gate& gate, const RouteTable::Match& match) {
    return {.permission = match.route->permission,
            .space = match.space,
            .cluster = match.route->cluster,
            .find_space = [&gate](std::string_view name) -> std::optional<SpaceMark> {
                const auto found = gate.realms.find(name);
                if (found == gate.realms.end()) return std::nullopt;
                return found->second->mark;
            }};
}

AccessPolicy::Verdict JudgeAccess(Gate& gate, const RouteTable::Match& match,
                                  const HttpRequest& request) {
    if (gate.access.loaded()) {
        return gate.access.Decide(request, QuestionOf(gate, match), ReadClocks());
    }
    return AccessPolicy::Refusal{.problem = {.status = 503,
                                             .code = "unavailable",
                                             .detail = gate.access.WhyUnread(request),
                                             .retry_after_seconds = 1},
                                 .who = {}};
}

void NoteRefused(const Gate& gate, const RouteTable::Match& match, const HttpRequest& request,
                 const AccessPolicy::Refusal& refusal) {
    LogRefusal(request, refusal.who, refusal.problem);
    const auto realm = FindRealm(gate, match, refusal.who);
    CountRefusal(realm ? realm : gate.home_realm,
                 {*match.route, request, refusal.who, refusal.problem.status});
}

// Tokens that are used are told from those that can go. Only the leader writes it down; what others
// see counts when they see it again.
void NoteUse(Gate& gate) {
    while (const AccessToken* token = gate.access.TakeUsed()) {
        const std::string key =
            std::string(kTokenSettingPrefix) + token->id + std::string(kTokenUsedSuffix);
        gate.home_realm->node.Tell(
            SetSetting{.key = Text(key), .value = Text(FormatTime(token->last_used_at))});
    }
}

void Dispatch(Call call, std::unique_ptr<BulkReader> reader) {
    NoteUse(*call.services().gate);
    // Nothing of it is submitted yet: if this node does not lead any more, the node says so.
    if (reader) return CreateFrom(std::move(call), *reader);
    const Route& route = call.route();
    if (route.where == Where::kAnyNode) return route.handler(std::move(call));
    AskLeader(std::move(call));
}

Problem NoSuchSpace(const RouteTable::Match& match, const Principal& who) {
    const std::string& name = match.space.empty() ? who.space : match.space;
    return {404, "no_namespace", "there is no namespace '" + name + "'", "namespace"};
}

// A store that cannot be read does not make a namespace disappear.
const Problem kUnknownSpaces = {
    503, "unavailable", "which namespaces there are cannot be read at the moment", "namespace", 1};

struct Arrived {
    HttpRequest request;
    HttpReply reply;
};

void Refuse(const Gate& gate, const Problem& problem, Arrived& arrived) {
    gate.home_realm->meters.CountRequest(problem.status);
    arrived.reply(RefusalOf(problem, arrived.request));
}

// A namespace that is being deleted lets what is under way end; nothing new begins.
bool IsTooLate(const Services& realm, const Route& route) {
    return realm.closing && *realm.closing && route.permission != Permission::kNone &&
           !route.cluster && (route.method != HttpMethod::kGet || route.opens_session);
}

void Enter(std::shared_ptr<Services> realm, ApiExchange::Learnt learnt, Arrived arrived) {
    const Route& route = *learnt.match.route;
    if (IsTooLate(*realm, route)) {
        return Refuse(*realm->gate,
                      {409, "conflict", "the namespace '" + realm->name + "' is being deleted"},
                      arrived);
    }
    arrived.request.parameters = std::move(learnt.match.parameters);
    Dispatch(Call(std::move(realm), route, std::move(arrived.request), std::move(arrived.reply),
                  std::move(*learnt.who)),
             std::move(learnt.reader));
}

// The namespace may just have been made, by another node.
Flow<> EnterWhenKnown(std::shared_ptr<Gate> gate, ApiExchange::Learnt learnt, Arrived arrived) {
    bool known = true;
    if (gate->refresh_realms) {
        known = co_await Wait<bool>([&](auto done) { gate->refresh_realms(std::move(done)); });
    }
    auto realm = FindRealm(*gate, learnt.match, *learnt.who);
    if (!realm && !known) co_return Refuse(*gate, kUnknownSpaces, arrived);
    if (!realm) co_return Refuse(*gate, NoSuchSpace(learnt.match, *learnt.who), arrived);
    // The token may be for an earlier one of that name.
    auto verdict = JudgeAccess(*gate, learnt.match, arrived.request);
    if (const auto* refusal = std::get_if<AccessPolicy::Refusal>(&verdict)) {
        NoteRefused(*gate, learnt.match, arrived.request, *refusal);
        co_return Refuse(*gate, refusal->problem, arrived);
    }
    Enter(std::move(realm), std::move(learnt), std::move(arrived));
}

void Proceed(const std::shared_ptr<Gate>& gate, ApiExchange::Learnt learnt, Arrived arrived) {
    const Route& route = *learnt.match.route;
    const HttpRequest& request = arrived.request;
    std::optional<Problem> problem;
    if (!learnt.who) {
        auto verdict = JudgeAccess(*gate, learnt.match, request);
        if (auto* refusal = std::get_if<AccessPolicy::Refusal>(&verdict)) {
            NoteRefused(*gate, learnt.match, request, *refusal);
            problem = std::move(refusal->problem);
        } else {
            learnt.who = std::move(std::get<Principal>(verdict));
        }
    }
    if (!problem) problem = CheckQuery(route, request);
    if (!problem) problem = CheckBody(route, request);
    if (problem) return Refuse(*gate, *problem, arrived);
    auto realm = FindRealm(*gate, learnt.match, *learnt.who);
    if (realm) return Enter(std::move(realm), std::move(learnt), std::move(arrived));
    Launch(EnterWhenKnown(gate, std::move(learnt), std::move(arrived)));
}

Flow<> ProceedWhenLoaded(std::shared_ptr<Gate> gate, ApiExchange::Learnt learnt, Arrived arrived) {
    co_await Wait<bool>(
        [&](auto done) { AwaitAccess(gate, [done = std::move(done)]() mutable { done(true); }); });
    Proceed(gate, std::move(learnt), std::move(arrived));
}

}  // namespace

ApiExchange::ApiExchange(std::shared_ptr<Gate> gate, const HttpRequest& request)
    : gate_(std::move(gate)) {
    learnt_.match = gate_->routes.Find(request.method, request.raw_path);
    const Route* route = learnt_.match.route;
    if (route && route->permission == Permission::kNone) learnt_.who = Principal{};
}

void ApiExchange::JudgeHead(const HttpRequest& request, const std::shared_ptr<BulkHeld>& held,
                            HttpHeadVerdict& verdict) {
    const Route* route = learnt_.match.route;
    verdict.stranger = true;
    if (!route) {
        verdict.body_bytes_max = kStrangerBytesMax;
        return;
    }
    verdict.body_bytes_max = route->body_bytes_max;
    verdict.watch =
        route->waits && (route->waits_by.empty() || request.Query(route->waits_by).has_value());
    if (route->permission == Permission::kNone) {
        // Whether the token is the execution's own the handler checks.
        if (!ShowsAttempt(FindRealm(*gate_, learnt_.match, {}).get(), request)) {
            verdict.body_bytes_max = std::min(verdict.body_bytes_max, kTokenlessBytesMax);
        }
        return;
    }
    AccessPolicy& access = gate_->access;
    const Instant now = ReadClocks();
    // The store is asked while the body comes.
    const bool stale = access.must_load(now.steady);
    if (access.should_load(now.steady)) LoadAccess(gate_, [] {});
    if (stale || !access.loaded()) {
        // An old copy of the tokens is good enough to tell for whom there is room.
        verdict.stranger = !access.Knows(request, now.wall);
        return;
    }
    // A caller who may not come in need not send a body first.
    auto decision = access.Decide(request, QuestionOf(*gate_, learnt_.match), now);
    if (const auto* refusal = std::get_if<AccessPolicy::Refusal>(&decision)) {
        const Problem& problem = refusal->problem;
        NoteRefused(*gate_, learnt_.match, request, *refusal);
        gate_->home_realm->meters.CountRequest(problem.status);
        verdict.refusal = std::make_unique<HttpResponse>(RefusalOf(problem, request));
        return;
    }
    verdict.stranger = false;
    learnt_.who = std::move(std::get<Principal>(decision));
    learnt_.judged_at = now.steady;
    if (!route->takes_lines || CheckEncoding(request) || CheckType(*route, request)) return;
    // Others than the leader pass lines on as they are.
    const auto realm = FindRealm(*gate_, learnt_.match, *learnt_.who);
    if (realm && realm->node.leads()) {
        learnt_.reader = std::make_unique<BulkReader>(*realm, request, held);
    }
}

void ApiExchange::OnEnd(HttpRequest request, HttpReply reply) {
    const Route* route = learnt_.match.route;
    if (!route) {
        std::optional<HttpResponse> page;
        if (learnt_.match.allowed.empty() && gate_->pages) page = gate_->pages(request);
        HttpResponse response = page ? std::move(*page) : NoRoute(request, learnt_.match);
        page ? KeepToTls(response, request) : GuardAnswer(response, request);
        gate_->home_realm->meters.CountRequest(response.status);
        return reply(std::move(response));
    }
    Arrived arrived{std::move(request), std::move(reply)};
    if (route->permission != Permission::kNone) {
        const Steady now = SteadyClock::now();
        // A body may take its time. A token that was revoked meanwhile must not be what it was.
        const bool old = now - learnt_.judged_at >= gate_->config.access.age_max;
        if (old) learnt_.who.reset();
        if (!learnt_.who && gate_->access.must_load(now)) {
            return Launch(ProceedWhenLoaded(gate_, std::move(learnt_), std::move(arrived)));
        }
        if (gate_->access.should_load(now)) LoadAccess(gate_, [] {});
    }
    Proceed(gate_, std::move(learnt_), std::move(arrived));
}

}  // namespace takt::internal
