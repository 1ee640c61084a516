// WorkLoop: a loop that namespaces live on, with a thread of its own and the clients by which they call
// others. What lives on it needs no lock.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>
#include <thread>

#include "base/error.h"
#include "config/config.h"
#include "http/client.h"
#include "node/asio_runtime.h"

namespace takt::internal {

class WorkLoop {
  public:
    // `runtime`, if not null, is used in place of one on the loop, and outlives it.
    explicit WorkLoop(Runtime* runtime = nullptr) : runtime_(runtime ? *runtime : own_runtime_) {}
    ~WorkLoop() { Stop(); }

    // kInvalid if the file of authorities cannot be used.
    Result<void> MakeClients(const Config& config);
    void Start();
    // Handlers that wait stay with the loop until it is destroyed.
    void Stop();

    bool runs() const { return thread_.joinable(); }

    boost::asio::io_context& io() { return io_; }
    Runtime& runtime() { return runtime_; }
    HttpClient& executors() { return *executors_; }
    HttpClient& health() { return *health_; }
    HttpClient& webhooks() { return *webhooks_; }

  private:
    boost::asio::io_context io_{1};
    std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> work_{
        io_.get_executor()};
    AsioRuntime own_runtime_{io_};
    Runtime& runtime_;
    std::unique_ptr<HttpClient> executors_;  // To executors,
    std::unique_ptr<HttpClient> health_;     // for their health,
    std::unique_ptr<HttpClient> webhooks_;   // and to channels of alerts.
    std::thread thread_;
};

HttpLog ToLog();

}  // namespace takt::internal
