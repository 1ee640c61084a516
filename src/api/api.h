// Api: the REST API of a scheduler, as the handler of an HTTP server.
//
//     auto api = Api::Make({.realm = {.node = node, .events = hub, .meters = meters, …},
//                           .store = store, .runtime = …, .forward = …, .config = …});
//     auto server = HttpServer::Listen(io, options, api);
//
// Every node answers reads from the store; changes and live views are passed on to the leader. The
// hub and the meters must be told what the node releases: they are Sinks.
//
// Stop the server and then the node before the node, store, hub or meters are destroyed; answers
// that come after that find nobody.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "alerts/alerts.h"
#include "api/event_hub.h"
#include "api/route.h"
#include "api/services.h"
#include "http/message.h"
#include "metrics/meters.h"
#include "statistics/statistics.h"

namespace takt::internal {

struct BulkHeld;

struct ApiParts {
    RealmParts realm;  // Of `default`.
    Store& store;
    Runtime& runtime;  // The server's thread; need not be the node's.
    After after = {};  // Empty: open sessions are looked at only when somebody asks something.
    // See forward.h. Empty: what only the leader can answer is refused elsewhere.
    Forward forward = {};
    Forward stream = {};  // The same for event streams.
    ApiConfig config;
    std::vector<Route> more_routes = {};  // Those of other parts of the program.
    Pages pages = {};                     // Empty: there is no console.
    // See Gate.
    std::function<void(std::move_only_function<void(bool)> done)> refresh_realms = {};
    std::unique_ptr<SignIn> signin = {};        // Null: people cannot sign in.
    std::shared_ptr<AccessFamily> family = {};  // Of the other threads' APIs; null: there is none.
};

class Api final : public HttpHandler {
  public:
    static std::shared_ptr<Api> Make(ApiParts parts);
    ~Api() override;

    // On the server's thread: another namespace is there, or is gone. What is under way in it goes
    // on, and holds `parts.keep`.
    void AddRealm(RealmParts parts);
    void RemoveRealm(const std::string& name);

    // HttpHandler. On the server's thread.
    std::unique_ptr<HttpExchange> OnHead(const HttpRequest& request,
                                         HttpHeadVerdict& verdict) override;
    // A request of this process, as if its head had been judged.
    void Handle(HttpRequest request, HttpReply reply) override;

    const RouteTable& routes() const { return gate_->routes; }
    const Passings& passings() const { return gate_->passings; }  // On the server's thread.

  private:
    explicit Api(std::shared_ptr<Gate> gate);

    const std::shared_ptr<Gate> gate_;
    const std::shared_ptr<BulkHeld> bulk_held_;
};

// The routes of this folder.
std::vector<Route> ApiRoutes();

// Reads the access tokens again, ends the sessions of those that do not hold any more, then calls
// `done`. All on the server's thread.
void LoadAccess(const std::shared_ptr<Gate>& gate, std::move_only_function<void()> done);
// The same, or waits for a reading that is under way.
void AwaitAccess(const std::shared_ptr<Gate>& gate, std::move_only_function<void()> done);

}  // namespace takt::internal
