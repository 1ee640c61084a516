#include "http/connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "http/gone.h"
#include "http/reply_slot.h"

namespace takt::internal::http {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kBodyBytesPerSecond = 64 << 10;  // Slower than this is not a live client.
constexpr std::size_t kInputKept = 4096;               // Of the input buffer, between requests.
// Taken of a client at once: a bulk upload is parsed as it comes, and in the time that this much takes
// (some 0.2 ms) others are not kept waiting.
constexpr std::size_t kReadBytesMax = 16 << 10;

bool IsRequestId(std::string_view text) {
    return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               c == '-' || c == '_' || c == '.' || c == '~';
    });
}

}  // namespace

Connection::Connection(std::shared_ptr<ServerCore> core, std::shared_ptr<Transport> transport,
                       const asio::ip::tcp::endpoint& remote, asio::ip::address address_key)
    : core_(std::move(core)),
      transport_(std::move(transport)),
      address_key_(std::move(address_key)),
      remote_address_(remote.address().to_string()),
      remote_port_(remote.port()),
      wake_(core_->io(), asio::steady_timer::time_point::max()) {
    Enter(Phase::kHandshake, core_->options().head_timeout);
}

Connection::~Connection() {
    core_->ReleaseBody(body_held_, verdict_.stranger);
    core_->Remove(this, address_key_);
}

void Connection::Enter(Phase phase, Duration timeout) {
    phase_ = phase;
    expired_ = false;
    deadline_ = SteadyClock::now() + timeout;
}

void Connection::Tick(Steady now) {
    if (phase_ == Phase::kWebSocket) return;  // Has its own timer.
    if (phase_ == Phase::kStream) {
        if (!stream_->Tick(now, core_->options().write_timeout)) return Abort();
        if (stream_->closing()) EnterLinger();
        return;
    }
    if (now < deadline_ || expired_) return;
    expired_ = true;
    if (phase_ == Phase::kReply) {
        core_->Log(HttpLogLevel::kError,
                   fmt::format("request {} was not answered in time", current_.request_id));
        Refuse(503, "the request was not answered in time");
        ++sequence_;  // The late answer belongs to nobody.
        Wake();
    } else {
        transport_->Cancel();
    }
}

void Connection::Drain() {
    // Nothing was asked yet; a request that is under way to us is refused by the closed port.
    if (phase_ == Phase::kIdle || (phase_ == Phase::kHead && in_.empty())) {
        Abort();
    } else if (phase_ == Phase::kStream) {
        stream_->Close();
    } else if (phase_ == Phase::kWebSocket) {
        websocket_->Close(WebSocketCode::kGoingAway, "server is stopping");
    }
}

void Connection::Abort() {
    aborted_ = true;
    if (stream_) stream_->Abandon();
    if (websocket_) websocket_->Abort();
    transport_->Close();
    wake_.cancel();
}

void Connection::Refuse(int status, std::string_view reason) {
    response_ = core_->RefusalOf(status, reason);
    close_ = linger_ = true;
}

asio::awaitable<void> Connection::Run(std::shared_ptr<Connection> self) {
    bool open = co_await Handshake();
    while (open && !aborted_ && !closing()) {
        BeginRequest();
        // The quick way: everything is here already, nothing is waited for.
        if (!(TakeHead() && (response_ || (AcceptHead(), response_ || TakeBody())))) {
            if (!co_await ReadRequest()) break;
        }
        Enter(Phase::kReply, core_->options().reply_timeout);
        if (!MayDispatch()) co_await AwaitTurn();
        if (!response_ && !aborted_) Dispatch();
        if (!response_) co_await AwaitReply();
        if (aborted_ || !response_) break;
        open = co_await Answer();
    }
    if (!aborted_ && linger_) co_await Linger();
    transport_->ShutdownWrite();
    transport_->Close();
}

asio::awaitable<bool> Connection::Handshake() {
    while (transport_->is_tls()) {
        const IoResult result = transport_->TryHandshake();
        if (result.state == IoState::kDone) break;
        if (result.state == IoState::kClosed || result.state == IoState::kFailed) {
            if (transport_->met_plain_http()) transport_->RefusePlainHttp();
            co_return false;
        }
        const auto [error] = co_await transport_->Wait(result.state);
        // A wait that had ended already is not cancelled by what came since.
        if (error || expired_ || aborted_) co_return false;
    }
    Enter(Phase::kHead, core_->options().head_timeout);
    co_return true;
}

