// The pool behind HttpClient: who may call which host now, and over which connection.
#pragma once

#include <boost/asio/io_context.hpp>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/time.h"
#include "http/client.h"
#include "http/name_lookup.h"
#include "http/transport.h"

namespace takt::internal::http {

class ClientCall;

class ClientCore : public std::enable_shared_from_this<ClientCore> {
  public:
    ClientCore(boost::asio::io_context& io, HttpClientOptions options,
               std::unique_ptr<TlsClientContext> tls);

    // All on the io thread.
    void Send(HttpCall call, HttpDone done);
    void OpenWebSocket(WebSocketCall call, std::shared_ptr<WebSocketCallbacks> callbacks,
                       std::move_only_function<void(Error)> failed);
    void Close();

    // For calls.
    boost::asio::io_context& io() { return io_; }
    const HttpClientOptions& options() const { return options_; }
    TlsClientContext& tls() { return *tls_; }
    NameLookup& names() { return names_; }
    // An idle connection that the server has not closed; null when there is none.
    std::shared_ptr<Transport> TakeIdle(const std::string& origin);
    void GiveBack(const std::string& origin, std::shared_ptr<Transport> transport);
    // The call is over, or, still waiting, gave up.
    void Finished(const std::shared_ptr<ClientCall>& call, const std::string& origin);
    void GiveUpWaiting(const std::shared_ptr<ClientCall>& call, const std::string& origin);

  private:
    struct Idle {
        std::shared_ptr<Transport> transport;
        Steady since;
    };
    struct Host {
        std::size_t active = 0;
        std::vector<Idle> idle;
        std::deque<std::shared_ptr<ClientCall>> waiting;
    };
    void SweepIdle(const std::string& origin, Steady now);
    void Start(Host& host, std::shared_ptr<ClientCall> call);
    void DropIfUnused(const std::string& origin);

    boost::asio::io_context& io_;
    const HttpClientOptions options_;
    const std::unique_ptr<TlsClientContext> tls_;
    NameLookup names_;
    std::map<std::string, Host> hosts_;
    std::unordered_set<ClientCall*> calls_;  // Under way; their coroutines keep them alive.
    Steady swept_{};
    std::size_t waiting_ = 0;
    bool closed_ = false;
};

}  // namespace takt::internal::http
