#include "api/api.h"

#include <algorithm>
#include <array>

#include "api/audit.h"
#include "api/bulk.h"
#include "api/execution_reads.h"
#include "api/json_read.h"
#include "api/openapi.h"

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

std::optional<Problem> CheckQuery(const Route& route, const HttpRequest& request) {
    if (request.raw_query.empty()) return std::nullopt;
    std::vector<std::string_view> known;
    for (const RouteQuery& query : route.query) known.push_back(query.name);
    std::vector<std::string> seen;
    for (const auto& [name, value] : request.QueryAll()) {
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
    return CheckType(route, request);
}

}  // namespace

Api::Api(std::shared_ptr<Services> services)
    : services_(std::move(services)), bulk_held_(std::make_shared<BulkHeld>()) {}

std::shared_ptr<Api> Api::Make(ApiParts parts) {
    std::vector<Route> routes = ApiRoutes();
    for (Route& route : parts.more_routes) routes.push_back(std::move(route));
    if (!parts.config.prometheus) {
        std::erase_if(routes, [](const Route& route) { return route.path == "/metrics"; });
    }
    for (Route& route : routes) {
        // Routes that take lines take many tasks.
        route.body_bytes_max =
            route.takes_lines ? parts.config.bulk_bytes_max : parts.config.body_bytes_max;
    }
    auto services = std::shared_ptr<Services>(new Services{
        .node = parts.node,
        .store = parts.store,
        .events = parts.events,
        .meters = parts.meters,
        .statistics = parts.statistics,
        .alerts = parts.alerts,
        .config = parts.config,
        .home = Home(parts.runtime),
        .post = [&runtime = parts.runtime](auto action) { runtime.Post(std::move(action)); },
        .after = std::move(parts.after),
        .forward = std::move(parts.forward),
        .stream = std::move(parts.stream),
        .pages = std::move(parts.pages),
        .access = AccessPolicy(parts.config.access),
        .sessions = {},
        .texts = {},
        .random = Random(NewRandomSeed()),
        .routes = RouteTable(std::move(routes)),
        .openapi = {},
        .reads = std::make_shared<ExecutionReads>(),
    });
    services->openapi = OpenApiOf(services->routes, services->config.version);
    return std::shared_ptr<Api>(new Api(std::move(services)));
}

void LoadAccess(const std::shared_ptr<Services>& services, std::move_only_function<void()> done) {
    const std::uint64_t load = services->access.BeginLoad();
    services->store.ListSettings(
        Text(kTokenSettingPrefix), [services, load, done = std::move(done)](auto settings) mutable {
            services->post(
                [services, load, done = std::move(done), settings = std::move(settings)]() mutable {
                    const Instant now = ReadClocks();
                    services->access.EndLoad(load, std::move(settings), now.steady);
                    services->sessions.EndUnless([&](const std::string& token) {
                        return services->access.Holds(token, now.wall);
                    });
                    done();
                });
        });
}

void Api::OnHead(HttpRequest& request, HttpHeadVerdict& verdict) {
    const RouteTable::Match match = services_->routes.Find(request.method, request.raw_path);
    verdict.stranger = true;
    if (!match.route) {
        verdict.body_bytes_max = kStrangerBytesMax;
        return;
    }
    verdict.body_bytes_max = match.route->body_bytes_max;
    if (match.route->permission == Permission::kNone) {
        // The token of an attempt is checked by the handler; who shows none has little to say.
        if (!ParseToken(request.headers.Find("X-Takt-Token").value_or(""))) {
            verdict.body_bytes_max = std::min(verdict.body_bytes_max, kTokenlessBytesMax);
        }
        return;
    }
    // Who may not come in need not send a body first.
    const Instant now = ReadClocks();
    const bool known = services_->access.loaded() && !services_->access.must_load(now.steady);
    if (!known) return;
    auto decision = services_->access.Decide(request, match.route->permission, now);
    if (const auto* refusal = std::get_if<AccessPolicy::Refusal>(&decision)) {
        const Problem* problem = &refusal->problem;
        AuditRefusal(request, refusal->who, *problem);
        services_->meters.CountRequest(problem->status);
        verdict.refusal =
            std::make_unique<HttpResponse>(ProblemResponse(*problem, request.request_id));
        if (problem->status == 401) {
            verdict.refusal->headers.emplace_back("WWW-Authenticate", "Bearer");
        }
        return;
    }
    verdict.stranger = false;
    // Others than the leader pass lines on as they are.
    if (match.route->takes_lines && services_->node.status().role == Role::kLeader &&
        !CheckType(*match.route, request)) {
        ReadAsItComes(request, verdict);
    }
}

