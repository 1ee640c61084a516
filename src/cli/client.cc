#include "cli/client.h"

#include <cstdio>

#include "base/json.h"
#include "cli/context.h"
#include "cli/filter_flag.h"
#include "cli/formats.h"
#include "takt/version.h"

namespace takt::internal::cli {

void ClientOptions::Add(CLI::App& command) {
    server_option_ = command.add_option(
        "--server", server, "URL of a scheduler, or several parted by commas, tried in order");
    server_option_->envname("TAKT_SERVER")->capture_default_str()->group("Connection");
    command.add_option("--context", context, "Cluster by its name, see takt context")
        ->envname("TAKT_CONTEXT")
        ->group("Connection");
    command
        .add_option("--namespace", space, "Namespace that it is about [the token's, else default]")
        ->envname("TAKT_NAMESPACE")
        ->check(CLI::Validator(RefuseEmpty, ""))
        ->group("Connection");
    command.add_option("--token", token, "Access token")
        ->envname("TAKT_TOKEN")
        ->group("Connection");
    command.add_option("--ca-file", ca_file, "Certificates to trust, PEM [the system's]")
        ->group("Connection");
    command.add_option("--call-timeout", timeout, "How long one call may take")
        ->capture_default_str()
        ->group("Connection");
    command.add_flag("--json", json, "Print JSON, for scripts")->group("Connection");
    if (formats) RegisterFormats(command, json);
}

void ClientOptions::AddWatch(CLI::App& command) {
    command.add_flag("-w,--watch", watch,
                     "Show it again whenever it has changed; q or ctrl-C ends");
}

bool ClientOptions::server_given() const {
    return server != kDefaultServer || (server_option_ && server_option_->count() > 0);
}

Result<void> Resolve(ClientOptions& options) {
    auto in_context = InContext(options);
    if (!in_context) return std::unexpected(in_context.error());
    options = std::move(*in_context);
    return {};
}

std::vector<std::string> ServersIn(std::string_view given) {
    std::vector<std::string> servers;
    while (!given.empty()) {
        const std::size_t comma = std::min(given.find(','), given.size());
        servers.emplace_back(given.substr(0, comma));
        given.remove_prefix(std::min(comma + 1, given.size()));
    }
    return servers;
}

Result<Client> Client::Open(const ClientOptions& given) {
    ClientOptions options = given;
    if (auto resolved = Resolve(options); !resolved) return std::unexpected(resolved.error());
    RemoteOptions remote{.space = options.space,
                         .token = options.token,
                         .ca_file = options.ca_file,
                         .user_agent = std::string("takt-cli/") + kVersion,
                         .advice = " --server, --context or TAKT_SERVER names another",
                         .token_advice = ": --token or TAKT_TOKEN gives one"};
    remote.servers = ServersIn(options.server);
    const auto timeout = ParseDuration(options.timeout);
    if (!timeout || *timeout <= Duration(0)) {
        return Fail(ErrorCode::kInvalid, "--call-timeout must be a duration such as 30s");
    }
    remote.timeout = *timeout;
    auto opened = Remote::Open(std::move(remote));
    if (opened) return Client(std::move(*opened), *timeout);
    Error error = opened.error();
    if (error.field == "servers") error = {error.code, "--server: " + error.detail, {}};
    return std::unexpected(std::move(error));
}

// A fault within a text begins with its column; of several texts it must say which.
static Error WithItsField(Error error) {
    if (!error.field.empty() && error.detail.starts_with("column ")) {
        error.detail = error.field + ": " + error.detail;
    }
    return error;
}

Result<ClientAnswer> Client::Call(HttpMethod method, const std::string& path, std::string body,
                                  const HttpHeaderList& more) {
    auto answer = remote_.Call(method, path, body, more);
    if (!answer) return std::unexpected(WithItsField(answer.error()));
    ClientAnswer good{.status = answer->status, .body = std::move(answer->body)};
    if (!good.body.empty() && !answer->content_type.starts_with("text/csv")) {
        auto value = ParseJson(good.body,
                               {.bytes_max = kRemoteAnswerBytesMax, .depth_max = kAnswerDepthMax});
        if (!value) return std::unexpected(NotJson(answer->server, value.error()));
        good.value = std::move(*value);
    }
    return good;
}

Result<std::string> Client::GetText(const std::string& path) {
    auto answer = remote_.Call(HttpMethod::kGet, path, {});
    if (!answer) return std::unexpected(answer.error());
    return std::move(answer->body);
}

bool PrintedAsJson(const ClientOptions& options, const ClientAnswer& answer) {
    if (options.json && !answer.body.empty()) std::printf("%s\n", answer.body.c_str());
    return options.json;
}

}  // namespace takt::internal::cli
