// One client of the server, from accept to close: a coroutine that reads a request, waits for its
// answer, writes it, and begins again.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <string>

#include "http/event_stream_core.h"
#include "http/head_parser.h"
#include "http/response_head.h"
#include "http/server_core.h"
#include "http/transport.h"
#include "http/websocket_core.h"

namespace takt::internal::http {

class Connection final : public Turns::Guest, public std::enable_shared_from_this<Connection> {
  public:
    Connection(std::shared_ptr<ServerCore> core, std::shared_ptr<Transport> transport,
               const boost::asio::ip::tcp::endpoint& remote, boost::asio::ip::address address_key);
    ~Connection() override;

    // Takes `self` so that the connection lives until its coroutine starts, and through it.
    boost::asio::awaitable<void> Run(std::shared_ptr<Connection> self);

    // Orders of the server, on the io thread.
    void Tick(Steady now);  // Enforces the deadline of the current phase.
    void Drain();           // Finish the request at hand, then close.
    void Abort();           // Close now.
    void OnTurn() override { Wake(); }

    // The answer to request number `sequence`; late and second answers are ignored.
    void OnReply(std::uint32_t sequence, HttpResponse response);

  private:
    enum class Phase : std::uint8_t {
        kHandshake,
        kIdle,
        kHead,
        kBody,
        kReply,
        kWrite,
        kStream,
        kWebSocket,
        kLinger
    };

    // The part of a request that must be remembered after the handler has taken it.
    struct Current {
        HttpMethod method = HttpMethod::kGet;
        bool http_1_0 = false;
        bool accepts_gzip = false;
        std::string request_id;
        std::string target;         // For the access log only.
        std::string websocket_key;  // Of a proper handshake; else empty.
        bool websocket_version_wrong = false;
        bool continued = false;  // 100 Continue was sent.
        Steady began{};
        std::shared_ptr<HttpGone> gone;  // To be told; null: nobody wants to know.
    };

    void Enter(Phase phase, Duration timeout);
    void EnterLinger() { Enter(Phase::kLinger, std::chrono::seconds(2)); }
    void Refuse(int status, std::string_view reason);
    bool closing() const { return close_ || core_->stopping(); }

    // Reading. Take… return true when there is nothing more to wait for; then response_ is set if
    // the request was refused.
    void BeginRequest();
    bool TakeHead();
    void AcceptHead();
    void RememberHead();
    void RememberHandshake();
    bool CheckBodyLength();
    bool TakeBody();
    bool OnBodyPiece(std::string_view piece);
    bool WantsContinue() const;
    boost::asio::awaitable<bool> Handshake();
    boost::asio::awaitable<bool> Fill();
    boost::asio::awaitable<bool> ReadRequest();

    // Answering.
    bool MayDispatch() { return response_ || core_->turns().Enter(shared_from_this()); }
    boost::asio::awaitable<void> AwaitTurn();
    void Dispatch();
    void OnHandlerThrew(const std::exception& error);
    void Wake();
    bool Watches() const;
    bool HearWhileWaiting();
    boost::asio::awaitable<void> AwaitReply();
    boost::asio::awaitable<bool> Answer();
    std::string_view PrepareBody(ResponseHead& head);
    bool WriteNow(std::string& head, std::string_view body);
    boost::asio::awaitable<bool> WriteRest();
    void DropEvents();
    boost::asio::awaitable<void> ServeEvents();
    boost::asio::awaitable<void> ServeWebSocket();
    boost::asio::awaitable<void> Linger();
    void LogAccess(int status, std::size_t body_bytes);

    const std::shared_ptr<ServerCore> core_;
    const std::shared_ptr<Transport> transport_;
    const boost::asio::ip::address address_key_;
    const std::string remote_address_;
    const std::uint16_t remote_port_;
    boost::asio::steady_timer wake_;  // Never expires; cancelled when a reply or a turn has come.

    Phase phase_ = Phase::kHandshake;
    Steady deadline_;
    bool expired_ = false;  // The deadline of this phase has passed.
    bool aborted_ = false;
    bool close_ = false;   // After this answer.
    bool linger_ = false;  // The client may still be sending what we will not read.
    bool in_handler_ = false;
    std::uint32_t sequence_ = 0;

    std::string in_;  // Received and not parsed yet, from in_used_ on.
    std::size_t in_used_ = 0;
    HeadScanner scanner_;
    std::optional<RequestParser> parser_;
    HttpRequest request_;
    HttpHeadVerdict verdict_{};
    std::unique_ptr<HttpExchange> exchange_;  // Null: the handler takes whole requests.
    std::size_t body_bytes_ = 0;
    std::size_t body_held_ = 0;  // Of the server's allowance.
    Current current_;
    std::optional<HttpResponse> response_;

    std::string out_;            // What is left of the head being written.
    std::string_view out_body_;  // And of the body, which response_ or the handler's memory holds.
    std::shared_ptr<EventStreamCore> stream_;
    std::shared_ptr<WebSocketCore> websocket_;
};

}  // namespace takt::internal::http
