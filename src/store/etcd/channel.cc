#include "store/etcd/channel.h"

#include <grpcpp/alarm.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <fstream>
#include <functional>
#include <iterator>
#include <vector>

namespace takt::internal::etcd {
namespace {

using google::protobuf::MessageLite;
using Stub = grpc::TemplatedGenericStub<MessageLite, MessageLite>;

// Not wall time: a clock that jumps must not end a call early or keep it for ever.
gpr_timespec After(Duration time) {
    return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                        gpr_time_from_millis(time.count(), GPR_TIMESPAN));
}

RpcStatus ToStatus(const grpc::Status& status) {
    return {static_cast<RpcCode>(status.error_code()), status.error_message()};
}

class UnaryWait {
  public:
    UnaryWait(Stub& stub, grpc::ClientContext& context, const Rpc& rpc)
        : stub_(stub), context_(context), rpc_(rpc) {}
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> waiter) {
        // The answer may come, and the coroutine with this object be gone, before UnaryCall
        // returns.
        stub_.UnaryCall(&context_, rpc_.method, {}, rpc_.request, rpc_.response,
                        [this, waiter](const grpc::Status& status) {
                            status_ = ToStatus(status);
                            waiter.resume();
                        });
    }
    RpcStatus await_resume() { return std::move(status_); }

  private:
    Stub& stub_;
    grpc::ClientContext& context_;
    const Rpc& rpc_;
    RpcStatus status_;
};

// One message each way, then the stream is closed.
class StreamWait final : public grpc::ClientBidiReactor<MessageLite, MessageLite> {
  public:
    StreamWait(Stub& stub, grpc::ClientContext& context, const Rpc& rpc)
        : stub_(stub), context_(context), rpc_(rpc) {}
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> waiter) {
        waiter_ = waiter;
        stub_.PrepareBidiStreamingCall(&context_, rpc_.method, {}, this);
        StartWrite(rpc_.request);
        StartRead(rpc_.response);
        StartCall();
    }
    RpcStatus await_resume() { return std::move(status_); }

    void OnReadDone(bool ok) override {
        answered_ = ok;
        if (ok) StartWritesDone();
    }
    void OnDone(const grpc::Status& status) override {
        // The question has been answered; how the stream ended afterwards does not matter.
        if (!answered_) status_ = ToStatus(status);
        if (!answered_ && status.ok()) status_ = {RpcCode::kUnavailable, "the stream was closed"};
        waiter_.resume();
    }

  private:
    Stub& stub_;
    grpc::ClientContext& context_;
    const Rpc& rpc_;
    bool answered_ = false;
    RpcStatus status_;
    std::coroutine_handle<> waiter_;
};

class GrpcChannel final : public Channel {
  public:
    explicit GrpcChannel(const std::shared_ptr<grpc::Channel>& channel) : stub_(channel) {}

    Async<RpcStatus> Call(Rpc rpc, std::string token, Duration timeout) override {
        grpc::ClientContext context;
        context.set_deadline(After(timeout));
        if (!token.empty()) context.AddMetadata("token", token);
        if (rpc.stream) co_return co_await StreamWait(stub_, context, rpc);
        co_return co_await UnaryWait(stub_, context, rpc);
    }

  private:
    Stub stub_;
};

grpc::ChannelArguments Arguments() {
    grpc::ChannelArguments arguments;
    // A connection of its own: gRPC would share one among equal channels, and a large commit would
    // hold up a renewal.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    // etcd's answers are bounded by what we ask for, not by gRPC's 4 MiB.
    arguments.SetMaxReceiveMessageSize(-1);
    arguments.SetMaxSendMessageSize(-1);
    // gRPC's own defaults wait up to two minutes before they try a lost server again.
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1000);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
    // Notices a peer that vanished. etcd refuses pings more often than every 5 s by default.
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000);
    return arguments;
}

Result<std::string> ReadPem(const std::string& file, const char* parameter) {
    if (file.empty()) return std::string();
    std::ifstream in(file, std::ios::binary);
    std::string text((std::istreambuf_iterator<char>(in)), {});
    if (!in || text.empty()) {
        return BadStoreUrl("the file of " + std::string(parameter) + " cannot be read: " + file);
    }
    return text;
}

// Takes whatever certificate the server shows: verify=0.
class AcceptAnybody final : public grpc::experimental::ExternalCertificateVerifier {
  public:
    bool Verify(grpc::experimental::TlsCustomVerificationCheckRequest*,
                std::function<void(grpc::Status)>, grpc::Status* verdict) override {
        *verdict = grpc::Status::OK;
        return true;
    }
    void Cancel(grpc::experimental::TlsCustomVerificationCheckRequest*) override {}
};

std::shared_ptr<grpc::ChannelCredentials> UnverifiedCredentials(const Security& security) {
    namespace tls = grpc::experimental;
    tls::TlsChannelCredentialsOptions options;
    options.set_verify_server_certs(false);
    options.set_check_call_host(false);
    options.set_certificate_verifier(tls::ExternalCertificateVerifier::Create<AcceptAnybody>());
    if (!security.cert.empty()) {
        const std::vector<tls::IdentityKeyCertPair> pairs = {{security.key, security.cert}};
        options.set_certificate_provider(
            std::make_shared<tls::StaticDataCertificateProvider>(pairs));
        options.watch_identity_key_cert_pairs();
    }
    return tls::TlsCredentials(options);
}

class PauseWait {
  public:
    explicit PauseWait(Duration time) : time_(time) {}
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> waiter) {
        alarm_.Set(After(time_), [waiter](bool) { waiter.resume(); });
    }
    void await_resume() const {}

  private:
    Duration time_;
    grpc::Alarm alarm_;
};

}  // namespace

Result<Security> ReadSecurity(const EtcdOptions& options) {
    Result<std::string> ca = ReadPem(options.tls.ca_file, "tls_ca");
    Result<std::string> cert = ReadPem(options.tls.cert_file, "tls_cert");
    Result<std::string> key = ReadPem(options.tls.key_file, "tls_key");
    for (const auto* file : {&ca, &cert, &key}) {
        if (!*file) return std::unexpected(file->error());
    }
    return Security{options.tls.enabled, options.tls.verify, std::move(*ca), std::move(*cert),
                    std::move(*key)};
}

std::unique_ptr<Channel> MakeChannel(const std::string& endpoint, const Security& security) {
    std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
    if (security.tls && !security.verify) {
        credentials = UnverifiedCredentials(security);
    } else if (security.tls) {
        grpc::SslCredentialsOptions options;
        options.pem_root_certs = security.ca;
        options.pem_cert_chain = security.cert;
        options.pem_private_key = security.key;
        credentials = grpc::SslCredentials(options);
    }
    return std::make_unique<GrpcChannel>(
        grpc::CreateCustomChannel(endpoint, credentials, Arguments()));
}

Async<bool> Pause(Duration time) {
    co_await PauseWait(time);
    co_return true;
}

}  // namespace takt::internal::etcd
