#include "takt/lock.h"

#include "remote/remote_lock.h"
#include "sdk/calls.h"
#include "sdk/convert.h"
#include "takt/scheduler_api.h"

namespace takt {

struct HeldLock::Impl {
    std::shared_ptr<internal::RemoteLock> lock;
};

const std::string& HeldLock::name() const {
    return impl_->lock->name();
}
const std::string& HeldLock::lock_id() const {
    return impl_->lock->lock_id();
}
std::uint64_t HeldLock::token() const {
    return impl_->lock->token();
}
std::stop_token HeldLock::stop_token() const {
    return impl_->lock->over();
}
Result<void> HeldLock::Release() {
    return ResultOf(impl_->lock->Release());
}

Result<HeldLock> SchedulerApi::Lock(std::string_view name) {
    return Lock(name, LockOptions());
}

Result<HeldLock> SchedulerApi::Lock(std::string_view name, const LockOptions& options) {
    std::shared_ptr<Calls> calls = calls_->MakeAnother();
    if (!calls) calls = calls_;
    internal::LockWay way{
        .post =
            [calls](const std::string& path, const std::string& body) {
                return calls->Call({internal::HttpMethod::kPost, path, body});
            },
        .pause = [calls](internal::Duration pause) { return calls->Pause(pause); },
        .token_seen = calls_->lock_token_seen};
    auto lock = internal::RemoteLock::Acquire(std::move(way), {.name = std::string(name),
                                                               .ttl = options.ttl,
                                                               .wait = options.wait,
                                                               .permits = options.permits,
                                                               .owner = options.owner});
    if (!lock) return ErrorOf(lock.error());
    return HeldLock(std::make_shared<HeldLock::Impl>(std::move(*lock)));
}

}  // namespace takt
