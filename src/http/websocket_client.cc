// The client's side of a WebSocket handshake; the session itself is WebSocketCore's.
#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "http/client_call.h"
#include "http/client_core.h"
#include "http/spawn.h"
#include "http/websocket_core.h"

namespace takt::internal::http {
namespace {

namespace asio = boost::asio;

// The header that whoever was refused may look at; empty if it is none of the request's.
std::string HeaderAtFault(int status) {
    if (status == 401 || status == 403) return "Authorization";
    if (status == 404) return ":path";
    return status == 429 ? "Retry-After" : "";
}

// The reason in words, if the server gives one (RFC 6750): ": the token has expired".
std::string WordsOf(const HttpHeaders& headers) {
    constexpr std::string_view kName = "error_description=\"";
    constexpr std::size_t kWordsMax = 200;
    const std::string_view challenge = headers.Find("WWW-Authenticate").value_or("");
    const std::size_t at = challenge.find(kName);
    if (at == std::string_view::npos) return "";
    const std::string_view words = challenge.substr(at + kName.size());
    return ": " + std::string(words.substr(0, std::min(words.find('"'), kWordsMax)));
}

class WebSocketOpening : public std::enable_shared_from_this<WebSocketOpening> {
  public:
    WebSocketOpening(std::shared_ptr<ClientCore> core, Url url, std::string head,
                     std::shared_ptr<WebSocketCallbacks> callbacks,
                     std::move_only_function<void(Error)> failed)
        : core_(std::move(core)),
          url_(std::move(url)),
          key_(NewWebSocketKey()),
          out_(std::move(head)),
          callbacks_(std::move(callbacks)),
          failed_(std::move(failed)),
          deadline_(core_->io()),
          dial_(std::make_shared<Dial>(core_->io(), core_->names())) {
        out_ += fmt::format(
            "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: {}\r\n\r\n",
            key_);
    }

    void ArmDeadline(std::chrono::milliseconds timeout) {
        deadline_.expires_after(timeout);
        deadline_.async_wait([self = weak_from_this()](const boost::system::error_code& error) {
            const auto opening = error ? nullptr : self.lock();
            if (!opening) return;
            opening->Fail({ErrorCode::kUnavailable,
                           opening->url_.Origin() + " did not open a WebSocket in time", ""});
            opening->dial_->Cancel();
            if (opening->transport_) opening->transport_->Close();
        });
    }

    asio::awaitable<void> Run(std::shared_ptr<WebSocketOpening> self) {
        auto connected = co_await dial_->Connect(
            url_, {core_->options().connect_timeout, core_->options().allow_address, core_->tls()});
        if (!connected) co_return Fail(connected.error());
        transport_ = std::move(*connected);
        if (over_) co_return transport_->Close();
        const bool exchanged = co_await Exchange();
        if (!exchanged && !over_) {
            Fail({ErrorCode::kUnavailable, url_.Origin() + " ended the WebSocket handshake", ""});
        }
        if (over_) co_return transport_->Close();
        over_ = true;
        deadline_.cancel();
        const auto session = std::make_shared<WebSocketCore>(
            transport_, WebSocketCore::Role::kClient, std::move(callbacks_), url_.Authority());
        co_await session->Run(std::move(in_));
    }

  private:
    // Sends the request and reads the answer's head. False, or over_: no session.
    asio::awaitable<bool> Exchange() {
        std::string_view left = out_;
        HeadScanner scanner;
        std::size_t size = 0;
        while (size == 0) {
            const IoResult result =
                left.empty() ? transport_->TryRead(ReadScratch()) : transport_->TryWrite(left);
            if (result.state == IoState::kClosed || result.state == IoState::kFailed) {
                co_return false;
            }
            if (result.state != IoState::kDone) {
                const auto [error] = co_await transport_->Wait(result.state);
                if (error || over_) co_return false;
            } else if (!left.empty()) {
                left.remove_prefix(result.bytes);
            } else {
                in_.append(ReadScratch().data(), result.bytes);
                size = scanner.Find(in_);
                if (size == 0 && in_.size() > core_->options().head.bytes_max) co_return false;
            }
        }
        if (size == HeadScanner::npos || size > core_->options().head.bytes_max) co_return false;
        co_return CheckAnswer(size);
    }

    bool CheckAnswer(std::size_t size) {
        HttpHeaders headers;
        ResponseParser parser(core_->options().head, headers, false);
        if (!parser.ParseHead(std::string_view(in_).substr(0, size))) return false;
        in_.erase(0, size);
        if (parser.status() != 101) {
            Fail({ErrorCode::kConflict,
                  fmt::format("{} refused the WebSocket with status {}{}", url_.Origin(),
                              parser.status(), WordsOf(headers)),
                  HeaderAtFault(parser.status())});
            return false;
        }
        return headers.Find("Sec-WebSocket-Accept") == WebSocketAccept(key_) &&
               ListHasToken(headers.Find("Upgrade").value_or(""), "websocket");
    }

    void Fail(Error error) {
        if (std::exchange(over_, true)) return;
        deadline_.cancel();
        failed_(std::move(error));
    }

    const std::shared_ptr<ClientCore> core_;
    const Url url_;
    const std::string key_;
    std::string out_;
    std::string in_;
    std::shared_ptr<WebSocketCallbacks> callbacks_;
    std::move_only_function<void(Error)> failed_;
    asio::steady_timer deadline_;
    const std::shared_ptr<Dial> dial_;
    std::shared_ptr<Transport> transport_;
    bool over_ = false;  // Open or failed.
};

}  // namespace

void ClientCore::OpenWebSocket(WebSocketCall call, std::shared_ptr<WebSocketCallbacks> callbacks,
                               std::move_only_function<void(Error)> failed) {
    if (closed_) return failed({ErrorCode::kCancelled, "the HTTP client is closed", ""});
    auto url = ParseUrl(call.url);
    if (!url) return failed(url.error());
    auto head = FormatRequestHead(HttpMethod::kGet, *url, call.headers, options_.user_agent);
    if (!head) return failed(head.error());
    const auto opening =
        std::make_shared<WebSocketOpening>(shared_from_this(), std::move(*url), std::move(*head),
                                           std::move(callbacks), std::move(failed));
    opening->ArmDeadline(call.timeout);
    Spawn(io_.get_executor(), opening->Run(opening), "websocket client", options_.log);
}

}  // namespace takt::internal::http
