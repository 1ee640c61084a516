#include "remote/server_round.h"

namespace takt::internal {

Error RefusedBy(const RemoteOptions& options, std::string_view server, int status,
                std::string_view body) {
    Error error = RefusalOf(server, status, body);
    if (status != 401) return error;
    // The scheduler speaks to programs that write their headers themselves.
    if (options.token.empty()) error.detail = std::string(server) + " wants an access token";
    error.detail += options.token_advice;
    return error;
}

ServerRound::ServerRound(const RemoteOptions& options, RemoteQuestion question, std::size_t first)
    : options_(&options), question_(std::move(question)), first_(first) {
    HttpHeaderList& headers = question_.headers;
    headers.emplace_back("Accept", "application/json");
    if (!options.token.empty()) headers.emplace_back("Authorization", "Bearer " + options.token);
    if (!question_.body.empty()) headers.emplace_back("Content-Type", "application/json");
}

HttpCall ServerRound::NextCall() const {
    return {.method = question_.method,
            .url = options_->servers[server()] + PathInSpace(options_->space, question_.path),
            .headers = question_.headers,
            .body = question_.body,
            .timeout = question_.timeout > Duration(0) ? question_.timeout : options_->timeout,
            .response_bytes_max = kRemoteAnswerBytesMax};
}

std::optional<Result<RemoteAnswer>> ServerRound::Take(Result<HttpAnswer> answer) {
    const std::string& server = options_->servers[this->server()];
    if (answer && answer->status >= 200 && answer->status <= 299) {
        std::string type(answer->headers.Find("Content-Type").value_or(""));
        return RemoteAnswer{answer->status, std::move(answer->body), server, std::move(type)};
    }
    Error error =
        answer ? RefusedBy(*options_, server, answer->status, answer->body) : answer.error();
    if (!answer && error.code == ErrorCode::kUnavailable) {
        error.detail = "cannot reach " + server + " (" + error.detail +
                       "): is 'takt serve' running there?" + options_->advice;
    }
    // A caller that only asks may ask another, whatever went wrong here: also one that hangs.
    const bool asks = question_.method == HttpMethod::kGet || question_.method == HttpMethod::kHead;
    if (asks && error.code == ErrorCode::kUnknown) error.code = ErrorCode::kUnavailable;
    // Another one may already know the new leader; nothing was done here.
    if (error.code != ErrorCode::kUnavailable || asked_ + 1 == options_->servers.size()) {
        return std::unexpected(std::move(error));
    }
    ++asked_;
    return std::nullopt;
}

}  // namespace takt::internal