void Connection::BeginRequest() {
    if (in_used_ > 0) {
        in_.erase(0, in_used_);
        in_used_ = 0;
    }
    if (in_.empty() && in_.capacity() > kInputKept) in_ = std::string();
    scanner_ = HeadScanner();
    body_bytes_ = 0;
    verdict_ = HttpHeadVerdict{core_->options().body_bytes_max, {}, false, false};
    exchange_.reset();
    current_ = Current();
    response_.reset();
    // The first request's time runs from the accept.
    if (phase_ == Phase::kHead) return;
    if (in_.empty()) {
        Enter(Phase::kIdle, core_->options().idle_timeout);
    } else {
        Enter(Phase::kHead, core_->options().head_timeout);
    }
}

bool Connection::TakeHead() {
    // Some clients send an empty line after a body; the RFC asks to overlook it.
    if (in_used_ == 0) {
        while (std::string_view(in_).substr(in_used_).starts_with("\r\n")) in_used_ += 2;
        if (in_used_ > 0) {
            in_.erase(0, std::exchange(in_used_, 0));
            scanner_ = HeadScanner();
        }
    }
    const std::size_t size = scanner_.Find(in_);
    const std::size_t bytes_max = core_->options().head.bytes_max;
    if (size == HeadScanner::npos) {
        Refuse(400, "head is malformed");
        return true;
    }
    if (size > bytes_max || (size == 0 && in_.size() > bytes_max)) {
        Refuse(431, "request head is too large");
        return true;
    }
    if (size == 0) return false;
    core_->CountRequest();
    request_ = HttpRequest();
    request_.headers.Reserve(size, 12);
    parser_.emplace(core_->options().head, request_);
    const bool good = parser_->ParseHead(std::string_view(in_).substr(0, size));
    in_used_ = size;
    RememberHead();
    if (!good) Refuse(parser_->refusal(), parser_->reason());
    return true;
}

// Also of a refused head: what was read of it serves the answer and the log.
void Connection::RememberHead() {
    current_.method = request_.method;
    current_.http_1_0 = request_.http_1_0;
    current_.began = SteadyClock::now();
    if (core_->options().access_log) current_.target = request_.target;
    const auto id = request_.headers.Find("X-Request-Id");
    current_.request_id = id && IsRequestId(*id) ? std::string(*id) : core_->NewRequestId();
    const auto encoding = request_.headers.Find("Accept-Encoding");
    current_.accepts_gzip = encoding && AcceptsGzip(*encoding);
    const auto connection = request_.headers.Find("Connection");
    close_ = request_.http_1_0 ? !(connection && ListHasToken(*connection, "keep-alive"))
                               : connection && ListHasToken(*connection, "close");
    if (connection && ListHasToken(*connection, "upgrade")) RememberHandshake();
    request_.request_id = current_.request_id;
    request_.remote_address = remote_address_;
    request_.remote_port = remote_port_;
    request_.tls = transport_->is_tls();
}

void Connection::RememberHandshake() {
    const auto upgrade = request_.headers.Find("Upgrade");
    const auto key = request_.headers.Find("Sec-WebSocket-Key");
    if (!upgrade || !ListHasToken(*upgrade, "websocket") || request_.http_1_0 ||
        request_.method != HttpMethod::kGet) {
        return;
    }
    current_.websocket_version_wrong =
        request_.headers.Find("Sec-WebSocket-Version").value_or("") != "13";
    // 16 bytes as base 64.
    if (key && key->size() == 24 && key->ends_with("==")) current_.websocket_key = *key;
}

// The head is fine: asks the handler what it thinks of it before any of the body is kept.
void Connection::AcceptHead() {
    try {
        exchange_ = core_->handler().OnHead(request_, verdict_);
    } catch (const std::exception& error) {
        return OnHandlerThrew(error);
    }
    if (verdict_.watch) request_.gone = current_.gone = std::make_shared<HttpGone>();
    if (verdict_.refusal) {
        response_ = std::move(*verdict_.refusal);
        // A body that was announced would be taken for the next request.
        if (!parser_->is_done() && parser_->content_length().value_or(1) > 0) {
            close_ = linger_ = true;
        }
        return;
    }
    const auto expect = request_.headers.Find("Expect");
    if (expect && !EqualsIgnoringCase(*expect, "100-continue")) {
        return Refuse(417, "only 100-continue is understood");
    }
    if (!CheckBodyLength()) return;
    if (parser_->is_done()) return;
    parser_->set_piece([this](std::string_view piece) { return OnBodyPiece(piece); });
    Enter(Phase::kBody, core_->options().body_timeout);
}

bool Connection::CheckBodyLength() {
    const auto length = parser_->content_length();
    if (!length || *length <= verdict_.body_bytes_max) return true;
    Refuse(413, fmt::format("body is larger than {} bytes", verdict_.body_bytes_max));
    return false;
}

