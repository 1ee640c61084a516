#include "http/websocket_core.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "base/utf8.h"

namespace takt::internal::http {
namespace {

// A session that ended badly still gets its close frame through to a peer that is busy sending; one
// that sends more than this after it is not listening.
constexpr std::size_t kCloseLingerBytesMax = 4 << 20;

// RFC 6455, 7.4: the others stand for what was never on the wire, or for nothing yet.
bool MayBeSent(int code) {
    return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
           (code >= 3000 && code <= 4999);
}

MaskKey NewMask() {
    // Masks keep proxies from taking payload for requests; they must not be predictable.
    thread_local Random random(NewRandomSeed());
    const std::uint64_t bits = random.Next();
    return {static_cast<char>(bits), static_cast<char>(bits >> 8), static_cast<char>(bits >> 16),
            static_cast<char>(bits >> 24)};
}

}  // namespace

WebSocketCore::WebSocketCore(std::shared_ptr<Transport> transport, Role role,
                             std::shared_ptr<WebSocketCallbacks> callbacks,
                             std::string remote_address)
    : transport_(std::move(transport)),
      role_(role),
      callbacks_(std::move(callbacks)),
      remote_address_(std::move(remote_address)),
      outbox_(std::make_shared<Outbox>(transport_, callbacks_->options.queue_bytes_max)),
      reader_(role == Role::kServer, callbacks_->options.message_bytes_max),
      timer_(transport_->socket().get_executor()) {}

std::string WebSocketCore::Masked(FrameKind kind, std::string_view payload) {
    const MaskKey mask = NewMask();
    std::string frame = FrameHeader(kind, payload.size(), mask);
    const std::size_t start = frame.size();
    frame.append(payload);
    ApplyMask(frame.data() + start, payload.size(), mask);
    return frame;
}

bool WebSocketCore::Send(FrameKind kind, std::string_view payload) {
    if (closing_) return false;
    if (role_ == Role::kClient) return outbox_->Append(Masked(kind, payload), {});
    return outbox_->Append(FrameHeader(kind, payload.size(), std::nullopt), payload);
}

bool WebSocketCore::SendControl(FrameKind kind, std::string_view payload) {
    if (role_ == Role::kClient) return outbox_->AppendControl(Masked(kind, payload));
    return outbox_->AppendControl(FrameHeader(kind, payload.size(), std::nullopt).append(payload));
}

void WebSocketCore::Close(WebSocketCode code, std::string_view reason) {
    if (closing_.exchange(true)) return;
    // Sent where answers are read: the peer's echo must not overtake what it is the echo of.
    boost::asio::post(timer_.get_executor(), [self = shared_from_this(), code,
                                              reason = std::string(reason)]() mutable {
        if (self->over_) return;
        self->closed_ = {code, std::move(reason)};
        if (!self->SendClose()) return self->Abort();
        self->close_due_ = SteadyClock::now() + self->callbacks_->options.close_timeout;
        self->ArmTimer();
    });
}

bool WebSocketCore::SendClose() {
    close_sent_ = true;
    return SendControl(FrameKind::kClose, ClosePayload(closed_.code, closed_.reason));
}

void WebSocketCore::Abort() {
    over_ = true;
    timer_.cancel();
    outbox_->Abandon();
    transport_->Close();
}

void WebSocketCore::ArmTimer() {
    // Twice per ping interval is enough to see both its ends; sooner when a close is due.
    SteadyClock::duration wait = callbacks_->options.ping_interval;
    wait = std::min<SteadyClock::duration>(wait, callbacks_->options.write_timeout);
    if (close_due_ != Steady{}) {
        wait = std::clamp<SteadyClock::duration>(close_due_ - SteadyClock::now(),
                                                 std::chrono::milliseconds(1), wait);
    }
    timer_.expires_after(wait);
    timer_.async_wait([self = weak_from_this()](const boost::system::error_code& error) {
        if (error) return;
        if (const auto session = self.lock()) session->OnTimer();
    });
}

void WebSocketCore::OnTimer() {
    if (!transport_->is_open()) return;
    const Steady now = SteadyClock::now();
    if (close_due_ != Steady{} && now >= close_due_) return Abort();
    if (outbox_->StalledFor(now) >= callbacks_->options.write_timeout) {
        closed_.reason = "the peer takes no bytes";
        return Abort();
    }
    if (!over_ && !std::exchange(heard_, false)) {
        if (pinged_) {
            closed_.reason = "the peer does not answer pings";
            return Abort();
        }
        pinged_ = SendControl(FrameKind::kPing, {});
    }
    ArmTimer();
}

boost::asio::awaitable<void> WebSocketCore::Run(std::string received) {
    const auto self = shared_from_this();
    try {
        if (callbacks_->on_open) callbacks_->on_open(self);
        ArmTimer();
        reader_.Append(received);
        received = std::string();
        HandleFrames();
        IoState want = transport_->HasBuffered() ? IoState::kDone : IoState::kWantRead;
        while (!over_) {
            if (want != IoState::kDone) {
                const auto [error] = co_await transport_->Wait(want);
                if (error) break;
            }
            const IoResult result = transport_->TryRead(ReadScratch());
            // Even after bytes: plain sockets are waited for, which saves a read that finds none.
            // What TLS has buffered may be half a record: only a read that gave bytes is followed
            // by another at once, else a peer that stops there would keep the thread for ever.
            want = result.state == IoState::kDone && !transport_->HasBuffered() ? IoState::kWantRead
                                                                                : result.state;
            if (result.state == IoState::kDone) {
                heard_ = true;
                pinged_ = false;
                reader_.Append({ReadScratch().data(), result.bytes});
                HandleFrames();
            } else if (result.state == IoState::kClosed || result.state == IoState::kFailed) {
                break;
            }
        }
    } catch (const std::exception& error) {
        // A callback threw: our own bug, but the session must end in order and the peer be told.
        End(WebSocketCode::kInternal, error.what());
    }
    closing_ = true;
    // Taken out, so that what they hold is released also if the session is kept by somebody.
    auto on_close = std::exchange(callbacks_->on_close, nullptr);
    callbacks_->on_open = nullptr;
    callbacks_->on_message = nullptr;
    if (on_close) on_close(closed_);
    reader_.Drop();
    CountUnfinished(0);
    if (transport_->is_open()) co_await Linger();
    Abort();
}

void WebSocketCore::HandleFrames() {
    while (!over_) {
        const auto frame = reader_.Next();
        if (!frame) break;
        OnFrame(*frame);
    }
    if (!over_ && reader_.error()) End(*reader_.error(), "the peer broke the protocol");
    reader_.Compact();
    CountUnfinished(over_ ? 0 : reader_.buffered());
}

void WebSocketCore::CountUnfinished(std::size_t bytes) {
    UnfinishedBytes* all = callbacks_->options.unfinished.get();
    if (!all || bytes == unfinished_) return;
    if (all->Change(unfinished_, bytes)) {
        unfinished_ = bytes;
    } else {
        End(WebSocketCode::kTryLater, "too many messages are under way; send it later");
        reader_.Drop();
        CountUnfinished(0);
    }
}

void WebSocketCore::OnFrame(const FrameReader::Frame& frame) {
    switch (frame.kind) {
        case FrameKind::kText:
        case FrameKind::kBinary:
            // After our close the peer may still be sending; nobody waits for that any more.
            if (!closing_ && callbacks_->on_message) {
                callbacks_->on_message({frame.kind == FrameKind::kText, frame.payload});
            }
            break;
        case FrameKind::kPing:
            // Refused only when the peer floods us with pings and reads nothing.
            if (!closing_ && !SendControl(FrameKind::kPong, frame.payload)) Abort();
            break;
        case FrameKind::kClose:
            OnCloseFrame(frame.payload);
            break;
        case FrameKind::kPong:
        case FrameKind::kContinuation:
            break;
    }
}

void WebSocketCore::OnCloseFrame(std::string_view payload) {
    if (payload.size() == 1 || (payload.size() > 2 && !IsValidUtf8(payload.substr(2)))) {
        return End(WebSocketCode::kProtocolError, "malformed close frame");
    }
    auto code = WebSocketCode::kNormal;
    if (payload.size() >= 2) {
        const int number =
            static_cast<unsigned char>(payload[0]) << 8 | static_cast<unsigned char>(payload[1]);
        if (!MayBeSent(number)) return End(WebSocketCode::kProtocolError, "wrong close code");
        code = static_cast<WebSocketCode>(number);
        payload.remove_prefix(2);
    }
    // Ours came first: this is only its echo, and closed_ says why we closed.
    if (close_sent_) {
        over_ = true;
        return outbox_->Finish();
    }
    End(code, std::string(payload));
}

void WebSocketCore::End(WebSocketCode code, std::string reason) {
    if (over_) return;
    over_ = true;
    closed_ = {code, std::move(reason)};
    closing_ = true;
    if (!close_sent_) SendClose();
    outbox_->Finish();
}

// Closing with unread bytes would reset the connection and could take our close frame with it.
boost::asio::awaitable<void> WebSocketCore::Linger() {
    outbox_->Finish();
    close_due_ = SteadyClock::now() + callbacks_->options.close_timeout;
    ArmTimer();
    std::size_t discarded = 0;
    while (discarded < kCloseLingerBytesMax) {
        const IoResult result = transport_->TryRead(ReadScratch());
        if (result.state == IoState::kDone) {
            discarded += result.bytes;
            continue;
        }
        if (result.state == IoState::kClosed || result.state == IoState::kFailed) break;
        const auto [error] = co_await transport_->Wait(IoState::kWantRead);
        if (error) break;
    }
}

}  // namespace takt::internal::http
