#include "api/forward.h"

#include <array>
#include <memory>

#include "api/problem.h"
#include "http/event_stream.h"

namespace takt::internal {
namespace {

// As long as a change may take at the leader, and some.
constexpr auto kTimeout = std::chrono::seconds(30);
// A page of a thousand executions with large results.
constexpr std::size_t kAnswerBytesMax = 64 << 20;

// Headers that belong to one connection, or are made anew by the sender.
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
                  // Not the target as it came: in absolute form it names this node.
                  .url = std::string(address) + request.raw_path +
                         (request.raw_query.empty() ? "" : "?" + request.raw_query),
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

HttpResponse RefusalOf(const Error& error, std::string_view request_id) {
    Problem problem = ProblemOfAnswer(error);
    problem.status = 503;
    problem.retry_after_seconds = 1;
    // Sent, and no answer: the leader may have done it. The same id or key makes it safe to repeat.
    problem.code = error.code == ErrorCode::kUnknown ? "unknown" : "no_leader";
    problem.detail = "the leader could not be reached: " + error.detail;
    return ProblemResponse(problem, request_id);
}

// Streams say something every quarter of a minute, if only that they are there.
constexpr auto kSilenceMax = std::chrono::seconds(60);
constexpr std::size_t kStreamBufferBytes = 4 << 20;

// One stream on its way from the leader to a client. On the server's thread.
class Passage final : public HttpAnswerSink, public std::enable_shared_from_this<Passage> {
  public:
    Passage(HttpReply reply, std::string request_id)
        : reply_(std::move(reply)), request_id_(std::move(request_id)) {}

    bool OnHead(const HttpAnswer& head) override {
        const std::string_view type = head.headers.Find("Content-Type").value_or("");
        if (head.status != 200 || !type.starts_with("text/event-stream")) {
            answer_ = head;
            return true;
        }
        streams_ = true;
        HttpResponse response;
        response.event_stream = std::make_shared<EventStreamOptions>();
        response.event_stream->buffer_bytes_max = kStreamBufferBytes;
        // The leader's own signs of life come through; one of ours might cut an event in two.
        response.event_stream->heartbeat = std::chrono::hours(24);
        response.event_stream->on_open = [self = shared_from_this()](auto stream) {
            self->Open(std::move(stream));
        };
        response.event_stream->on_close = [self = shared_from_this()] {
            self->closed_ = true;
            self->stream_.reset();
        };
        std::exchange(reply_, nullptr)(std::move(response));
        return true;
    }

    bool OnPiece(std::string_view piece) override {
        if (closed_) return false;
        if (streams_ && stream_) return stream_->WriteFormatted(piece);
        std::string& kept = streams_ ? early_ : answer_.body;
        if (kept.size() + piece.size() > (streams_ ? kStreamBufferBytes : kAnswerBytesMax)) {
            return false;
        }
        kept.append(piece);
        return true;
    }

    void Ended(const Result<HttpAnswer>& ended) {
        if (!streams_) {
            return std::exchange(reply_, nullptr)(ended ? ResponseOf(std::move(answer_))
                                                        : RefusalOf(ended.error(), request_id_));
        }
        over_ = true;
        if (stream_) stream_->Close();
    }

  private:
    void Open(std::shared_ptr<EventStream> stream) {
        stream_ = std::move(stream);
        if (!early_.empty()) stream_->WriteFormatted(std::exchange(early_, {}));
        if (over_) stream_->Close();
    }

    HttpReply reply_;
    const std::string request_id_;
    HttpAnswer answer_;  // If it is no stream.
    bool streams_ = false;
    bool closed_ = false;  // By the client.
    bool over_ = false;    // At the leader's.
    std::string early_;    // What came before the client was ready.
    std::shared_ptr<EventStream> stream_;
};

}  // namespace

Forward ForwardOver(HttpClient& client, std::shared_ptr<LeaderReach> reach) {
    return [&client, reach = std::move(reach)](HttpRequest request, std::string_view address,
                                               HttpReply reply) {
        std::string request_id = request.request_id;
        HttpCall call = CallOf(request, address);
        call.gone = std::move(request.gone);
        client.Send(std::move(call),
                    [reply = std::move(reply), request_id = std::move(request_id), reach,
                     address = std::string(address)](Result<HttpAnswer> answer) mutable {
                        if (!answer) {
                            reach->NoteFailure(address, answer.error(), SteadyClock::now());
                            return reply(RefusalOf(answer.error(), request_id));
                        }
                        reach->NoteAnswer(address);
                        reply(ResponseOf(std::move(*answer)));
                    });
    };
}

Forward StreamOver(HttpClient& client) {
    return [&client](HttpRequest request, std::string_view address, HttpReply reply) {
        auto passage = std::make_shared<Passage>(std::move(reply), request.request_id);
        HttpCall call = CallOf(request, address);
        call.timeout = kSilenceMax;
        call.sink = passage;
        call.gone = std::move(request.gone);
        client.Send(std::move(call),
                    [passage](Result<HttpAnswer> ended) { passage->Ended(ended); });
    };
}

}  // namespace takt::internal
