// One HTTP call from its URL to its answer.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <string>

#include "http/client_core.h"
#include "http/dial.h"
#include "http/head_parser.h"

namespace takt::internal::http {

// Appends a request's head: request line, Host, User-Agent, `headers`. kInvalid for headers that
// must not be sent. The empty line is the caller's to add.
Result<std::string> FormatRequestHead(HttpMethod method, const Url& url,
                                      const HttpHeaderList& headers, std::string_view user_agent);

class ClientCall : public std::enable_shared_from_this<ClientCall> {
  public:
    ClientCall(std::shared_ptr<ClientCore> core, HttpCall call, Url url, std::string head,
               HttpDone done);

    void ArmDeadline();  // The time runs while the call waits for its turn, too.
    // Takes `self` so that the call lives until its coroutine starts, and through it.
    boost::asio::awaitable<void> Run(std::shared_ptr<ClientCall> self);
    // Ends the call with an error unless it is over.
    void Fail(ErrorCode code, std::string detail, std::string field = {});
    const std::string& origin() const { return origin_; }

  private:
    // Why an exchange over a connection ended without an answer.
    enum class Broken : std::uint8_t { kNo, kBeforeAnswer, kInAnswer };

    void OnDeadline();
    void Finish(Result<HttpAnswer> result);
    boost::asio::awaitable<bool> Acquire(bool fresh);
    boost::asio::awaitable<Broken> Exchange();
    boost::asio::awaitable<bool> WriteRequest();
    boost::asio::awaitable<Broken> ReadAnswer();
    boost::asio::awaitable<IoState> ReadSome();
    bool ParseReceived();
    bool TakeHead();
    bool IsRepeatable() const;

    const std::shared_ptr<ClientCore> core_;
    HttpCall call_;
    const Url url_;
    const std::string origin_;
    std::string head_;
    HttpDone done_;
    boost::asio::steady_timer deadline_;
    std::shared_ptr<Dial> dial_;
    std::shared_ptr<Transport> transport_;
    bool running_ = false;
    bool reused_ = false;
    bool sent_ = false;  // A byte of the request has left.
    bool over_ = false;

    std::string in_;
    HeadScanner scanner_;
    std::unique_ptr<ResponseParser> parser_;
    int interim_ = 0;  // 1xx answers seen.
    HttpAnswer answer_;
    bool too_large_ = false;
    bool head_told_ = false;  // To call_.sink.
    bool unwanted_ = false;   // The sink wants no more.
};

}  // namespace takt::internal::http
