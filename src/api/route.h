// Route: one address of the API. The table of all routes is the one place that says what exists,
// who may use it, and how it is described; dispatch, access, OpenAPI and tests come from it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/access.h"
#include "http/message.h"

namespace takt::internal {

class Call;

// Answers a call, now or later. Called on the server's thread.
using RouteHandler = std::function<void(Call call)>;

// Which node can answer.
enum class Where : std::uint8_t {
    kAnyNode,  // From the store, or about this node itself.
    kLeader,   // Changes and live views: other nodes pass the call on.
};

// A parameter of the query, or a header.
struct RouteQuery {
    std::string_view name;
    std::string_view about;
};

// The header of a creation that may be repeated.
constexpr RouteQuery kIdempotencyKey = {
    "Idempotency-Key",
    "1 to 255 bytes of the caller's choice, in place of ids: the same request with the same key is "
    "done once, and answered again."};

// The header of a change that is made only to what was read before.
constexpr RouteQuery kIfMatch = {
    "If-Match", "The ETag of the version that is to be changed; 412 if it is another one by now."};

struct Route {
    HttpMethod method{};
    std::string_view path;  // "/api/v1/tasks/{id}"; a name in braces matches one segment.
    Permission permission{};
    Where where = Where::kAnyNode;
    RouteHandler handler;

    std::string_view tag;
    std::string_view summary;
    std::vector<RouteQuery> query = {};
    std::vector<RouteQuery> headers = {};
    std::string_view takes = {};  // The schema of the body; empty: none.
    bool body_optional = false;
    bool takes_lines = false;     // NDJSON too.
    std::string_view gives = {};  // The schema of the answer; empty: no JSON.
    std::string_view gives_type = "application/json";
    std::string_view gives_text = {};  // The type of the same answer as text, if it can be had so.
    int success = 200;
    // The other status of a success with the same answer; 0: there is none. A PUT that creates is
    // 201, a creation that is repeated 200.
    int also = 0;
    // The daily work of programs, thousands a second: in the audit log only at level debug.
    bool routine = false;
    // Of the cluster as a whole: there is no such address under /api/v1/namespaces/{namespace}.
    bool cluster = false;
    bool waits = false;  // Answers when its caller says; passed on with more patience than others.
    std::string_view waits_by = {};  // It does so only if the query has this; empty: always.
    bool open_query = false;         // Others may add to the query what they like.
    bool repeatable = false;         // A POST that changes nothing more if it comes twice.
    bool opens_session = false;  // A GET after which much can be done, and so written down as well.

    std::size_t body_bytes_max = 0;  // Filled in from ApiConfig.
};

class RouteTable {
  public:
    // REQUIRES: no two routes have the same method and path.
    explicit RouteTable(std::vector<Route> routes);

    struct Match {
        const Route* route = nullptr;  // Null: nothing has this address, or not this method.
        std::vector<std::pair<std::string, std::string>> parameters;
        std::string space;    // The namespace that the address names; empty: it names none.
        std::string allowed;  // If only the method is wrong: those that are right.
    };
    // By the path as received, segment by segment, so that an encoded slash stays inside its
    // segment. Literal segments go before parameters. HEAD finds GET. Each route but the cluster's
    // own is also found under /api/v1/namespaces/{namespace}/…, and under
    // /namespaces/{namespace}/api/v1/…, which /openapi.json names as a server.
    Match Find(HttpMethod method, std::string_view raw_path) const;

    const std::vector<Route>& routes() const { return routes_; }

  private:
    struct Pattern {
        std::size_t route;
        std::vector<std::string_view> segments;
    };
    Match FindPlain(HttpMethod method, std::string_view raw_path, bool in_space) const;

    std::vector<Route> routes_;
    std::vector<std::vector<Pattern>> by_length_;  // By the number of segments.
};

}  // namespace takt::internal
