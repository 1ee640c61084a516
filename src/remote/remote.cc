#include "remote/remote.h"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "base/json.h"
#include "base/url.h"
#include "remote/server_round.h"

namespace takt::internal {
namespace {

// `problem` is the code in the body, if it has one. Of all answers of 500 and more only a
// scheduler's own word means that nothing was done: behind a proxy's 502, or a 503 because the
// answer took too long, the task may have been taken.
ErrorCode CodeOf(int status, std::string_view problem) {
    if (status == 503 && (problem == "no_leader" || problem == "unavailable")) {
        return ErrorCode::kUnavailable;
    }
    switch (status) {
        case 404:
            return ErrorCode::kNotFound;
        case 409:
        case 412:
            return ErrorCode::kConflict;
        case 429:
            return ErrorCode::kExhausted;
        default:
            return status < 500 ? ErrorCode::kInvalid : ErrorCode::kUnknown;
    }
}

std::string MemberText(const boost::json::value& value, std::string_view name) {
    const auto* object = value.if_object();
    const auto* member = object ? object->if_contains(name) : nullptr;
    const auto* text = member ? member->if_string() : nullptr;
    return text ? std::string(*text) : std::string();
}

}  // namespace

Error RefusalOf(std::string_view server, int status, std::string_view body) {
    Error error{CodeOf(status, {}), {}, {}};
    const auto problem = ParseJson(body);
    if (problem) {
        error.code = CodeOf(status, MemberText(*problem, "code"));
        error.detail = MemberText(*problem, "detail");
        error.field = MemberText(*problem, "field");
    }
    if (error.detail.empty()) {
        error.detail = std::string(server) + " answered " + std::to_string(status) + " " +
                       std::string(HttpStatusPhrase(status)) + "; is that a Takt scheduler?";
    }
    return error;
}

Error NotJson(std::string_view server, const Error& why) {
    return {ErrorCode::kUnavailable,
            std::string(server) + " did not answer in JSON (" + why.detail +
                "); is that a Takt scheduler?",
            {}};
}

std::string PathInSpace(std::string_view space, const std::string& path) {
    constexpr std::string_view kBase = "/api/v1/";
    if (space.empty() || !path.starts_with(kBase)) return path;
    const std::string_view rest = std::string_view(path).substr(kBase.size());
    for (const std::string_view own : {"namespaces", "tokens", "scheduler/status"}) {
        if (rest.starts_with(own)) return path;
    }
    return std::string(kBase) + "namespaces/" + PercentEncode(space) + "/" + std::string(rest);
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

Result<void> CheckServers(RemoteOptions& options) {
    std::erase_if(options.servers, [](std::string& url) {
        while (url.ends_with('/')) url.pop_back();
        return url.empty();
    });
    if (options.servers.empty()) return Fail(ErrorCode::kInvalid, "no server is named", "servers");
    for (const std::string& url : options.servers) {
        if (auto parsed = ParseUrl(url); !parsed) {
            return Fail(ErrorCode::kInvalid, parsed.error().detail, "servers");
        }
    }
    return {};
}

Result<Remote> Remote::Open(RemoteOptions options) {
    if (auto checked = CheckServers(options); !checked) return std::unexpected(checked.error());
    auto http = BlockingHttpClient::Create(
        {.tls = {.ca_file = options.ca_file}, .user_agent = options.user_agent});
    if (!http) return std::unexpected(http.error());
    Remote remote;
    remote.options_ = std::move(options);
    remote.http_ = std::move(*http);
    return remote;
}

Result<RemoteAnswer> Remote::Call(HttpMethod method, const std::string& path,
                                  const std::string& body, const HttpHeaderList& more) {
    ServerRound round(options_, {.method = method, .path = path, .body = body, .headers = more},
                      *first_);
    std::optional<Result<RemoteAnswer>> taken;
    while (!taken) taken = round.Take(http_->Send(round.NextCall()));
    if (*taken) *first_ = round.server();
    return std::move(*taken);
}

namespace {

// Hands a stream on; a refusal is kept for who asked.
class StreamOrRefusal final : public HttpAnswerSink {
  public:
    explicit StreamOrRefusal(std::shared_ptr<HttpAnswerSink> to) : to_(std::move(to)) {}

    bool OnHead(const HttpAnswer& head) override {
        answer = head;
        return !good() || to_->OnHead(head);
    }
    bool OnPiece(std::string_view piece) override {
        if (good()) return to_->OnPiece(piece);
        answer.body.append(piece);
        return answer.body.size() < kRefusalBytesMax;
    }
    bool good() const { return answer.status >= 200 && answer.status <= 299; }

    HttpAnswer answer;

  private:
    static constexpr std::size_t kRefusalBytesMax = 64 << 10;
    const std::shared_ptr<HttpAnswerSink> to_;
};

// A stream shows a sign of life every quarter of a minute.
constexpr Duration kStreamSilenceMax{60'000};

}  // namespace

Result<void> Remote::Stream(const std::string& path, const std::string& last_id,
                            const std::shared_ptr<HttpAnswerSink>& sink) {
    HttpHeaderList headers = {{"Accept", "text/event-stream"}};
    if (!options_.token.empty()) headers.emplace_back("Authorization", "Bearer " + options_.token);
    if (!last_id.empty()) headers.emplace_back("Last-Event-ID", last_id);
    Error last{ErrorCode::kUnavailable, {}, {}};
    for (const std::string& server : options_.servers) {
        auto reading = std::make_shared<StreamOrRefusal>(sink);
        const auto ended = http_->Send({.url = server + PathInSpace(options_.space, path),
                                        .headers = headers,
                                        .timeout = kStreamSilenceMax,
                                        .sink = reading});
        if (reading->answer.status != 0 && !reading->good()) {
            last = RefusedBy(options_, server, reading->answer.status, reading->answer.body);
            if (last.code == ErrorCode::kUnknown) last.code = ErrorCode::kUnavailable;
        } else if (ended || ended.error().code == ErrorCode::kCancelled) {
            return {};
        } else {
            last = ended.error();
        }
        if (last.code != ErrorCode::kUnavailable) return std::unexpected(last);
    }
    return std::unexpected(last);
}

}  // namespace takt::internal
