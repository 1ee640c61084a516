// SimWeb: HTTP between schedulers and executors, with everything that can go wrong on the way: nobody
// listens, the call or its answer is lost, the other side dies or is frozen with the call in its hands.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "http/client.h"
#include "sim/world.h"

namespace takt::internal::sim {

// The value of a header; empty if there is none.
std::string HeaderOf(const HttpCall& call, std::string_view name);

class SimWeb {
  public:
    using Reply = std::function<void(HttpAnswer)>;
    // A process that listens at an address.
    struct Site {
        std::function<ProcessPtr()> process;  // May be gone, or null.
        // The url is the path alone.
        std::function<void(const HttpCall&, Reply)> serve;
    };

    explicit SimWeb(World& world) : world_(world) {}

    // `host` as in a URL, "node-1:8080".
    void Listen(const std::string& host, Site site) { sites_[host] = std::move(site); }
    // As http/client.h says it: kUnavailable if nothing was sent, kUnknown if no whole answer came.
    void Send(const ProcessPtr& caller, HttpCall call, HttpDone done);
    // A process is gone: those who wait for its answers are told so, unless its machine went, too.
    void Reset(const ProcessPtr& process);

    double lost = 0;  // Of calls and, as often, of answers.
    Micros latency_max = 3ms;
    std::set<std::string> refused;  // Hosts that take no connection.
    std::set<std::string> silent;   // Hosts from which nothing comes back, not even that.

  private:
    struct Open {
        ProcessPtr caller;
        ProcessPtr server;
        HttpDone done;
    };
    using OpenPtr = std::shared_ptr<Open>;

    void Arrive(const OpenPtr& open, HttpCall call);
    void Answer(const OpenPtr& open, Result<HttpAnswer> answer);
    // Its connection breaks, or nothing is ever heard of it again.
    void Lose(const OpenPtr& open);
    Micros Way() { return world_.Between(50us, latency_max); }

    World& world_;
    std::map<std::string, Site> sites_;
    std::vector<std::weak_ptr<Open>> open_;
};

}  // namespace takt::internal::sim