bool Connection::WantsContinue() const {
    return in_used_ == in_.size() && !current_.http_1_0 && request_.headers.Find("Expect");
}

bool Connection::OnBodyPiece(std::string_view piece) {
    body_bytes_ += piece.size();
    if (body_bytes_ > verdict_.body_bytes_max) {
        Refuse(413, fmt::format("body is larger than {} bytes", verdict_.body_bytes_max));
        return false;
    }
    deadline_ += std::chrono::microseconds(piece.size() * 1'000'000 / kBodyBytesPerSecond);
    if (exchange_ && exchange_->reads_body()) return exchange_->OnBody(piece);
    if (!core_->HoldBody(piece.size(), verdict_.stranger)) {
        Refuse(503, "too many request bodies at once");
        return false;
    }
    body_held_ += piece.size();
    request_.body.append(piece);
    return true;
}

bool Connection::TakeBody() {
    if (parser_->is_done()) return true;
    if (in_used_ < in_.size()) {
        in_used_ += parser_->ParseBody(std::string_view(in_).substr(in_used_));
        if (response_) return true;
        if (parser_->refusal() != 0) {
            Refuse(parser_->refusal(), parser_->reason());
        } else if (parser_->body_refused()) {
            close_ = linger_ = true;  // The sink has heard enough; the handler answers.
            return true;
        } else if (in_.size() - in_used_ > core_->options().head.bytes_max) {
            // The rest that the parser leaves is a chunk header or trailers without an end.
            Refuse(400, "chunk header is too long");
        }
    }
    return response_ || parser_->is_done();
}

// Waits for bytes and takes them in. False: nothing will come.
asio::awaitable<bool> Connection::Fill() {
    IoState want = transport_->HasBuffered() ? IoState::kDone : IoState::kWantRead;
    for (;;) {
        if (want != IoState::kDone) {
            if (expired_ || aborted_) co_return false;
            const auto [error] = co_await transport_->Wait(want);
            if (error) co_return false;
        }
        const IoResult result = transport_->TryRead(ReadScratch().first(kReadBytesMax));
        if (result.state == IoState::kClosed || result.state == IoState::kFailed) co_return false;
        want = result.state;
        if (want != IoState::kDone) continue;
        if (in_used_ > 0) in_.erase(0, std::exchange(in_used_, 0));
        in_.append(ReadScratch().data(), result.bytes);
        if (phase_ == Phase::kIdle) Enter(Phase::kHead, core_->options().head_timeout);
        co_return true;
    }
}

// The slow way to a whole request. False: the client is gone, or was idle for too long.
asio::awaitable<bool> Connection::ReadRequest() {
    while (phase_ != Phase::kBody && !response_) {
        if (!co_await Fill()) {
            if (!expired_ || in_.empty()) co_return false;
            Refuse(408, "request head did not arrive in time");
            break;
        }
        if (TakeHead()) {
            if (!response_) AcceptHead();
            break;
        }
    }
    while (!response_ && !TakeBody()) {
        if (WantsContinue() && !std::exchange(current_.continued, true)) {
            std::string proceed = "HTTP/1.1 100 Continue\r\n\r\n";
            if (!WriteNow(proceed, {}) && !co_await WriteRest()) co_return false;
            Enter(Phase::kBody, core_->options().body_timeout);
        }
        if (!co_await Fill()) {
            if (!expired_) co_return false;
            Refuse(408, "request body did not arrive in time");
        }
    }
    co_return true;
}

// A client that always has the next request ready must not starve the others.
asio::awaitable<void> Connection::AwaitTurn() {
    do {
        co_await wake_.async_wait(asio::as_tuple(asio::use_awaitable));
    } while (!aborted_ && !MayDispatch());
}

void Connection::Dispatch() {
    const Steady began = SteadyClock::now();
    in_handler_ = true;
    try {
        ReplySlot reply(weak_from_this(), core_->io(), sequence_);
        if (exchange_) {
            exchange_->OnEnd(std::move(request_), std::move(reply));
        } else {
            core_->handler().Handle(std::move(request_), std::move(reply));
        }
    } catch (const std::exception& error) {
        OnHandlerThrew(error);
    }
    in_handler_ = false;
    core_->turns().Spend(SteadyClock::now() - began);
}

void Connection::OnHandlerThrew(const std::exception& error) {
    core_->Log(HttpLogLevel::kError,
               fmt::format("handler of request {} threw: {}", current_.request_id, error.what()));
    Refuse(500, "internal error");
}

void Connection::OnReply(std::uint32_t sequence, HttpResponse response) {
    if (sequence != sequence_ || phase_ != Phase::kReply || response_) return;
    response_ = std::move(response);
    if (!in_handler_) Wake();
}

}  // namespace takt::internal::http
