#include "api/forward.h"

#include <array>

#include "api/problem.h"

namespace takt::internal {
namespace {

// As long as a change may take at the leader, and some.
constexpr auto kTimeout = std::chrono::seconds(30);
// A page of a thousand executions with large results.
constexpr std::size_t kAnswerBytesMax = 64 << 20;

// What belongs to one connection, or is made anew by whoever sends.
constexpr std::array<std::string_view, 9> kOwnHeaders = {
    "Connection", "Keep-Alive",      "Transfer-Encoding", "Content-Length", "Host",
    "Upgrade",    "Accept-Encoding", "Content-Encoding",  "Expect"};

bool IsOwn(std::string_view name) {
    for (const std::string_view own : kOwnHeaders) {
        if (EqualsIgnoringCase(own, name)) return true;
    }
    return false;
}

HttpCall CallOf(HttpRequest& request, std::string_view address) {
    HttpCall call{.method = request.method,
                  .url = std::string(address) + request.target,
                  .body = std::move(request.body),
                  .timeout = kTimeout,
                  .response_bytes_max = kAnswerBytesMax};
    for (std::size_t i = 0; i < request.headers.size(); ++i) {
        const auto [name, value] = request.headers.at(i);
        // The origin was judged here; to the leader, whose address is another, it would be foreign.
        if (IsOwn(name) || EqualsIgnoringCase(name, "Origin")) continue;
        if (EqualsIgnoringCase(name, "X-Request-Id")) continue;
        call.headers.emplace_back(name, value);
    }
    call.headers.emplace_back("X-Request-Id", request.request_id);
    return call;
}

HttpResponse ResponseOf(HttpAnswer answer) {
    HttpResponse response;
    response.status = answer.status;
    response.body = std::move(answer.body);
    for (std::size_t i = 0; i < answer.headers.size(); ++i) {
        const auto [name, value] = answer.headers.at(i);
        if (EqualsIgnoringCase(name, "Content-Type")) {
            response.content_type = value;
        } else if (!IsOwn(name) && !EqualsIgnoringCase(name, "Date") &&
                   !EqualsIgnoringCase(name, "X-Request-Id")) {
            response.headers.emplace_back(name, value);
        }
    }
    return response;
}

HttpResponse Refusal(const Error& error, std::string_view request_id) {
    Problem problem = ProblemOfAnswer(error);
    problem.status = 503;
    problem.retry_after_seconds = 1;
    // Sent, and no answer: the leader may have done it. The same id or key makes it safe to repeat.
    problem.code = error.code == ErrorCode::kUnknown ? "unknown" : "no_leader";
    problem.detail = "the leader could not be reached: " + error.detail;
    return ProblemResponse(problem, request_id);
}

}  // namespace

Forward ForwardOver(HttpClient& client) {
    return [&client](HttpRequest request, std::string_view address, HttpReply reply) {
        std::string request_id = request.request_id;
        HttpCall call = CallOf(request, address);
        client.Send(std::move(call), [reply = std::move(reply), request_id = std::move(request_id)](
                                         Result<HttpAnswer> answer) mutable {
            reply(answer ? ResponseOf(std::move(*answer)) : Refusal(answer.error(), request_id));
        });
    };
}

}  // namespace takt::internal
