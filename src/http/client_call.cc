#include "http/client_call.h"

#include <fmt/format.h>

#include <boost/asio/post.hpp>
#include <utility>

#include "http/gone.h"
#include "http/outbox.h"

namespace takt::internal::http {
namespace {

namespace asio = boost::asio;

constexpr int kInterimMax = 8;  // 100, 103 …; a server that sends more is not answering.

// These belong to the connection, not to the caller.
bool IsReserved(std::string_view name) {
    return EqualsIgnoringCase(name, "Host") || EqualsIgnoringCase(name, "Content-Length") ||
           EqualsIgnoringCase(name, "Transfer-Encoding") || EqualsIgnoringCase(name, "Connection");
}

bool IsPeerAllowed(Transport& transport, const std::function<bool(const IpAddress&)>& allow) {
    boost::system::error_code gone;
    const auto peer = transport.socket().remote_endpoint(gone);
    return !gone && allow(ToIpAddress(peer.address()));
}

}  // namespace

Result<std::string> FormatRequestHead(HttpMethod method, const Url& url,
                                      const HttpHeaderList& headers, std::string_view user_agent) {
    std::string head = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: {}\r\n", Name(method),
                                   url.target, url.Authority(), user_agent);
    for (const auto& [name, value] : headers) {
        if (!IsHttpHeaderName(name) || !IsHttpHeaderValue(value) || IsReserved(name)) {
            return internal::Fail(ErrorCode::kInvalid,
                                  fmt::format("header '{}' must not be sent", name), "headers");
        }
        head.append(name).append(": ").append(value).append("\r\n");
    }
    return head;
}

ClientCall::ClientCall(std::shared_ptr<ClientCore> core, HttpCall call, Url url, std::string head,
                       HttpDone done)
    : core_(std::move(core)),
      call_(std::move(call)),
      url_(std::move(url)),
      origin_(url_.Origin()),
      head_(std::move(head)),
      done_(std::move(done)),
      deadline_(core_->io()) {
    const bool may_have_body =
        call_.method != HttpMethod::kGet && call_.method != HttpMethod::kHead;
    if (may_have_body || !call_.body.empty()) {
        head_ += fmt::format("Content-Length: {}\r\n", call_.body.size());
    }
    head_ += "\r\n";
}

void ClientCall::ArmDeadline() {
    if (call_.gone) {
        call_.gone->Then([self = weak_from_this(), &io = core_->io()] {
            boost::asio::post(io, [self] {
                if (const auto call = self.lock()) {
                    call->Fail(ErrorCode::kCancelled, "nobody waits for the answer any more");
                }
            });
        });
    }
    deadline_.expires_after(call_.timeout);
    deadline_.async_wait([self = weak_from_this()](const boost::system::error_code& error) {
        if (error) return;
        if (const auto call = self.lock()) call->OnDeadline();
    });
}

void ClientCall::OnDeadline() {
    Fail(sent_ ? ErrorCode::kUnknown : ErrorCode::kUnavailable,
         fmt::format("{} did not answer within {}", origin_,
                     FormatDuration(std::chrono::duration_cast<Duration>(call_.timeout))),
         "timeout");
}

void ClientCall::Fail(ErrorCode code, std::string detail, std::string field) {
    if (over_) return;
    const auto self = shared_from_this();
    const bool waiting = !running_;
    if (call_.status_only && answer_.status >= 200 && code != ErrorCode::kCancelled) {
        Finish(std::move(answer_));
    } else {
        Finish(internal::Fail(code, std::move(detail), std::move(field)));
    }
    if (dial_) dial_->Cancel();
    if (transport_) transport_->Close();
    if (waiting) core_->GiveUpWaiting(self, origin_);
}

void ClientCall::Finish(Result<HttpAnswer> result) {
    if (std::exchange(over_, true)) return;
    deadline_.cancel();
    std::exchange(done_, nullptr)(std::move(result));
}

bool ClientCall::IsRepeatable() const {
    return call_.method != HttpMethod::kPost && call_.method != HttpMethod::kPatch;
}

asio::awaitable<void> ClientCall::Run(std::shared_ptr<ClientCall> self) {
    running_ = true;
    // Twice at most: over a pooled connection, which may have died unseen, then over a fresh one.
    for (const bool fresh : {false, true}) {
        if (over_ || !co_await Acquire(fresh)) break;
        const Broken broken = co_await Exchange();
        if (over_ || broken == Broken::kNo) break;
        transport_->Close();
        if (reused_ && broken == Broken::kBeforeAnswer && (IsRepeatable() || !sent_)) continue;
        Fail(sent_ ? ErrorCode::kUnknown : ErrorCode::kUnavailable,
             fmt::format("{} ended the connection without an answer", origin_));
    }
    core_->Finished(self, origin_);
}

// A connection in transport_; false when there is none and the call has failed.
asio::awaitable<bool> ClientCall::Acquire(bool fresh) {
    const auto& allow =
        call_.allow_address ? std::as_const(call_).allow_address : core_->options().allow_address;
    transport_ = fresh ? nullptr : core_->TakeIdle(origin_);
    // The call that dialled it may have been allowed to go where this one is not.
    if (transport_ && allow && !IsPeerAllowed(*transport_, allow)) {
        transport_->Close();
        transport_.reset();
    }
    reused_ = transport_ != nullptr;
    if (reused_) co_return true;
    dial_ = std::make_shared<Dial>(core_->io(), core_->names());
    auto connected =
        co_await dial_->Connect(url_, {core_->options().connect_timeout, allow, core_->tls()});
    dial_.reset();
    if (over_) {
        if (connected) (*connected)->Close();
        co_return false;
    }
    if (!connected) {
        // The first try over a pooled connection may have had its effect.
        if (sent_) connected.error().code = ErrorCode::kUnknown;
        Finish(std::unexpected(connected.error()));
        co_return false;
    }
    transport_ = std::move(*connected);
    co_return true;
}

