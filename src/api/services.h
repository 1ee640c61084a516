// Services: what the handlers of the API work with. Gate: what a server's thread has for all
// namespaces together.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "api/access_policy.h"
#include "api/call.h"
#include "api/leader_reach.h"
#include "api/open_sessions.h"
#include "api/passings.h"
#include "api/refusal_book.h"
#include "api/route.h"
#include "api/signin.h"
#include "api/task_json.h"
#include "http/message.h"
#include "model/namespace.h"
#include "node/home.h"
#include "node/node.h"
#include "store/partition_reader.h"
#include "trace/execution_trace.h"

namespace takt::internal {

class Alerts;
class EventHub;
class ExecutionReads;
class ExecutionWaits;
class Meters;
class PushLink;
class Statistics;
class StreamLink;
struct Gate;
struct Services;

// Passes a request on to another node and its answer back.
using Forward = std::function<void(HttpRequest request, std::string_view address, HttpReply reply)>;

// Runs something on the server's thread after a while.
using After = std::function<void(Duration delay, std::move_only_function<void()> action)>;

// The page that browsers are shown at an address that is no route's: the console. Nothing if it has
// none there.
using Pages = std::function<std::optional<HttpResponse>(const HttpRequest& request)>;

struct ApiConfig {
    std::string version = "0.1.0";
    AccessConfig access;
    bool prometheus = true;  // Whether /metrics is there.
    TaskLimits task_limits;
    TracePolicy tracing;
    // A MiB of payload and what is around it.
    std::size_t body_bytes_max = (1 << 20) + (64 << 10);
    // Bodies of this size take about a second to read; larger sets are better sent in parts.
    std::size_t bulk_bytes_max = 32 << 20;
    std::size_t bulk_tasks_max = 10'000;
};

// The API's word on itself, made once, as it is sent.
struct Descriptions {
    std::string openapi;
    std::string openapi_gzip;
    std::string page_gzip;
};
Descriptions DescribeApi(const RouteTable& routes, std::string_view version);

// The APIs of one server, each on a thread of its own with its own copy of the tokens. What one
// reads the others are told, so that a token that was just made or revoked is so on all of them.
struct AccessFamily {
    std::mutex mutex;
    std::vector<std::weak_ptr<Gate>> members;
    std::uint64_t loads = 0;  // Numbers them all, in the order in which they began.
    RefusalBook refusals;     // Of all of them together.
    const std::shared_ptr<LeaderReach> reach = std::make_shared<LeaderReach>();
};

// The gate: judges and routes the requests of one server's thread, whatever namespace they are for.
// All of it on that thread.
struct Gate {
    const ApiConfig config;
    // The server's thread. A handler that waits is a Flow and comes back by it:
    //     const auto row = co_await services.home.Wait<Result<TaskRow>>(…);
    const Home home;
    const std::function<void(std::move_only_function<void()>)> post;
    const After after;  // May be empty.
    const Forward forward;
    const Forward stream;  // The same for answers without an end.
    const Pages pages;
    const std::shared_ptr<AccessFamily> family;
    Store& store;
    AccessPolicy access;
    std::vector<std::move_only_function<void()>> access_awaited;  // See AwaitAccess.
    OpenSessions sessions;
    Passings passings;
    Random random;
    const RouteTable routes;
    Descriptions descriptions;
    // By name. `default` is always there.
    std::map<std::string, std::shared_ptr<Services>, std::less<>> realms;
    std::shared_ptr<Services> home_realm;  // That of `default`.
    // Reads again which namespaces there are; `done` comes on the server's thread, with false if that
    // cannot be read. Empty: there is `default` alone.
    const std::function<void(std::move_only_function<void(bool)> done)> refresh_realms;
    const std::unique_ptr<SignIn> signin;  // Null: people cannot sign in.
};

// The parts that a namespace is made of in this process.
struct RealmParts {
    std::string name = std::string(kDefaultNamespace);
    Partition partition = 0;
    SpaceMark mark = {};
    Node& node;
    EventHub& events;
    Meters& meters;
    Statistics& statistics;
    Alerts& alerts;
    // Null: workers cannot attach, executors cannot register.
    StreamLink* stream_link = nullptr;
    PushLink* push_link = nullptr;
    // Whether an attempt has this token, for callbacks; empty: none has. From any thread.
    std::function<bool(const Token&)> knows_attempt = {};
    // Whether it is being deleted, and takes nothing new; null: it is not. From any thread.
    const std::atomic<bool>* closing = nullptr;
    std::shared_ptr<const void> keep = {};  // Whoever may be told to go while calls are under way.
};

// One namespace, as the handlers on one server's thread see it. Everything here may be used on that
// thread; what is in `RealmParts`, and the store, on any.
struct Services : RealmParts {
    Services(std::shared_ptr<Gate> of_gate, RealmParts parts);

    const std::shared_ptr<Gate> gate;
    Store& store;
    const PartitionReader rows;  // What is stored of this namespace.
    const ApiConfig& config;
    const Home& home;
    const std::function<void(std::move_only_function<void()>)>& post;
    AccessPolicy& access;
    Random& random;
    TextPool texts;
    const std::shared_ptr<ExecutionReads> reads;
    const std::shared_ptr<ExecutionWaits> waits;
};

// Has a call that only the leader can answer answered by it: here, or by passing it on. A lead that
// changes hands is there again in a moment: a call that finds nobody waits for that.
void AskLeader(Call call);

// Passes a call on to the leader; refuses it if nobody leads, or if it was passed on once already.
void PassOn(Call call, const NodeStatus& status, const Forward& forward);
bool CanPassOn(const Call& call, const NodeStatus& status, const Forward& forward);

}  // namespace takt::internal
