// HttpTaskHandler: runs tasks by calling a service over HTTP.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>
#include <thread>

#include "base/error.h"
#include "http/client.h"
#include "worker/handler.h"

namespace takt::internal {

struct HttpHandlerOptions {
    std::string type;  // The task type that it runs.
    // Tasks are POSTed here as JSON: execution_id, task_id, task_name, type, attempt, epoch,
    // payload, metadata, scheduled_at.
    std::string url;
    HttpHeaderList headers;                    // Sent along: authorization, for example.
    Duration timeout{30'000};                  // Of attempts without a deadline of their own.
    std::size_t response_bytes_max = 1 << 20;  // A larger answer is a failure.
    // Attempts wait for their place at the worker, whose capacity is their bound (100,000 at most),
    // and never for a connection while their time runs.
    HttpClientOptions client = {.connections_per_host_max = 100'000, .idle_per_host_max = 64};
};

// 2xx is success, with the body as the result; 408, 425, 429 and 5xx are failures that may be
// retried, as are lost connections; any other status is final. The code of a failure is the status.
// When the attempt is to be stopped the call is given up: its answer is not waited for.
class HttpTaskHandler final : public TaskHandler {
  public:
    // kInvalid when the URL or the TLS files cannot be used.
    static Result<std::shared_ptr<HttpTaskHandler>> Create(HttpHandlerOptions options);
    ~HttpTaskHandler() override;

    TaskResult Execute(TaskContext& context) override;
    std::string_view Type() const override { return options_.type; }
    std::string_view Protocol() const override { return "http"; }

  private:
    explicit HttpTaskHandler(HttpHandlerOptions options) : options_(std::move(options)) {}

    const HttpHandlerOptions options_;
    boost::asio::io_context loop_{1};
    std::unique_ptr<HttpClient> client_;
    std::thread thread_;
};

// How an answer is understood; apart, so that it can be read and tested in one place.
TaskResult ResultOfAnswer(const HttpAnswer& answer);

}  // namespace takt::internal
