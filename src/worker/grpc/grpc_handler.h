// GrpcTaskHandler: runs tasks by calling takt.executor.v1.Executor/Execute (proto/executor.proto).
#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "worker/handler.h"

namespace takt::internal {

struct GrpcHandlerOptions {
    std::string type;     // The task type that it runs.
    std::string address;  // host:port, or anything that gRPC can resolve.
    bool tls = false;
    std::string ca_file;       // For TLS; empty is the system's certificates.
    std::string token;         // Sent as "authorization: Bearer …"; empty is none. With TLS only.
    Duration timeout{30'000};  // Of attempts without a deadline of their own.
    std::size_t response_bytes_max = 1 << 20;
};

class GrpcTaskHandler final : public TaskHandler {
  public:
    // kInvalid when the options cannot be used. Does not connect yet.
    static Result<std::shared_ptr<GrpcTaskHandler>> Create(GrpcHandlerOptions options);
    ~GrpcTaskHandler() override;

    TaskResult Execute(TaskContext& context) override;
    std::string_view Type() const override;
    std::string_view Protocol() const override { return "grpc"; }

  private:
    struct State;
    explicit GrpcTaskHandler(std::unique_ptr<State> state);
    const std::unique_ptr<State> state_;
};

}  // namespace takt::internal
