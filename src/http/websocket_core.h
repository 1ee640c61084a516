// A WebSocket session over an established connection, for either side.
#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <string>

#include "base/random.h"
#include "http/outbox.h"
#include "http/websocket.h"
#include "http/websocket_frame.h"

namespace takt::internal::http {

class WebSocketCore final : public WebSocketSession,
                            public std::enable_shared_from_this<WebSocketCore> {
  public:
    enum class Role : std::uint8_t { kServer, kClient };

    WebSocketCore(std::shared_ptr<Transport> transport, Role role,
                  std::shared_ptr<WebSocketCallbacks> callbacks, std::string remote_address);

    // Serves the session until it is over; `received` is what came behind the handshake. Keeps
    // itself alive. The transport is closed when it returns.
    boost::asio::awaitable<void> Run(std::string received);

    bool SendText(std::string_view text) override { return Send(FrameKind::kText, text); }
    bool SendBinary(std::string_view bytes) override { return Send(FrameKind::kBinary, bytes); }
    void Close(WebSocketCode code, std::string_view reason) override;
    std::size_t queued_bytes() const override { return outbox_->bytes(); }
    const std::string& remote_address() const override { return remote_address_; }

    // The io thread: ends the session without asking the peer.
    void Abort();

  private:
    bool Send(FrameKind kind, std::string_view payload);
    bool SendControl(FrameKind kind, std::string_view payload);
    std::string Masked(FrameKind kind, std::string_view payload);

    // The io thread.
    void HandleFrames();
    void CountUnfinished(std::size_t bytes);
    void OnFrame(const FrameReader::Frame& frame);
    void OnCloseFrame(std::string_view payload);
    void End(WebSocketCode code, std::string reason);
    bool SendClose();  // With what closed_ says. False: the peer reads nothing.
    void ArmTimer();
    void OnTimer();
    boost::asio::awaitable<void> Linger();

    const std::shared_ptr<Transport> transport_;
    const Role role_;
    const std::shared_ptr<WebSocketCallbacks> callbacks_;
    const std::string remote_address_;
    const std::shared_ptr<Outbox> outbox_;
    std::atomic<bool> closing_ = false;

    FrameReader reader_;
    std::size_t unfinished_ = 0;  // As counted in the options' UnfinishedBytes.
    boost::asio::steady_timer timer_;
    bool heard_ = false;   // Since the timer fired last.
    bool pinged_ = false;  // And nothing heard since.
    bool close_sent_ = false;
    bool over_ = false;
    Steady close_due_{};  // When the peer must have answered our close; zero: we did not close.
    WebSocketClosed closed_{WebSocketCode::kLost, ""};
};

}  // namespace takt::internal::http
