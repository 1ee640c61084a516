// SimPush: a scheduler's real link to executors, its calls sent through the simulated web, and the page
// that takes callbacks.
#pragma once

#include <string>

#include "links/push_link.h"
#include "sim/actors.h"
#include "sim/executor_checker.h"
#include "sim/web.h"

namespace takt::internal::sim {

// Tells an executor, and so the checker, in which term an order was sent.
constexpr std::string_view kTermHeader = "X-Sim-Term";

class SimPush {
  public:
    SimPush(Cluster& cluster, const std::string& host, Runtime& runtime, Store& store,
            ProcessPtr process);

    void Bind(Node& node);
    void OnRole(Role role);
    PushLink& link() { return link_; }

    // POST /api/v1/executions/{id}/callback, as the API takes it; one that does not lead passes it on.
    void Serve(const HttpCall& call, SimWeb::Reply reply);

    // Where a scheduler is reached.
    static std::string HostOf(const std::string& name) { return name + ":8080"; }

  private:
    void Call(HttpCall call, HttpDone done);
    void Check(HttpCall call, HttpDone done);
    void PassOn(HttpCall call, SimWeb::Reply reply);
    void AwaitAnswer(const std::shared_ptr<bool>& answered);

    Cluster& cluster_;
    ExecutorChecker& checker_;
    const ProcessPtr process_;
    Node* node_ = nullptr;
    std::uint64_t term_ = 0;  // The epoch of its last one.
    PushLink link_;
};

}  // namespace takt::internal::sim
