// The part that all commands share which talk to a running scheduler: flags, calls, and errors as
// one sentence.
#pragma once

#include <CLI/CLI.hpp>
#include <boost/json/value.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cli/cli.h"
#include "cli/watch.h"
#include "remote/remote.h"

namespace takt::internal::cli {

constexpr const char* kDefaultServer = "http://127.0.0.1:8080";

// The URLs of a --server: several are parted by commas.
std::vector<std::string> ServersIn(std::string_view given);

struct ClientOptions {
    std::string server = kDefaultServer;  // Several, parted by commas, are tried in order.
    std::string space;                    // The namespace; empty: the token's, else `default`.
    std::string token;
    std::string ca_file;
    std::string timeout = "30s";  // Of one call.
    bool json = false;
    std::string context;    // Named instead of the one in use (context.h).
    bool watch = false;     // Show it again when it has changed.
    bool formats = true;    // Takes -o (formats.h). Set before Add.
    bool resolved = false;  // A context has nothing to add any more.

    // --server, --namespace, --token, --ca-file, --call-timeout, --context, --json and -o, with
    // TAKT_SERVER, TAKT_NAMESPACE, TAKT_TOKEN and TAKT_CONTEXT.
    void Add(CLI::App& command);
    // -w, for commands that show a list or a thing.
    void AddWatch(CLI::App& command);
    // Whether somebody said where the scheduler is.
    bool server_given() const;

  private:
    CLI::Option* server_option_ = nullptr;
};

struct ClientAnswer {
    int status = 0;
    std::string body;          // As the server wrote it, for --json.
    boost::json::value value;  // null for an empty body.
};

// Takes what the options do not say from their context (InContext, context.h), in place, so that
// whoever reads them later finds what the calls were made with. A second time changes nothing.
Result<void> Resolve(ClientOptions& options);

// Not for use from several threads.
class Client {
  public:
    // Resolves a copy of the options first. kInvalid when a URL or the TLS file cannot be used.
    static Result<Client> Open(const ClientOptions& options);

    // As Remote::Call.
    Result<ClientAnswer> Call(HttpMethod method, const std::string& path, std::string body = {},
                              const HttpHeaderList& more = {});
    Result<ClientAnswer> Get(const std::string& path) { return Call(HttpMethod::kGet, path); }
    // An answer that is not JSON.
    Result<std::string> GetText(const std::string& path);
    Result<ClientAnswer> Post(const std::string& path, std::string body = {}) {
        return Call(HttpMethod::kPost, path, std::move(body));
    }

    // As Remote::Stream.
    Result<void> Stream(const std::string& path, const std::string& last_id,
                        const std::shared_ptr<HttpAnswerSink>& sink) {
        return remote_.Stream(path, last_id, sink);
    }

    // Of one call.
    Duration timeout() const { return timeout_; }

  private:
    Client(Remote remote, Duration timeout) : remote_(std::move(remote)), timeout_(timeout) {}
    Remote remote_;
    Duration timeout_;
};

// Prints the answer as the server wrote it, if --json asks for that; else somebody has to show it.
bool PrintedAsJson(const ClientOptions& options, const ClientAnswer& answer);

// Resolves the options and runs a command's body with an open client; prints its error and gives the
// exit code. With -w again and again.
template <typename Body>
int WithClient(ClientOptions& options, Body body) {
    const auto resolved = Resolve(options);
    auto client = resolved ? Client::Open(options) : std::unexpected(resolved.error());
    if (!client) {
        PrintError(client.error());
        return ExitOf(client.error());
    }
    if (options.watch) return WatchOutput([&]() -> Result<int> { return body(*client); });
    const Result<int> ended = body(*client);
    if (ended) return *ended;
    PrintError(ended.error());
    return ExitOf(ended.error());
}

// `error` as it is, or, if it says that there is no execution (or no recurring task) of this id and
// there is a thing of the other kind, with a hint at what to do with that.
Error HintAtTask(Client& client, const std::string& id, Error error);
Error HintAtExecution(Client& client, const std::string& id, Error error);

}  // namespace takt::internal::cli
