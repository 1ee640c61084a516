// Client: calls to an etcd cluster, each within a deadline, by whichever member answers.
//
// Errors: kUnavailable (nothing was applied), kUnknown (a write may have been applied), kConflict
// (the revision asked for was compacted; begin the read anew), kNotFound (no such lease), kInvalid
// (etcd will never take it). Details are sentences for operators.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "etcd.pb.h"
#include "store/etcd/async.h"
#include "store/etcd/channel.h"
#include "store/etcd/options.h"
#include "store/etcd/verdict.h"

namespace takt::internal::etcd {

namespace pb = etcdserverpb;

// The effect of a call that is made twice; decides what is done when an answer stays out.
enum class Effect : std::uint8_t {
    kRead,        // Nothing. Asked again, elsewhere, until the deadline.
    kRepeatable,  // The same as once. Likewise, but may end as kUnknown.
    kOnce,        // Something else. kUnknown as soon as it may have been applied.
};

class Client {
  public:
    Client(const EtcdOptions& options, const Security& security);

    // `latest`: ends before, where the options' timeout would let it go on.
    Async<Result<pb::RangeResponse>> Range(pb::RangeRequest request, Steady latest = Steady::max());
    Async<Result<pb::TxnResponse>> Txn(pb::TxnRequest request, Effect effect,
                                       Steady latest = Steady::max());
    Async<Result<pb::CompactionResponse>> Compact(std::int64_t revision);
    Async<Result<pb::LeaseGrantResponse>> LeaseGrant(Duration ttl, Steady latest = Steady::max());
    Async<Result<pb::LeaseRevokeResponse>> LeaseRevoke(std::int64_t lease);
    // A ttl of 0 in the answer: there is no such lease.
    Async<Result<pb::LeaseKeepAliveResponse>> LeaseKeepAlive(std::int64_t lease, Steady latest);
    Async<Result<pb::StatusResponse>> Status();

    // The revision that every read is of; 0: the newest, each time.
    std::int64_t pinned_revision() const { return pinned_; }
    // A read saw this one: if the options say so, all others are of it too.
    void NoteRevision(std::int64_t revision) {
        std::int64_t none = 0;
        if (options_.pinned) pinned_.compare_exchange_strong(none, revision);
    }

  private:
    struct TokenWait;
    struct Token {
        std::string text;
        std::uint64_t generation = 0;  // Rises with each new token.
    };

    Async<Result<void>> Invoke(Rpc rpc, Effect effect, Steady latest = Steady::max());
    // Gets a token newer than `old`, unless there is one already. Nothing, or why not.
    Async<std::optional<Verdict>> RefreshToken(Token old, Steady deadline);
    Async<std::optional<Verdict>> Authenticate(Steady deadline);
    Token token();
    // The connection to a member. Made anew if the files of certificates were replaced.
    std::shared_ptr<Channel> channel(std::size_t at);
    // REQUIRES: mutex_ is held.
    void RereadFiles();
    // Leaves member `from`, unless somebody has done so already.
    void MoveOn(std::size_t from) { current_.compare_exchange_strong(from, from + 1); }
    Duration AttemptTime(Steady deadline) const;

    const EtcdOptions options_;
    std::atomic<std::int64_t> pinned_ = 0;
    std::vector<std::shared_ptr<Channel>> channels_;  // One to each member.
    std::string stamps_;                              // Of the files that they were made with.
    Steady looked_at_{};                              // When these were last compared.
    std::atomic<std::size_t> current_ = 0;            // Modulo their number.
    std::mutex mutex_;
    Token token_;
    bool authenticating_ = false;
    std::vector<std::coroutine_handle<>> waiters_;  // For the token under way.
};

}  // namespace takt::internal::etcd
