#include "sim/sim_push.h"

#include <utility>

namespace takt::internal::sim {
namespace {

constexpr std::string_view kPassedOnHeader = "X-Sim-Passed-On";
constexpr std::string_view kExecutions = "/executions/";

// A scheduler that lives has answered a callback by then.
constexpr Micros kCallbackWithin = 20s;

PushLinkConfig MakePushConfig(const std::string& host) {
    PushLinkConfig config;
    config.address = "http://" + SimPush::HostOf(host);
    config.health_interval = Duration(1'000);
    config.health_timeout = Duration(500);
    config.timeout = Duration(2'000);
    config.breaker = {.failures_max = 3, .open_min = Duration(500), .open_max = Duration(4'000)};
    return config;
}

int StatusOf(CallbackAnswer::Verdict verdict) {
    switch (verdict) {
        case CallbackAnswer::Verdict::kAccepted:
            return 200;
        case CallbackAnswer::Verdict::kStale:
            return 409;
        case CallbackAnswer::Verdict::kForeign:
            return 401;
        case CallbackAnswer::Verdict::kNotFound:
            return 404;
        default:
            return 503;
    }
}

}  // namespace

SimPush::SimPush(Cluster& cluster, const std::string& host, Runtime& runtime, Store& store,
                 ProcessPtr process)
    : cluster_(cluster),
      checker_(*cluster.executor_checker),
      process_(std::move(process)),
      link_(
          runtime, {store, cluster.partition()}, MakePushConfig(host),
          *ServicePolicy::Make({}, true),
          [this](HttpCall call, HttpDone done) { Call(std::move(call), std::move(done)); },
          [this](HttpCall call, HttpDone done) { Check(std::move(call), std::move(done)); },
          SeedOf(cluster.world.Below(UINT64_MAX))) {
    cluster.web->Listen(HostOf(host), {[process = process_] { return process; },
                                       [this](const HttpCall& call, SimWeb::Reply reply) {
                                           Serve(call, std::move(reply));
                                       }});
}

void SimPush::Bind(Node& node) {
    node_ = &node;
    link_.Bind(node);
}

void SimPush::OnRole(Role role) {
    if (role == Role::kLeader) {
        term_ = node_->status().epoch;
        checker_.OnTerm(term_);
    }
    link_.OnRole(role);
}

// An order, or an answer that the next leader is told.
void SimPush::Call(HttpCall call, HttpDone done) {
    if (!call.url.ends_with("/execute")) {
        return cluster_.web->Send(process_, std::move(call), std::move(done));
    }
    const std::string token = HeaderOf(call, "X-Takt-Token");
    checker_.OnOrderSent(token, term_);
    call.headers.emplace_back(kTermHeader, std::to_string(term_));
    cluster_.web->Send(process_, std::move(call),
                       [this, token, term = term_, done = std::move(done)](auto answer) mutable {
                           checker_.OnOrderAnswered(token, term, answer);
                           done(std::move(answer));
                       });
}

void SimPush::Check(HttpCall call, HttpDone done) {
    const std::size_t host = call.url.find("://") + 3;
    std::string executor = call.url.substr(host, call.url.find(':', host) - host);
    cluster_.web->Send(
        process_, std::move(call),
        [this, executor = std::move(executor), done = std::move(done)](auto answer) mutable {
            if (!answer || answer->status >= 300) checker_.OnDoubted(executor);
            done(std::move(answer));
        });
}

void SimPush::Serve(const HttpCall& call, SimWeb::Reply reply) {
    if (!node_->leads()) return PassOn(call, std::move(reply));
    const std::string path = call.url.substr(call.url.find(kExecutions) + kExecutions.size());
    const std::string token = HeaderOf(call, "X-Takt-Token");
    CallbackReport report{.execution = ExecutionId(Text(path.substr(0, path.find('/')))),
                          .token = ParseToken(token).value_or(Token{}),
                          .report = ReadCallback(call.body)->report};
    const Said said = Said::Of(report.report);
    checker_.OnCallback(token, term_);
    const auto answered = std::make_shared<bool>(false);
    AwaitAnswer(answered);
    link_.Callback(std::move(report),
                   [this, token, said, answered, reply](const CallbackAnswer& answer) {
                       *answered = true;
                       checker_.OnCallbackAnswered(token, said, answer.verdict);
                       reply({.status = StatusOf(answer.verdict), .headers = {}, .body = {}});
                   });
}

void SimPush::PassOn(HttpCall call, SimWeb::Reply reply) {
    const auto leader = node_->status().leader;
    if (!leader || leader->address.empty() || !HeaderOf(call, kPassedOnHeader).empty()) {
        return reply({.status = 503, .headers = {}, .body = {}});
    }
    call.headers.emplace_back(kPassedOnHeader, "1");
    call.url = leader->address.str() + call.url;
    cluster_.web->Send(process_, std::move(call), [reply](const Result<HttpAnswer>& answer) {
        reply(answer ? *answer : HttpAnswer{.status = 503, .headers = {}, .body = {}});
    });
}

void SimPush::AwaitAnswer(const std::shared_ptr<bool>& answered) {
    cluster_.world.After(kCallbackWithin, process_, [this, answered] {
        if (*answered) return;
        // One that was frozen meanwhile has had less time than that.
        if (cluster_.world.now() - process_->frozen_until < kCallbackWithin) {
            return AwaitAnswer(answered);
        }
        cluster_.checker.OnUnanswered("take its callback");
    });
}

}  // namespace takt::internal::sim