asio::awaitable<ClientCall::Broken> ClientCall::Exchange() {
    in_.clear();
    scanner_ = HeadScanner();
    parser_.reset();
    answer_ = HttpAnswer();
    if (!co_await WriteRequest() && over_) co_return Broken::kNo;
    // Also after a failed write: a server may refuse with an answer before it has read everything.
    const Broken broken = co_await ReadAnswer();
    if (over_ || broken != Broken::kNo) co_return broken;
    const bool reusable = parser_->is_done() && parser_->keep_alive() && in_.empty();
    Finish(std::move(answer_));
    if (reusable) {
        core_->GiveBack(origin_, std::move(transport_));
    } else {
        transport_->Close();
    }
    co_return Broken::kNo;
}

asio::awaitable<bool> ClientCall::WriteRequest() {
    std::string_view head = head_;
    std::string_view body = call_.body;
    while (!head.empty() || !body.empty()) {
        const IoResult result = transport_->TryWrite(head, body);
        if (result.state == IoState::kDone) {
            sent_ = true;
            const std::size_t of_head = std::min(result.bytes, head.size());
            head.remove_prefix(of_head);
            body.remove_prefix(result.bytes - of_head);
            continue;
        }
        if (result.state == IoState::kClosed || result.state == IoState::kFailed) co_return false;
        const auto [error] = co_await transport_->Wait(result.state);
        if (error || over_) co_return false;
    }
    co_return true;
}

// kDone, kClosed or kFailed.
asio::awaitable<IoState> ClientCall::ReadSome() {
    for (;;) {
        const IoResult result = transport_->TryRead(ReadScratch());
        if (result.state == IoState::kDone) {
            in_.append(ReadScratch().data(), result.bytes);
            co_return IoState::kDone;
        }
        if (result.state == IoState::kClosed || result.state == IoState::kFailed) {
            co_return result.state;
        }
        const auto [error] = co_await transport_->Wait(result.state);
        if (error || over_) co_return IoState::kFailed;
    }
}

asio::awaitable<ClientCall::Broken> ClientCall::ReadAnswer() {
    bool heard = false;
    for (;;) {
        const IoState state = co_await ReadSome();
        if (over_) co_return Broken::kNo;
        if (state == IoState::kDone) {
            heard = true;
            if (!ParseReceived() || over_) co_return Broken::kNo;
            if (parser_ && parser_->is_done()) co_return Broken::kNo;
            continue;
        }
        // A body without a length ends with the connection, but only with an orderly one.
        if (state == IoState::kClosed && parser_ && parser_->ParseEnd()) co_return Broken::kNo;
        co_return heard ? Broken::kInAnswer : Broken::kBeforeAnswer;
    }
}

// Everything in in_ that can be parsed. False: the call has failed.
bool ClientCall::ParseReceived() {
    const std::size_t head_bytes_max = core_->options().head.bytes_max;
    while (!parser_) {
        if (!TakeHead()) return false;
        if (!parser_) return true;  // More is needed.
        const int status = parser_->status();
        if (status >= 200 || status == 101) break;
        if (++interim_ > kInterimMax) {
            Fail(ErrorCode::kUnknown, origin_ + " sends interim answers without end");
            return false;
        }
        parser_.reset();
        scanner_ = HeadScanner();
        answer_ = HttpAnswer();
    }
    if (call_.sink) {
        if (!std::exchange(head_told_, true)) unwanted_ = !call_.sink->OnHead(answer_);
        ArmDeadline();
    }
    if (!unwanted_ && !parser_->is_done()) in_.erase(0, parser_->ParseBody(in_));
    if (unwanted_) {
        Fail(ErrorCode::kCancelled, "what " + origin_ + " sends is not wanted any more");
    } else if (too_large_) {
        Fail(ErrorCode::kExhausted,
             fmt::format("{} answers with more than {} bytes", origin_, call_.response_bytes_max),
             "response_bytes_max");
    } else if (parser_->refusal() != 0 || (!parser_->is_done() && in_.size() > head_bytes_max)) {
        Fail(ErrorCode::kUnknown, origin_ + " sends a malformed body");
    }
    return !over_;
}

// Parses a head into parser_ when it is complete. False: the call has failed.
bool ClientCall::TakeHead() {
    const HttpHeadLimits& limits = core_->options().head;
    const std::size_t size = scanner_.Find(in_);
    if (size == 0 && in_.size() <= limits.bytes_max) return true;
    bool good = size != HeadScanner::npos && size != 0 && size <= limits.bytes_max;
    if (good) {
        parser_ = std::make_unique<ResponseParser>(limits, answer_.headers,
                                                   call_.method == HttpMethod::kHead);
        parser_->set_piece([this](std::string_view piece) {
            if (call_.sink) {
                unwanted_ = unwanted_ || !call_.sink->OnPiece(piece);
                return !unwanted_;
            }
            too_large_ |= piece.size() > call_.response_bytes_max - answer_.body.size();
            if (!too_large_) answer_.body.append(piece);
            return !too_large_;
        });
        good = parser_->ParseHead(std::string_view(in_).substr(0, size));
        in_.erase(0, size);
        answer_.status = good ? parser_->status() : 0;
        // No need to read what cannot be kept.
        too_large_ = good && !call_.sink && call_.method != HttpMethod::kHead &&
                     parser_->content_length().value_or(0) > call_.response_bytes_max;
    }
    if (!good) Fail(ErrorCode::kUnknown, origin_ + " sends a malformed or too large head");
    return good;
}

}  // namespace takt::internal::http
