// Channel: one connection to one member of an etcd cluster. Its source is the only one that sees
// gRPC's headers.
#pragma once

#include <google/protobuf/message_lite.h>

#include <memory>
#include <string>

#include "base/error.h"
#include "base/time.h"
#include "store/etcd/async.h"
#include "store/etcd/options.h"

namespace takt::internal::etcd {

// gRPC's codes, those that we tell apart.
enum class RpcCode : int {
    kOk = 0,
    kCancelled = 1,
    kUnknown = 2,
    kInvalidArgument = 3,
    kDeadlineExceeded = 4,
    kNotFound = 5,
    kPermissionDenied = 7,
    kResourceExhausted = 8,
    kFailedPrecondition = 9,
    kOutOfRange = 11,
    kUnavailable = 14,
    kUnauthenticated = 16,
};

struct RpcStatus {
    RpcCode code = RpcCode::kOk;
    std::string message;
    bool ok() const { return code == RpcCode::kOk; }
};

struct Rpc {
    const char* method;  // "/etcdserverpb.KV/Txn"
    const google::protobuf::MessageLite* request;
    google::protobuf::MessageLite* response;
    bool stream = false;  // The method takes and gives streams: one message each way is exchanged.
};

// The keys of a TLS connection, as PEM text.
struct Security {
    bool tls = false;
    bool verify = true;
    std::string ca;
    std::string cert;
    std::string key;
};
// Reads the files that the options name. kInvalid if one cannot be read.
Result<Security> ReadSecurity(const EtcdOptions& options);

class Channel {
  public:
    virtual ~Channel() = default;

    // Ends within `timeout`. REQUIRES: request and response live until then.
    virtual Async<RpcStatus> Call(Rpc rpc, std::string token, Duration timeout) = 0;
};

// Connects when first used, and again whenever the connection breaks.
std::unique_ptr<Channel> MakeChannel(const std::string& endpoint, const Security& security);

// Goes on after `time`.
Async<bool> Pause(Duration time);

}  // namespace takt::internal::etcd
