#include "store/etcd/client.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "tls/session.h"

namespace takt::internal::etcd {
namespace {

constexpr Duration kPauseMin{20};
constexpr Duration kPauseMax{500};
// A member that answers at all answers by then as a rule.
constexpr Duration kAttemptMin{200};
// A lease of etcd's is granted and renewed in whole seconds.
constexpr Duration kSecond{1000};

// Three files are looked at then, which costs nothing beside a call.
constexpr Duration kFilesEvery{1000};

std::string StampsOf(const StoreTls& tls) {
    return FileStamps({&tls.ca_file, &tls.cert_file, &tls.key_file});
}

// All of an operation's attempts failed, or one did in a way that ends it.
Error Conclude(Effect effect, bool maybe_applied, Error error) {
    if (maybe_applied && effect != Effect::kRead && error.code == ErrorCode::kUnavailable) {
        error.code = ErrorCode::kUnknown;
    }
    return error;
}

}  // namespace

// Waits for the authentication that is under way. False: there is none, the caller begins it.
struct Client::TokenWait {
    Client& client;
    bool waited = false;

    bool await_ready() const { return false; }
    bool await_suspend(std::coroutine_handle<> waiter) {
        const std::lock_guard lock(client.mutex_);
        waited = std::exchange(client.authenticating_, true);
        if (!waited) return false;
        // Once the lock is released the coroutine may go on, and this object be gone.
        client.waiters_.push_back(waiter);
        return true;
    }
    bool await_resume() const { return waited; }
};

Client::Client(const EtcdOptions& options, const Security& security)
    : options_(options), stamps_(StampsOf(options.tls)), looked_at_(SteadyClock::now()) {
    for (const std::string& endpoint : options.endpoints) {
        channels_.push_back(MakeChannel(endpoint, security));
    }
}

std::shared_ptr<Channel> Client::channel(std::size_t at) {
    const std::lock_guard lock(mutex_);
    if (options_.tls.enabled) RereadFiles();
    return channels_[at % channels_.size()];
}

void Client::RereadFiles() {
    const Steady now = SteadyClock::now();
    if (now - looked_at_ < kFilesEvery) return;
    looked_at_ = now;
    std::string stamps = StampsOf(options_.tls);
    if (stamps == stamps_) return;
    stamps_ = std::move(stamps);
    const Result<Security> security = ReadSecurity(options_);
    if (!security) {
        Log(LogLevel::kError, "store", "changed certificates cannot be used; the old ones stay",
            {{"error", security.error().detail}});
        return;
    }
    // Calls under way hold the connection that they began on.
    for (std::size_t i = 0; i < channels_.size(); ++i) {
        channels_[i] = MakeChannel(options_.endpoints[i], *security);
    }
}

Client::Token Client::token() {
    const std::lock_guard lock(mutex_);
    return token_;
}

// With several members, one that hangs must leave time to ask another.
Duration Client::AttemptTime(Steady deadline) const {
    const auto left = std::chrono::ceil<Duration>(deadline - SteadyClock::now());
    if (channels_.size() == 1) return std::max(left, Duration(1));
    // Also if there is little time at all, as for a renewal.
    return std::clamp(std::min(options_.timeout / 3, std::max(left / 2, kAttemptMin)), Duration(1),
                      std::max(left, Duration(1)));
}

Async<Result<void>> Client::Invoke(Rpc rpc, Effect effect, Steady latest) {
    const Steady deadline = std::min<Steady>(SteadyClock::now() + options_.timeout, latest);
    bool maybe_applied = false;
    Duration pause = kPauseMin;
    // Every turn but the first comes after a pause, and none begins after the deadline.
    for (;;) {
        const std::size_t at = current_.load();
        const Token token = this->token();
        Verdict verdict{.next = Verdict::Next::kNewToken};
        if (options_.user.empty() || token.generation != 0) {
            const std::shared_ptr<Channel> member = channel(at);
            const RpcStatus status = co_await member->Call(rpc, token.text, AttemptTime(deadline));
            if (status.ok()) co_return {};
            verdict = Judge(status);
        }
        maybe_applied = maybe_applied || verdict.maybe_applied;
        if (verdict.next == Verdict::Next::kStop || (maybe_applied && effect == Effect::kOnce)) {
            co_return std::unexpected(Conclude(effect, maybe_applied, std::move(verdict.error)));
        }
        if (verdict.next == Verdict::Next::kMoveOn) MoveOn(at);
        if (verdict.next == Verdict::Next::kNewToken) {
            if (options_.user.empty()) {
                co_return Fail(ErrorCode::kUnavailable, verdict.error.detail +
                                                            "; etcd asks for a user: write "
                                                            "etcd://user:password@host");
            }
            std::optional<Verdict> refused = co_await RefreshToken(token, deadline);
            if (!refused && SteadyClock::now() < deadline) continue;
            if (refused) verdict = std::move(*refused);
            // Asking again with a wrong password costs etcd 50 ms of processor time each.
            if (verdict.next == Verdict::Next::kStop) {
                co_return std::unexpected(Conclude(effect, maybe_applied, verdict.error));
            }
        }
        if (SteadyClock::now() + pause >= deadline) {
            co_return std::unexpected(Conclude(effect, maybe_applied, std::move(verdict.error)));
        }
        co_await Pause(pause);
        pause = std::min(pause * 2, kPauseMax);
    }
}

Async<std::optional<Verdict>> Client::RefreshToken(Token old, Steady deadline) {
    if (token().generation != old.generation) co_return std::nullopt;
    if (co_await TokenWait{*this}) {
        if (token().generation != old.generation) co_return std::nullopt;
        co_return Verdict{Verdict::Next::kAgain,
                          false,
                          {ErrorCode::kUnavailable, "etcd: authentication did not succeed", {}}};
    }
    std::optional<Verdict> refused = co_await Authenticate(deadline);
    std::vector<std::coroutine_handle<>> waiters;
    {
        const std::lock_guard lock(mutex_);
        authenticating_ = false;
        waiters.swap(waiters_);
    }
    for (const std::coroutine_handle<> waiter : waiters) waiter.resume();
    co_return refused;
}

Async<std::optional<Verdict>> Client::Authenticate(Steady deadline) {
    pb::AuthenticateRequest request;
    request.set_name(options_.user);
    request.set_password(options_.password);
    pb::AuthenticateResponse response;
    const std::size_t at = current_.load();
    const std::shared_ptr<Channel> member = channel(at);
    const RpcStatus status = co_await member->Call(
        {"/etcdserverpb.Auth/Authenticate", &request, &response}, {}, AttemptTime(deadline));
    // A cluster whose authentication is off takes everybody; the user of the URL is then not used.
    const bool off = status.code == RpcCode::kFailedPrecondition;
    if (!status.ok() && !off) {
        Verdict verdict = Judge(status);
        if (verdict.next == Verdict::Next::kMoveOn) MoveOn(at);
        verdict.maybe_applied = false;  // Of what the caller wants, nothing was sent yet.
        co_return verdict;
    }
    const std::lock_guard lock(mutex_);
    token_ = {response.token(), token_.generation + 1};
    co_return std::nullopt;
}

Async<Result<pb::RangeResponse>> Client::Range(pb::RangeRequest request, Steady latest) {
    pb::RangeResponse response;
    Result<void> done =
        co_await Invoke({"/etcdserverpb.KV/Range", &request, &response}, Effect::kRead, latest);
    if (!done) co_return std::unexpected(std::move(done.error()));
    co_return response;
}

Async<Result<pb::TxnResponse>> Client::Txn(pb::TxnRequest request, Effect effect, Steady latest) {
    pb::TxnResponse response;
    Result<void> done =
        co_await Invoke({"/etcdserverpb.KV/Txn", &request, &response}, effect, latest);
    if (!done) co_return std::unexpected(std::move(done.error()));
    co_return response;
}

Async<Result<pb::CompactionResponse>> Client::Compact(std::int64_t revision) {
    pb::CompactionRequest request;
    request.set_revision(revision);
    pb::CompactionResponse response;
    Result<void> done =
        co_await Invoke({"/etcdserverpb.KV/Compact", &request, &response}, Effect::kOnce);
    if (!done) co_return std::unexpected(std::move(done.error()));
    co_return response;
}

Async<Result<pb::LeaseGrantResponse>> Client::LeaseGrant(Duration ttl, Steady latest) {
    pb::LeaseGrantRequest request;
    request.set_ttl((ttl + kSecond - Duration(1)) / kSecond);
    pb::LeaseGrantResponse response;
    // Granted twice, the first lease holds no key and runs out by itself.
    Result<void> done = co_await Invoke({"/etcdserverpb.Lease/LeaseGrant", &request, &response},
                                        Effect::kRepeatable, latest);
    if (!done) co_return std::unexpected(std::move(done.error()));
    co_return response;
}

Async<Result<pb::LeaseRevokeResponse>> Client::LeaseRevoke(std::int64_t lease) {
    pb::LeaseRevokeRequest request;
    request.set_id(lease);
    pb::LeaseRevokeResponse response;
    Result<void> done = co_await Invoke({"/etcdserverpb.Lease/LeaseRevoke", &request, &response},
                                        Effect::kRepeatable);
    if (!done) co_return std::unexpected(std::move(done.error()));
    co_return response;
}

Async<Result<pb::LeaseKeepAliveResponse>> Client::LeaseKeepAlive(std::int64_t lease,
                                                                 Steady latest) {
    pb::LeaseKeepAliveRequest request;
    request.set_id(lease);
    pb::LeaseKeepAliveResponse response;
    Result<void> done =
        co_await Invoke({"/etcdserverpb.Lease/LeaseKeepAlive", &request, &response, true},
                        Effect::kRepeatable, latest);
    if (!done) co_return std::unexpected(std::move(done.error()));
    co_return response;
}

Async<Result<pb::StatusResponse>> Client::Status() {
    const pb::StatusRequest request;
    pb::StatusResponse response;
    Result<void> done =
        co_await Invoke({"/etcdserverpb.Maintenance/Status", &request, &response}, Effect::kRead);
    if (!done) co_return std::unexpected(std::move(done.error()));
    co_return response;
}

}  // namespace takt::internal::etcd
