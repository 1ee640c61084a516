// Door: a loop that serves requests, and what answers them there. The loop is the node's, or one of
// the door's own with a thread of its own, so that reading, TLS and JSON keep nothing else waiting.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>

#include "api/api.h"
#include "base/error.h"
#include "http/client.h"
#include "node/asio_runtime.h"
#include "server/routes.h"

namespace takt::internal {

class Door {
  public:
    enum class Thread : std::uint8_t { kOwn, kLoops };  // Runs the loop itself, or somebody does.

    // The loop outlives everything that may hold a reply, whatever thread that is on.
    Door(boost::asio::io_context& loop, Thread thread);
    ~Door() { Stop(); }

    // Clients to the other schedulers; kInvalid if the file of authorities cannot be used.
    Result<void> MakeClients(const TlsClientOptions& tls);
    // `parts` come without what is this door's own.
    void MakeApi(ApiParts parts);
    // For those who are not of the cluster. REQUIRES: MakeClients was called.
    HttpClient& outside() { return *outside_; }

    // Runs its own loop, if it has one. REQUIRES: MakeApi was called.
    void Start();
    // Work that the loop still holds stays with it until the door goes.
    void Stop();

    boost::asio::io_context& loop() { return loop_; }
    AsioRuntime& runtime() { return runtime_; }
    const std::shared_ptr<HandlerRelay>& relay() const { return relay_; }
    const std::shared_ptr<Api>& api() const { return api_; }

  private:
    boost::asio::io_context& loop_;
    const bool own_;
    std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> work_;
    AsioRuntime runtime_{loop_};
    std::unique_ptr<HttpClient> client_;   // To other schedulers.
    std::unique_ptr<HttpClient> streams_;  // The same, for what lasts.
    std::unique_ptr<HttpClient> outside_;
    const std::shared_ptr<HandlerRelay> relay_ = std::make_shared<HandlerRelay>();
    std::shared_ptr<Api> api_;
    std::thread thread_;
};

}  // namespace takt::internal
