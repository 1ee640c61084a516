#include "store/etcd/verdict.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace takt::internal::etcd {
namespace {

using Next = Verdict::Next;

// Ends of etcd's own sentences (api/v3rpc/rpctypes), the same in 3.4, 3.5 and 3.6, and of gRPC's.
struct Rule {
    RpcCode code;
    std::string_view words;
    Next next;
    bool maybe_applied;
    ErrorCode meaning;
    std::string_view advice;
};

// The first rule that fits; an empty text fits all.
constexpr std::array kRules = {
    Rule{RpcCode::kUnavailable, "failed to connect", Next::kMoveOn, false, ErrorCode::kUnavailable,
         ""},
    Rule{RpcCode::kUnavailable, "no leader", Next::kMoveOn, false, ErrorCode::kUnavailable,
         "; the cluster has no quorum"},
    Rule{RpcCode::kUnavailable, "", Next::kMoveOn, true, ErrorCode::kUnavailable, ""},
    Rule{RpcCode::kDeadlineExceeded, "", Next::kMoveOn, true, ErrorCode::kUnavailable, ""},
    Rule{RpcCode::kUnknown, "raft proposal dropped", Next::kMoveOn, false, ErrorCode::kUnavailable,
         "; the cluster has no quorum"},
    Rule{RpcCode::kCancelled, "", Next::kMoveOn, true, ErrorCode::kUnavailable, ""},
    Rule{RpcCode::kResourceExhausted, "database space exceeded", Next::kStop, false,
         ErrorCode::kUnavailable,
         "; etcd has reached its quota and takes no writes: run 'etcdctl compact --physical' with "
         "the "
         "latest revision, then 'etcdctl defrag' and 'etcdctl alarm disarm' (docs/stores/etcd.md)"},
    Rule{RpcCode::kResourceExhausted, "too many requests", Next::kAgain, false,
         ErrorCode::kUnavailable, ""},
    Rule{RpcCode::kResourceExhausted, "", Next::kStop, false, ErrorCode::kInvalid, ""},
    Rule{RpcCode::kUnauthenticated, "", Next::kNewToken, false, ErrorCode::kUnavailable, ""},
    Rule{RpcCode::kInvalidArgument, "auth revision", Next::kNewToken, false,
         ErrorCode::kUnavailable, ""},
    Rule{RpcCode::kInvalidArgument, "auth store is old", Next::kNewToken, false,
         ErrorCode::kUnavailable, ""},
    Rule{RpcCode::kInvalidArgument, "user name is empty", Next::kStop, false,
         ErrorCode::kUnavailable, "; etcd asks for a user: write etcd://user:password@host"},
    Rule{RpcCode::kInvalidArgument, "authentication failed", Next::kStop, false,
         ErrorCode::kUnavailable, "; check user and password of the store's URL"},
    Rule{RpcCode::kPermissionDenied, "", Next::kStop, false, ErrorCode::kUnavailable,
         "; the etcd user needs a role that may read and write the prefix"},
    Rule{RpcCode::kNotFound, "", Next::kStop, false, ErrorCode::kNotFound, ""},
    Rule{RpcCode::kOutOfRange, "compacted", Next::kStop, false, ErrorCode::kConflict, ""},
    Rule{RpcCode::kOutOfRange, "future revision", Next::kMoveOn, false, ErrorCode::kUnavailable,
         ""},
    Rule{RpcCode::kInvalidArgument, "request is too large", Next::kStop, false, ErrorCode::kInvalid,
         "; Takt needs etcd's --max-request-bytes of 1.5 MiB, which is its default"},
    Rule{RpcCode::kInvalidArgument, "", Next::kStop, false, ErrorCode::kInvalid, ""},
    Rule{RpcCode::kFailedPrecondition, "", Next::kStop, false, ErrorCode::kInvalid, ""},
};

}  // namespace

Verdict Judge(const RpcStatus& status) {
    const std::string said = "etcd: " + (status.message.empty() ? "no answer" : status.message);
    for (const Rule& rule : kRules) {
        if (rule.code != status.code) continue;
        if (status.message.find(rule.words) == std::string::npos) continue;
        return {rule.next, rule.maybe_applied, {rule.meaning, said + std::string(rule.advice), {}}};
    }
    // A code that etcd does not use for what it refuses: something between it and us went wrong.
    return {Next::kAgain, true, {ErrorCode::kUnavailable, said, {}}};
}

}  // namespace takt::internal::etcd
