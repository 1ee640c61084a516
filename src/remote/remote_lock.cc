#include "remote/remote_lock.h"

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <utility>

#include "base/json.h"
#include "base/random.h"
#include "remote/remote.h"

namespace takt::internal {
namespace {

// One question stands in line no longer: proxies and servers cut what takes longer.
constexpr Duration kSlice{20'000};
constexpr Duration kRetryPause{200};

// A thread's wait stands still while the machine is suspended, and the lease does not: so long after
// the machine woke up the holder hears at the latest that it was lost.
constexpr Duration kLook{500};

std::string NewRequestId() {
    Random random(NewRandomSeed());
    return std::to_string(random.Next()) + "-" + std::to_string(random.Next());
}

struct AcquireQuestion {
    Duration wait{0};
    std::string_view request_id;
    std::uint64_t last_token = 0;
};

std::string AcquireBody(const LockDemand& demand, const AcquireQuestion& question) {
    std::string body;
    JsonWriter json(body);
    json.BeginObject();
    json.Field("ttl", std::string_view(FormatDuration(demand.ttl)));
    json.Field("wait", std::string_view(FormatDuration(question.wait)));
    json.Field("permits", demand.permits);
    if (!demand.owner.empty()) json.Field("owner", std::string_view(demand.owner));
    if (question.last_token > 0) json.Field("last_token", question.last_token);
    json.Field("request_id", question.request_id).EndObject();
    return body;
}

// Asked again, the same request_id keeps its place, and finds what it was given.
bool MayAskAgain(const Error& error) {
    return error.code == ErrorCode::kUnknown || error.code == ErrorCode::kUnavailable ||
           (error.code == ErrorCode::kConflict && error.field.empty());
}

}  // namespace

RemoteLock::RemoteLock(LockWay way, LockDemand demand)
    : way_(std::move(way)), demand_(std::move(demand)) {
    if (!way_.token_seen) way_.token_seen = std::make_shared<std::atomic<std::uint64_t>>(0);
}

RemoteLock::~RemoteLock() {
    static_cast<void>(Release());
}

std::string RemoteLock::Path(std::string_view action) const {
    return PathOf("locks", demand_.name, action);
}

std::string RemoteLock::IdBody() const {
    std::string body;
    JsonWriter json(body);
    json.BeginObject().Field("lock_id", std::string_view(lock_id_));
    json.Field("last_token", way_.token_seen->load()).EndObject();
    return body;
}

void RemoteLock::NoteToken(std::uint64_t token) {
    token_ = token;
    std::uint64_t seen = *way_.token_seen;
    while (seen < token && !way_.token_seen->compare_exchange_weak(seen, token)) {
    }
}

Result<std::shared_ptr<RemoteLock>> RemoteLock::Acquire(LockWay way, LockDemand demand) {
    const std::shared_ptr<RemoteLock> lock(new RemoteLock(std::move(way), std::move(demand)));
    lock->released_ = true;  // There is nothing to let go yet.
    const std::string request_id = NewRequestId();
    const Steady end = lock->way_.now() + lock->demand_.wait;
    for (;;) {
        const auto held = lock->AcquireOnce(end, request_id);
        if (held && *held) break;
        if (held) continue;
        const Error& error = held.error();
        if (!MayAskAgain(error) || lock->way_.now() >= end) return std::unexpected(error);
        // A question that stood in line has waited already.
        if (error.code != ErrorCode::kConflict && !lock->way_.pause(kRetryPause)) {
            return std::unexpected(error);
        }
    }
    lock->released_ = false;
    lock->watcher_ = std::thread([own = lock.get()] { own->WatchLease(); });
    lock->renewer_ = std::thread([own = lock.get()] { own->KeepRenewing(); });
    return lock;
}

// Whether it is held; false if it was had and is lost already.
Result<bool> RemoteLock::AcquireOnce(Steady end, const std::string& request_id) {
    const auto sent = way_.now();
    const auto left = std::chrono::duration_cast<Duration>(end - sent);
    const auto answer = way_.post(
        Path("acquire"), AcquireBody(demand_, {.wait = std::clamp(left, Duration(0), kSlice),
                                               .request_id = request_id,
                                               .last_token = *way_.token_seen}));
    if (!answer) return std::unexpected(answer.error());
    const auto json = ParseJson(*answer);
    if (!json) return std::unexpected(NotJson("the scheduler", json.error()));
    const auto* given = json->if_object();
    const auto* id = given ? given->if_contains("lock_id") : nullptr;
    const auto* token = given ? given->if_contains("token") : nullptr;
    if (!id || !id->is_string() || !token || !token->is_number()) {
        return Fail(ErrorCode::kInvalid, "the scheduler's answer has no lock_id and token");
    }
    lock_id_ = std::string(id->get_string());
    NoteToken(token->to_number<std::uint64_t>());
    // The lease may have begun when the question was sent. If that was long ago, how much is left
    // of it is not known until it is renewed.
    valid_until_ = sent + demand_.ttl;
    return way_.now() - sent <= demand_.ttl / 3 || Renew() != Renewed::kLost;
}

RemoteLock::Renewed RemoteLock::Renew() {
    const auto sent = way_.now();
    const auto renewed = way_.post(Path("renew"), IdBody());
    if (!renewed) {
        return renewed.error().code == ErrorCode::kConflict ? Renewed::kLost : Renewed::kUnknown;
    }
    const std::scoped_lock lock(mutex_);
    // Its holder was told so already.
    if (lost_) return Renewed::kLost;
    valid_until_ = sent + demand_.ttl;
    return Renewed::kYes;
}

// Renews after each third of the lease, so that two may fail; until it is let go or lost.
void RemoteLock::KeepRenewing() {
    std::unique_lock lock(mutex_);
    auto next = valid_until_ - demand_.ttl + demand_.ttl / 3;
    while (!IsOverBy(next, lock)) {
        lock.unlock();
        const Renewed renewed = Renew();
        lock.lock();
        if (renewed == Renewed::kLost) lost_ = true;
        next = renewed == Renewed::kYes
                   ? valid_until_ - demand_.ttl + demand_.ttl / 3
                   : way_.now() + std::min<Duration>(kRetryPause, demand_.ttl / 10);
    }
    lock.unlock();
    changed_.notify_all();
}

// Whether it is let go or lost at some time, which may be put off meanwhile.
bool RemoteLock::IsOverBy(const Steady& time, std::unique_lock<std::mutex>& lock) {
    while (!released_ && !lost_) {
        const Steady now = way_.now();
        if (now >= time) return false;
        changed_.wait_for(lock, std::min<Steady::duration>(time - now, kLook));
    }
    return true;
}

// Beside it: a renewal may be waited for longer than the lease lasts.
void RemoteLock::WatchLease() {
    std::unique_lock lock(mutex_);
    if (!IsOverBy(valid_until_, lock)) lost_ = true;
    if (!lost_) return;
    std::stop_source over = over_;  // A holder that hears of it may let go of this object.
    lock.unlock();
    changed_.notify_all();
    over.request_stop();
}

Result<void> RemoteLock::Release() {
    {
        const std::scoped_lock lock(mutex_);
        if (std::exchange(released_, true)) return {};
    }
    changed_.notify_all();
    for (std::thread* thread : {&renewer_, &watcher_}) {
        if (thread->get_id() == std::this_thread::get_id()) {
            thread->detach();  // It tells of the loss, and has nothing else to do here.
        } else if (thread->joinable()) {
            thread->join();
        }
    }
    over_.request_stop();
    const auto gone = way_.post(Path("release"), IdBody());
    if (gone || gone.error().code == ErrorCode::kConflict) return {};
    return std::unexpected(gone.error());
}

}  // namespace takt::internal
