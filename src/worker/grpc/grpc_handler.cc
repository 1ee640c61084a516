#include "worker/grpc/grpc_handler.h"

#include <grpcpp/grpcpp.h>

#include <array>
#include <chrono>
#include <fstream>
#include <sstream>

#include "executor.grpc.pb.h"

namespace takt::internal {
namespace {

bool IsFinal(grpc::StatusCode code) {
    switch (code) {
        case grpc::StatusCode::INVALID_ARGUMENT:
        case grpc::StatusCode::NOT_FOUND:
        case grpc::StatusCode::ALREADY_EXISTS:
        case grpc::StatusCode::PERMISSION_DENIED:
        case grpc::StatusCode::FAILED_PRECONDITION:
        case grpc::StatusCode::OUT_OF_RANGE:
        case grpc::StatusCode::UNIMPLEMENTED:
        case grpc::StatusCode::DATA_LOSS:
        case grpc::StatusCode::UNAUTHENTICATED:
            return true;
        default:
            return false;
    }
}

// As gRPC's documentation spells them.
std::string_view NameOf(grpc::StatusCode code) {
    constexpr std::array<std::string_view, 17> kNames = {
        "OK",
        "CANCELLED",
        "UNKNOWN",
        "INVALID_ARGUMENT",
        "DEADLINE_EXCEEDED",
        "NOT_FOUND",
        "ALREADY_EXISTS",
        "PERMISSION_DENIED",
        "RESOURCE_EXHAUSTED",
        "FAILED_PRECONDITION",
        "ABORTED",
        "OUT_OF_RANGE",
        "UNIMPLEMENTED",
        "INTERNAL",
        "UNAVAILABLE",
        "DATA_LOSS",
        "UNAUTHENTICATED",
    };
    const auto number = static_cast<std::size_t>(code);
    return number < kNames.size() ? kNames[number] : "UNKNOWN";
}

executor::v1::ExecuteRequest RequestOf(const AssignedTask& task) {
    executor::v1::ExecuteRequest request;
    request.set_execution_id(task.execution_id);
    request.set_task_id(task.task_id);
    request.set_task_name(task.task_name);
    request.set_type(task.type);
    request.set_attempt(task.attempt);
    request.set_epoch(task.epoch);
    request.set_payload(task.payload);
    request.mutable_metadata()->insert(task.metadata.begin(), task.metadata.end());
    request.set_traceparent(task.traceparent);
    request.set_scheduled_at_ms(task.scheduled_at.time_since_epoch().count());
    for (const DeclaredLock& lock : task.locks) {
        executor::v1::LockToken& out = *request.add_locks();
        out.set_name(lock.name);
        out.set_token(lock.token);
        out.set_permits(lock.permits);
    }
    request.set_parent_id(task.parent_id);
    request.set_step(task.step);
    if (task.shard_total > 0) {
        request.mutable_shard()->set_index(task.shard_index);
        request.mutable_shard()->set_total(task.shard_total);
    }
    return request;
}

}  // namespace

struct GrpcTaskHandler::State {
    GrpcHandlerOptions options;
    std::unique_ptr<executor::v1::Executor::Stub> stub;
};

GrpcTaskHandler::GrpcTaskHandler(std::unique_ptr<State> state) : state_(std::move(state)) {}

GrpcTaskHandler::~GrpcTaskHandler() = default;

std::string_view GrpcTaskHandler::Type() const {
    return state_->options.type;
}

Result<std::shared_ptr<GrpcTaskHandler>> GrpcTaskHandler::Create(GrpcHandlerOptions options) {
    if (options.address.empty()) {
        return Fail(ErrorCode::kInvalid, "a gRPC handler needs an address", "address");
    }
    if (!options.token.empty() && !options.tls) {
        return Fail(ErrorCode::kInvalid, "a token may be sent over TLS only", "token");
    }
    auto credentials = grpc::InsecureChannelCredentials();
    if (options.tls) {
        grpc::SslCredentialsOptions tls;
        if (!options.ca_file.empty()) {
            std::ifstream file(options.ca_file);
            std::ostringstream text;
            text << file.rdbuf();
            if (!file || text.str().empty()) {
                return Fail(ErrorCode::kInvalid, "cannot read " + options.ca_file, "ca_file");
            }
            tls.pem_root_certs = text.str();
        }
        credentials = grpc::SslCredentials(tls);
    }
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(static_cast<int>(options.response_bytes_max));
    auto state = std::make_unique<State>();
    state->stub = executor::v1::Executor::NewStub(
        grpc::CreateCustomChannel(options.address, credentials, arguments));
    state->options = std::move(options);
    return std::shared_ptr<GrpcTaskHandler>(new GrpcTaskHandler(std::move(state)));
}

TaskResult GrpcTaskHandler::Execute(TaskContext& context) {
    grpc::ClientContext call;
    call.set_deadline(std::chrono::system_clock::now() +
                      context.Remaining(state_->options.timeout) + kDeadlineSlack);
    if (!state_->options.token.empty()) {
        call.AddMetadata("authorization", "Bearer " + state_->options.token);
    }
    if (!context.task().traceparent.empty()) {
        call.AddMetadata("traceparent", context.task().traceparent);
    }
    const std::stop_callback on_stop(context.stop_token(), [&call] { call.TryCancel(); });
    executor::v1::ExecuteResponse response;
    const grpc::Status status = state_->stub->Execute(&call, RequestOf(context.task()), &response);
    if (!status.ok()) {
        const std::string message =
            std::string(NameOf(status.error_code())) + ": " + status.error_message();
        return IsFinal(status.error_code()) ? TaskResult::FinalFailure(message, status.error_code())
                                            : TaskResult::Failure(message, status.error_code());
    }
    for (const std::string& line : response.log()) context.Log(line);
    return {.code = response.code(),
            .message = response.message(),
            .data = response.data(),
            .final = response.final()};
}

}  // namespace takt::internal
