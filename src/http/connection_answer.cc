// How a connection answers: plain bodies, event streams, WebSockets, and the way out.
#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "http/connection.h"
#include "http/gone.h"
#include "http/response_head.h"

namespace takt::internal::http {
namespace {

namespace asio = boost::asio;

// Small bodies are copied behind their head: one buffer, one TLS record, one packet.
constexpr std::size_t kJoinedBytesMax = 16 << 10;
// Compressing more than this would hold up every other connection for tens of milliseconds.
constexpr std::size_t kGzipBytesMax = 4 << 20;
// The bytes that a refused client may still send before we stop listening politely.
constexpr std::size_t kLingerBytesMax = 16 << 20;

bool HasNoBody(int status) {
    return status < 200 || status == 204 || status == 304;
}

bool HasHeader(const HttpResponse& response, std::string_view name) {
    return std::any_of(response.headers.begin(), response.headers.end(),
                       [&](const auto& header) { return EqualsIgnoringCase(header.first, name); });
}

}  // namespace

// Wakes whoever waits for an answer or a turn.
void Connection::Wake() {
    wake_.cancel();
    if (phase_ == Phase::kReply && current_.gone) transport_->Cancel();
}

// Whether to look out for the client's end: not if it sends more than its next request's head, which
// has to wait.
bool Connection::Watches() const {
    return current_.gone && in_.size() - in_used_ < core_->options().head.bytes_max;
}

// Something came from a client that waits for its answer: the beginning of its next request, or its
// end. False: it has gone.
bool Connection::HearWhileWaiting() {
    const IoResult result = transport_->TryRead(ReadScratch());
    if (result.state == IoState::kClosed || result.state == IoState::kFailed) return false;
    if (result.state == IoState::kDone) in_.append(ReadScratch().data(), result.bytes);
    return true;
}

asio::awaitable<void> Connection::AwaitReply() {
    while (!response_ && !aborted_) {
        if (!Watches()) {
            co_await wake_.async_wait(asio::as_tuple(asio::use_awaitable));
            continue;
        }
        const auto [error] = co_await transport_->Wait(IoState::kWantRead);
        if (response_ || aborted_) break;
        if (!error && HearWhileWaiting()) continue;
        // The handler that works on it answers nobody.
        ++sequence_;
        aborted_ = true;
        current_.gone->Tell();
    }
}

// The body as it will be sent, compressed when that pays.
std::string_view Connection::PrepareBody(ResponseHead& head) {
    HttpResponse& response = *response_;
    std::string_view body =
        response.static_body.empty() ? std::string_view(response.body) : response.static_body;
    const bool worthwhile = body.size() >= core_->options().gzip_bytes_min &&
                            body.size() <= kGzipBytesMax && IsCompressible(response.content_type) &&
                            !HasHeader(response, "Content-Encoding");
    head.vary_encoding = worthwhile;
    if (worthwhile && current_.accepts_gzip) {
        response.body = core_->gzip().Compress(body);
        response.static_body = {};
        head.content_encoding = "gzip";
        body = response.body;
    }
    head.body_bytes = body.size();
    head.has_length = !HasNoBody(response.status) && response.content_type != "text/event-stream";
    return current_.method == HttpMethod::kHead || HasNoBody(response.status) ? "" : body;
}

// False when the connection is of no more use.
asio::awaitable<bool> Connection::Answer() {
    ++sequence_;
    core_->ReleaseBody(std::exchange(body_held_, 0), verdict_.stranger);
    if (response_->websocket) {
        co_await ServeWebSocket();
        if (websocket_) co_return false;
    }
    if (response_->event_stream && current_.method == HttpMethod::kHead) DropEvents();
    if (response_->event_stream) {
        co_await ServeEvents();
        co_return false;
    }
    Enter(Phase::kWrite, core_->options().write_timeout);
    if (current_.request_id.empty()) current_.request_id = core_->NewRequestId();
    ResponseHead head{.date = core_->date(), .request_id = current_.request_id};
    const std::string_view body = PrepareBody(head);
    if (closing()) {
        head.connection = ConnectionHeader::kClose;
    } else if (current_.http_1_0) {
        head.connection = ConnectionHeader::kKeepAlive;
    }
    std::string& out = core_->head_scratch();
    if (!FormatHead(*response_, head, out)) {
        core_->Log(HttpLogLevel::kError, fmt::format("answer to request {} has headers that must "
                                                     "not be sent; they were left out",
                                                     current_.request_id));
    }
    const int status = response_->status;
    const std::size_t body_bytes = body.size();
    const bool written =
        body_bytes <= kJoinedBytesMax ? WriteNow(out.append(body), {}) : WriteNow(out, body);
    if (!written && !co_await WriteRest()) co_return false;
    LogAccess(status, body_bytes);
    co_return !closing();
}

void Connection::LogAccess(int status, std::size_t body_bytes) {
    if (!core_->options().access_log) return;
    const auto took = current_.began == Steady{} ? SteadyClock::duration::zero()
                                                 : SteadyClock::now() - current_.began;
    core_->options().access_log({.method = current_.method,
                                 .target = current_.target,
                                 .remote_address = remote_address_,
                                 .request_id = current_.request_id,
                                 .status = status,
                                 .body_bytes = body_bytes,
                                 .took = took});
}

// One try, which is nearly always enough. False: WriteRest has to wait for the client. Keeps what
// is left of `head`, which other connections use too.
bool Connection::WriteNow(std::string& head, std::string_view body) {
    const IoResult result = transport_->TryWrite(head, body);
    const std::size_t sent = result.state == IoState::kDone ? result.bytes : 0;
    if (sent == head.size() + body.size()) return true;
    out_.assign(head, std::min(sent, head.size()));
    out_body_ = body.substr(sent - std::min(sent, head.size()));
    return false;
}

asio::awaitable<bool> Connection::WriteRest() {
    std::string head = std::move(out_);
    std::string_view left = head;
    while (!left.empty() || !out_body_.empty()) {
        if (expired_ || aborted_) co_return false;
        const IoResult result = transport_->TryWrite(left, out_body_);
        if (result.state == IoState::kDone) {
            const std::size_t of_head = std::min(result.bytes, left.size());
            left.remove_prefix(of_head);
            out_body_.remove_prefix(result.bytes - of_head);
            Enter(Phase::kWrite, core_->options().write_timeout);
            continue;
        }
        if (result.state == IoState::kClosed || result.state == IoState::kFailed) co_return false;
        const auto [error] = co_await transport_->Wait(result.state);
        if (error) co_return false;
    }
    co_return true;
}

// A client that asks for the head gets the head.
void Connection::DropEvents() {
    const auto options = std::exchange(response_->event_stream, nullptr);
    response_->status = 200;
    response_->content_type = "text/event-stream";
    response_->body.clear();
    options->on_open = nullptr;
    if (auto on_close = std::exchange(options->on_close, nullptr)) on_close();
}

asio::awaitable<void> Connection::ServeEvents() {
    const auto options = std::exchange(response_->event_stream, nullptr);
    Enter(Phase::kWrite, core_->options().write_timeout);
    response_->status = 200;
    response_->content_type = "text/event-stream";
    if (!HasHeader(*response_, "Cache-Control")) {
        response_->headers.emplace_back("Cache-Control", "no-store");
    }
    // nginx would collect events until its buffer is full.
    response_->headers.emplace_back("X-Accel-Buffering", "no");
    std::string head;
    FormatHead(*response_,
               {.date = core_->date(),
                .request_id = current_.request_id,
                .has_length = false,
                .connection = ConnectionHeader::kClose},
               head);
    const bool written = WriteNow(head, {}) || co_await WriteRest();
    LogAccess(200, 0);
    if (written && !aborted_) {
        stream_ = std::make_shared<EventStreamCore>(transport_, options);
        phase_ = Phase::kStream;
        response_.reset();
        in_ = std::string();
        if (options->on_open) options->on_open(stream_);
        if (core_->stopping()) stream_->Close();
        // The client has nothing more to say; reading only tells when it has gone.
        for (std::size_t heard = 0; heard < kLingerBytesMax && !expired_ && !aborted_;) {
            const auto [error] = co_await transport_->Wait(IoState::kWantRead);
            if (error) break;
            const IoResult result = transport_->TryRead(ReadScratch());
            if (result.state == IoState::kClosed || result.state == IoState::kFailed) break;
            heard += result.bytes;
        }
        stream_->Abandon();
    }
    options->on_open = nullptr;
    if (auto on_close = std::exchange(options->on_close, nullptr)) on_close();
}

// Leaves websocket_ empty and a refusal in response_ when the request is no proper handshake.
asio::awaitable<void> Connection::ServeWebSocket() {
    const auto callbacks = std::exchange(response_->websocket, nullptr);
    if (current_.websocket_version_wrong || current_.websocket_key.empty()) {
        const bool version = current_.websocket_version_wrong;
        response_ = core_->RefusalOf(version ? 426 : 400, "a WebSocket handshake is expected");
        if (version) response_->headers.emplace_back("Sec-WebSocket-Version", "13");
        co_return;
    }
    Enter(Phase::kWrite, core_->options().write_timeout);
    response_->status = 101;
    response_->content_type.clear();
    std::string head;
    FormatHead(*response_,
               {.date = core_->date(), .request_id = current_.request_id, .has_length = false},
               head);
    head.resize(head.size() - 2);  // Before the empty line: what FormatHead reserves for us.
    head.append("Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ")
        .append(WebSocketAccept(current_.websocket_key))
        .append("\r\n\r\n");
    websocket_ = std::make_shared<WebSocketCore>(transport_, WebSocketCore::Role::kServer,
                                                 callbacks, remote_address_);
    if (!WriteNow(head, {}) && !co_await WriteRest()) {
        websocket_->Abort();
    }
    LogAccess(101, 0);
    phase_ = Phase::kWebSocket;
    response_.reset();
    parser_.reset();
    std::string received = in_.substr(in_used_);
    in_ = std::string();
    if (core_->stopping()) websocket_->Close(WebSocketCode::kGoingAway, "server is stopping");
    co_await websocket_->Run(std::move(received));
}

// Closing with unread bytes resets the connection, and the client may never see why it was refused.
asio::awaitable<void> Connection::Linger() {
    transport_->ShutdownWrite();
    EnterLinger();
    for (std::size_t heard = 0; heard < kLingerBytesMax && !expired_ && !aborted_;) {
        const IoResult result = transport_->TryRead(ReadScratch());
        heard += result.bytes;
        if (result.state == IoState::kDone) continue;
        if (result.state == IoState::kClosed || result.state == IoState::kFailed) break;
        const auto [error] = co_await transport_->Wait(IoState::kWantRead);
        if (error) break;
    }
}

}  // namespace takt::internal::http
