// Remote: calls the REST API of schedulers in other processes, and says in one sentence what went
// wrong. What the command line and the C++ client share.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "http/client.h"

namespace takt::internal {

struct RemoteOptions {
    std::vector<std::string> servers;  // Tried in order, beginning with the one that answered last.
    std::string space;                 // The namespace; empty: the token's, else `default`.
    std::string token;
    std::string ca_file;
    std::string user_agent;
    Duration timeout{30'000};  // Of one call to one server.
    std::string advice;        // Behind the sentence that says that a server cannot be reached.
    std::string token_advice;  // Behind the one that says that a token is missing or wrong.
};

struct RemoteAnswer {
    int status = 0;  // 2xx.
    std::string body;
    std::string server;  // The one that answered.
    std::string content_type;
};

// One question, wherever it is asked.
struct RemoteQuestion {
    HttpMethod method = HttpMethod::kGet;
    std::string path;
    std::string body = {};
    HttpHeaderList headers = {};  // Beside those that every question has.
    Duration timeout{0};          // Of one call to one server; 0: as the options say.
    bool waits = false;           // At the server, for something to happen.
};

// Takes empty names out. kInvalid when no server is left, or a URL cannot be used.
Result<void> CheckServers(RemoteOptions& options);

// Calls from several threads take turns.
class Remote {
  public:
    // kInvalid when there is no server, or a URL or the TLS file cannot be used.
    static Result<Remote> Open(RemoteOptions options);

    // kUnavailable when no server could be reached, or none could do it now; kUnknown when one was
    // reached, and did not answer, or not with a scheduler's word that nothing was done: it may
    // have done what was asked, and nobody else is asked. A question that changes nothing is asked
    // elsewhere then, and is at last kUnavailable. A refusal is RefusalOf. `more` are headers beside
    // those that every call has.
    Result<RemoteAnswer> Call(HttpMethod method, const std::string& path, const std::string& body,
                              const HttpHeaderList& more = {});

    // Reads an answer without an end piece by piece, until the server or `sink` ends it. `last_id`
    // is that of the last event seen, or empty. Errors as Call; kUnknown also for a connection that
    // broke.
    Result<void> Stream(const std::string& path, const std::string& last_id,
                        const std::shared_ptr<HttpAnswerSink>& sink);

  private:
    Remote() = default;

    RemoteOptions options_;
    // The server that answered last.
    std::unique_ptr<std::atomic<std::size_t>> first_ =
        std::make_unique<std::atomic<std::size_t>>(0);
    std::unique_ptr<BlockingHttpClient> http_;
};

// The error that an answer other than 2xx is, in the server's own words if it has some. Those for
// want of a right are kInvalid, because another token is needed. kUnavailable only if the scheduler
// says so itself; any other answer of 500 and more is kUnknown.
Error RefusalOf(std::string_view server, int status, std::string_view body);

// The complaint about an answer that should have been JSON.
Error NotJson(std::string_view server, const Error& why);

// A page of 1000 executions with results; beyond it a smaller limit helps.
constexpr std::size_t kRemoteAnswerBytesMax = 64 << 20;

// The address in a namespace, if one is given and there is such an address: what is the cluster's own
// stays as it is.
std::string PathInSpace(std::string_view space, const std::string& path);

// A name of the query and its value; those with an empty value are left out.
using Query = std::vector<std::pair<std::string_view, std::string>>;
std::string WithQuery(std::string path, const Query& query);

// "/api/v1/executions/" and an id as a person typed it, escaped.
std::string PathOf(std::string_view collection, std::string_view id, std::string_view action = {});

}  // namespace takt::internal
