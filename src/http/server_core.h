// The part that the connections of one server share: acceptor, caps, clock, scratch space.
#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <string>
#include <unordered_set>

#include "base/random.h"
#include "base/time.h"
#include "http/admission.h"
#include "http/gzip.h"
#include "http/server.h"
#include "http/turns.h"

namespace takt::internal::http {

class Connection;

class ServerCore : public std::enable_shared_from_this<ServerCore> {
  public:
    ServerCore(boost::asio::io_context& io, HttpServerOptions options,
               std::shared_ptr<HttpHandler> handler, std::shared_ptr<Admission> admission);
    ~ServerCore();

    Result<void> LoadTls();
    // Of the one that accepts. `all` are those that serve, itself among them.
    Result<void> Open();
    void Accept(std::vector<std::weak_ptr<ServerCore>> all);
    void Start();
    void Stop(std::chrono::milliseconds drain, std::move_only_function<void()> stopped);
    void Abort();
    void ReloadTls();

    // For connections.
    const HttpServerOptions& options() const { return options_; }
    HttpHandler& handler() { return *handler_; }
    boost::asio::io_context& io() { return io_; }
    bool stopping() const { return stopping_; }
    void Add(Connection* connection);
    void Remove(Connection* connection, const boost::asio::ip::address& address);
    void Log(HttpLogLevel level, std::string_view message) const;
    std::string NewRequestId();
    HttpResponse RefusalOf(int status, std::string_view reason) const;
    std::string_view date() const { return date_; }  // As the Date header has it.
    GzipWriter& gzip();
    Turns& turns() { return *turns_; }
    std::string& head_scratch() { return head_scratch_; }
    bool HoldBody(std::size_t bytes, bool stranger);  // False: too much is held already.
    void ReleaseBody(std::size_t bytes, bool stranger);
    void CountRequest() { requests_.fetch_add(1, std::memory_order_relaxed); }

    std::uint16_t port() const { return port_; }
    std::size_t connections() const { return admission_->count(); }  // On all loops.
    std::uint64_t requests() const { return requests_; }
    std::uint64_t refused() const { return refused_; }

  private:
    enum class Accepted : std::uint8_t { kOne, kNone, kNoDescriptor };

    boost::asio::awaitable<void> AcceptLoop(std::shared_ptr<ServerCore> self);
    Accepted AcceptOne();
    void Admit(int descriptor, const boost::asio::ip::tcp::endpoint& remote);
    void Serve(int descriptor, const boost::asio::ip::tcp::endpoint& remote,
               const boost::asio::ip::address& key);
    bool ShedOne();
    void Refuse(int descriptor);
    void ArmSweep();
    void Sweep();
    void FinishStop();

    boost::asio::io_context& io_;
    const HttpServerOptions options_;
    const std::shared_ptr<HttpHandler> handler_;
    const std::shared_ptr<Admission> admission_;  // Of all cores.
    std::vector<std::weak_ptr<ServerCore>> all_;  // If this one accepts.
    std::size_t next_ = 0;
    boost::asio::ip::tcp::acceptor acceptor_;
    boost::asio::steady_timer sweep_timer_;
    boost::asio::steady_timer backoff_timer_;
    std::unique_ptr<TlsServerContext> tls_;
    std::unique_ptr<GzipWriter> gzip_;
    const std::shared_ptr<Turns> turns_;
    Random random_;
    int reserve_descriptor_ = -1;
    std::uint16_t port_ = 0;

    std::unordered_set<Connection*> connections_;
    std::size_t body_bytes_ = 0;
    std::size_t stranger_bytes_ = 0;  // Of those.
    std::string date_;
    std::string head_scratch_;
    std::string overloaded_;  // The whole answer to a connection for which there is no room.
    Duration sweep_interval_;
    Steady tls_checked_{};
    Steady shed_logged_{};

    bool stopping_ = false;
    Steady drain_until_{};
    std::vector<std::move_only_function<void()>> stopped_;

    std::atomic<std::uint64_t> requests_ = 0;
    std::atomic<std::uint64_t> refused_ = 0;
};

}  // namespace takt::internal::http