void Api::ReadAsItComes(HttpRequest& request, HttpHeadVerdict& verdict) {
    auto reader = std::make_shared<BulkReader>(*services_, request, bulk_held_);
    request.reader = reader;
    verdict.body_sink = [services = services_, reader = std::move(reader)](std::string_view piece) {
        return reader->Feed(piece);
    };
}

void Api::Handle(HttpRequest request, HttpReply reply) {
    RouteTable::Match match = services_->routes.Find(request.method, request.raw_path);
    if (!match.route) {
        std::optional<HttpResponse> page;
        if (match.allowed.empty() && services_->pages) page = services_->pages(request);
        HttpResponse response = page ? std::move(*page) : NoRoute(request, match);
        services_->meters.CountRequest(response.status);
        return reply(std::move(response));
    }
    request.parameters = std::move(match.parameters);
    const Route& route = *match.route;
    // Nobody but ReadAsItComes leaves anything.
    auto reader = std::static_pointer_cast<BulkReader>(std::exchange(request.reader, nullptr));
    const bool needs_access = route.permission != Permission::kNone;
    const Steady now = SteadyClock::now();
    if (needs_access && services_->access.must_load(now)) {
        return LoadAccess(
            services_, [this, self = services_, &route, request = std::move(request),
                        reply = std::move(reply), reader = std::move(reader)]() mutable {
                Continue(route, std::move(request), std::move(reply), std::move(reader));
            });
    }
    if (needs_access && services_->access.should_load(now)) {
        LoadAccess(services_, [] {});
    }
    Continue(route, std::move(request), std::move(reply), std::move(reader));
}

void Api::Continue(const Route& route, HttpRequest request, HttpReply reply, BulkReaderPtr reader) {
    std::optional<Problem> problem;
    Principal who;
    if (route.permission != Permission::kNone) {
        if (!services_->access.loaded()) {
            problem = Problem{.status = 503,
                              .code = "unavailable",
                              .detail = "the store cannot say who may do this; try again shortly",
                              .retry_after_seconds = 1};
        } else {
            auto decision = services_->access.Decide(request, route.permission, ReadClocks());
            if (auto* refusal = std::get_if<AccessPolicy::Refusal>(&decision)) {
                problem = std::move(refusal->problem);
                who = std::move(refusal->who);
            } else {
                who = std::move(std::get<Principal>(decision));
            }
        }
        if (problem) AuditRefusal(request, who, *problem);
    }
    if (!problem) problem = CheckQuery(route, request);
    if (!problem) problem = CheckBody(route, request);
    if (problem) {
        services_->meters.CountRequest(problem->status);
        HttpResponse response = ProblemResponse(*problem, request.request_id);
        if (problem->status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
        return reply(std::move(response));
    }
    Dispatch(Call(services_, route, std::move(request), std::move(reply), std::move(who)),
             std::move(reader));
}

// Tokens that are used are told from those that can go. Only the leader writes it down; what others
// see counts when they see it again.
void Api::NoteUse() {
    while (const AccessToken* token = services_->access.TakeUsed()) {
        const std::string key =
            std::string(kTokenSettingPrefix) + token->id + std::string(kTokenUsedSuffix);
        services_->node.Tell(
            SetSetting{.key = Text(key), .value = Text(FormatTime(token->last_used_at))});
    }
}

void Api::Dispatch(Call call, BulkReaderPtr reader) {
    NoteUse();
    // Nothing of it is submitted yet: if this node does not lead any more, the node says so.
    if (reader) return CreateFrom(std::move(call), *reader);
    const Route& route = call.route();
    if (route.where == Where::kAnyNode) return route.handler(std::move(call));
    const NodeStatus status = services_->node.status();
    if (status.role == Role::kLeader) return route.handler(std::move(call));
    PassOn(std::move(call), status, services_->forward);
}

}  // namespace takt::internal
