// What the commands that talk to a running scheduler share: flags, calls, and errors as one
// sentence.
#pragma once

#include <CLI/CLI.hpp>
#include <boost/json/value.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "cli/cli.h"
#include "http/client.h"

namespace takt::internal::cli {

struct ClientOptions {
    std::string server = "http://127.0.0.1:8080";  // Several, parted by commas, are tried in order.
    std::string token;
    std::string ca_file;
    std::string timeout = "30s";  // Of one call.
    bool json = false;

    // --server, --token, --ca-file, --call-timeout and --json, with TAKT_SERVER and TAKT_TOKEN.
    void Add(CLI::App& command);
};

// A name of the query and its value; those with an empty value are left out.
using Query = std::vector<std::pair<std::string_view, std::string>>;
std::string WithQuery(std::string path, const Query& query);

struct ClientAnswer {
    int status = 0;
    std::string body;          // As the server wrote it, for --json.
    boost::json::value value;  // null for an empty body.
};

// Not for use from several threads.
class Client {
  public:
    // kInvalid when a URL or the TLS file cannot be used.
    static Result<Client> Open(const ClientOptions& options);

    // kUnavailable when no server could be reached; kUnknown when one was, and did not answer: it
    // may have done what was asked. A refusal has the server's own sentence; those for want of a
    // right are kInvalid, because another token is needed.
    Result<ClientAnswer> Call(HttpMethod method, const std::string& path, std::string body = {});
    Result<ClientAnswer> Get(const std::string& path) { return Call(HttpMethod::kGet, path); }
    Result<ClientAnswer> Post(const std::string& path, std::string body = {}) {
        return Call(HttpMethod::kPost, path, std::move(body));
    }

  private:
    Client() = default;
    std::vector<std::string> servers_;
    std::string token_;
    Duration timeout_{30'000};
    std::unique_ptr<BlockingHttpClient> http_;
};

// "/api/v1/executions/" and an id as a person typed it, escaped.
std::string PathOf(std::string_view collection, std::string_view id, std::string_view action = {});

// Runs a command's body with an open client; prints its error and gives the exit code.
template <typename Body>
int WithClient(const ClientOptions& options, Body body) {
    auto client = Client::Open(options);
    if (!client) {
        PrintError(client.error());
        return ExitOf(client.error());
    }
    const Result<int> ended = body(*client);
    if (ended) return *ended;
    PrintError(ended.error());
    return ExitOf(ended.error());
}

}  // namespace takt::internal::cli
