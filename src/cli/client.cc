#include "cli/client.h"

#include <boost/json/object.hpp>

#include "base/json.h"
#include "http/url.h"
#include "takt/version.h"

namespace takt::internal::cli {
namespace {

// A page of 1000 executions with results; beyond it a smaller --limit helps.
constexpr std::size_t kAnswerBytesMax = 64 << 20;

ErrorCode CodeOf(int status) {
    switch (status) {
        case 404:
            return ErrorCode::kNotFound;
        case 409:
        case 412:
            return ErrorCode::kConflict;
        case 429:
            return ErrorCode::kExhausted;
        default:
            return status < 500 ? ErrorCode::kInvalid : ErrorCode::kUnavailable;
    }
}

std::string MemberText(const boost::json::value& value, std::string_view name) {
    const auto* object = value.if_object();
    const auto* member = object ? object->if_contains(name) : nullptr;
    const auto* text = member ? member->if_string() : nullptr;
    return text ? std::string(*text) : std::string();
}

Error RefusalOf(const std::string& server, const HttpAnswer& answer) {
    Error error{CodeOf(answer.status), {}, {}};
    const auto problem = ParseJson(answer.body);
    if (problem) {
        error.detail = MemberText(*problem, "detail");
        error.field = MemberText(*problem, "field");
        if (MemberText(*problem, "code") == "unknown") error.code = ErrorCode::kUnknown;
    }
    if (error.detail.empty()) {
        error.detail = server + " answered " + std::to_string(answer.status) + " " +
                       std::string(HttpStatusPhrase(answer.status)) + "; is that a Takt scheduler?";
    }
    return error;
}

}  // namespace

void ClientOptions::Add(CLI::App& command) {
    command
        .add_option("--server", server,
                    "URL of a scheduler, or several parted by commas, tried in order")
        ->envname("TAKT_SERVER")
        ->capture_default_str()
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
}

std::string WithQuery(std::string path, const Query& query) {
    char mark = '?';
    for (const auto& [name, value] : query) {
        if (value.empty()) continue;
        path += std::exchange(mark, '&');
        path += std::string(name) + "=" + PercentEncode(value);
    }
    return path;
}

std::string PathOf(std::string_view collection, std::string_view id, std::string_view action) {
    std::string path = "/api/v1/" + std::string(collection) + "/" + PercentEncode(id);
    if (!action.empty()) path += "/" + std::string(action);
    return path;
}

Result<Client> Client::Open(const ClientOptions& options) {
    Client client;
    std::string_view rest = options.server;
    while (!rest.empty()) {
        const std::size_t comma = std::min(rest.find(','), rest.size());
        std::string url(rest.substr(0, comma));
        rest.remove_prefix(std::min(comma + 1, rest.size()));
        while (url.ends_with('/')) url.pop_back();
        if (url.empty()) continue;
        if (auto parsed = ParseUrl(url); !parsed) {
            return Fail(ErrorCode::kInvalid, "--server: " + parsed.error().detail);
        }
        client.servers_.push_back(std::move(url));
    }
    if (client.servers_.empty()) return Fail(ErrorCode::kInvalid, "--server names no URL");
    const auto timeout = ParseDuration(options.timeout);
    if (!timeout || *timeout <= Duration(0)) {
        return Fail(ErrorCode::kInvalid, "--call-timeout must be a duration such as 30s");
    }
    client.timeout_ = *timeout;
    client.token_ = options.token;
    auto http = BlockingHttpClient::Create(
        {.tls = {.ca_file = options.ca_file}, .user_agent = std::string("takt-cli/") + kVersion});
    if (!http) return std::unexpected(http.error());
    client.http_ = std::move(*http);
    return client;
}

Result<ClientAnswer> Client::Call(HttpMethod method, const std::string& path, std::string body) {
    HttpHeaderList headers = {{"Accept", "application/json"}};
    if (!token_.empty()) headers.emplace_back("Authorization", "Bearer " + token_);
    if (!body.empty()) headers.emplace_back("Content-Type", "application/json");
    Error last{ErrorCode::kUnavailable, {}, {}};
    for (const std::string& server : servers_) {
        auto answer = http_->Send({.method = method,
                                   .url = server + path,
                                   .headers = headers,
                                   .body = body,
                                   .timeout = timeout_,
                                   .response_bytes_max = kAnswerBytesMax});
        if (!answer) {
            last = answer.error();
            if (last.code != ErrorCode::kUnavailable) return std::unexpected(last);
            last.detail = "cannot reach " + server + " (" + last.detail +
                          "): is 'takt serve' running there? --server or TAKT_SERVER names another";
            continue;
        }
        if (answer->status < 200 || answer->status > 299) {
            last = RefusalOf(server, *answer);
            // Another one may already know the new leader; nothing was done here.
            if (last.code != ErrorCode::kUnavailable) return std::unexpected(last);
            continue;
        }
        ClientAnswer good{.status = answer->status, .body = std::move(answer->body)};
        const auto type = answer->headers.Find("Content-Type").value_or("");
        if (!good.body.empty() && !type.starts_with("text/csv")) {
            auto value = ParseJson(good.body, {.bytes_max = kAnswerBytesMax});
            if (!value) {
                return Fail(ErrorCode::kUnavailable, server + " did not answer in JSON (" +
                                                         value.error().detail +
                                                         "); is that a Takt scheduler?");
            }
            good.value = std::move(*value);
        }
        return good;
    }
    return std::unexpected(last);
}

}  // namespace takt::internal::cli
