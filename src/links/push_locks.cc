// A lock that an attempt had was taken away: its executor is told, by POST {base_url}/lock_lost.
#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/log.h"
#include "links/push_instance.h"
#include "links/service_report.h"

namespace takt::internal {
namespace {

// The order may still be on its way when the loss is told, and a process may be busy for a moment. One
// who has not heard of it by then has its fencing token: what it protects refuses him.
constexpr int kLossTries = 3;
constexpr Duration kLossDelay{1'000};
constexpr std::size_t kLossAnswerBytesMax = 4 << 10;

std::string LossText(const AttemptRef& attempt, const LockGrant& lock, std::string_view why) {
    std::string body;
    JsonWriter json(body);
    json.BeginObject().Field("execution_id", attempt.execution.view());
    json.Field("attempt", attempt.attempt).Field("name", lock.name.view());
    json.Field("token", lock.token).Field("reason", why).EndObject();
    return body;
}

}  // namespace

void PushInstance::OnLockLost(const LockVerdict& verdict) {
    Attempt* attempt = FindAttempt(verdict.attempt);
    if (!attempt) return;
    std::vector<LockGrant>& locks = attempt->assign.locks;
    const auto lock = std::ranges::find(locks, verdict.name, &LockGrant::name);
    if (lock == locks.end()) return;
    std::string body = LossText(verdict.attempt, *lock, verdict.why.view());
    // An order that has not left yet, or is sent again, does not promise it any more.
    locks.erase(lock);
    if (attempt->phase != Phase::kQueued)
        TellLockLost(verdict.attempt, std::move(body), kLossTries);
}

void PushInstance::TellLockLost(AttemptRef attempt, std::string body, int tries) {
    if (session_ == 0 || !FindAttempt(attempt)) return;
    HttpCall call{.method = HttpMethod::kPost,
                  .url = row_.address.str() + "/lock_lost",
                  .headers = {{"Content-Type", "application/json"},
                              {"X-Takt-Token", TokenText(attempt.token)}},
                  .body = body,
                  .timeout = context_->config.health_timeout,
                  .response_bytes_max = kLossAnswerBytesMax};
    context_->check(
        Guarded(std::move(call)),
        [&runtime = context_->runtime, weak = weak_from_this(), attempt = std::move(attempt),
         body = std::move(body), tries](Result<HttpAnswer> answer) mutable {
            if (answer && answer->status < 300) return;
            runtime.Post([weak = std::move(weak), attempt = std::move(attempt),
                          body = std::move(body), tries]() mutable {
                const auto self = weak.lock();
                if (!self) return;
                self->TellLockLostLater(std::move(attempt), std::move(body), tries - 1);
            });
        });
}

void PushInstance::TellLockLostLater(AttemptRef attempt, std::string body, int tries) {
    if (tries == 0) {
        Log(LogLevel::kWarning, "executors", "an executor could not be told of a lock it has lost",
            {{"executor", row_.id}, {"execution", attempt.execution}});
        return;
    }
    context_->runtime.After(kLossDelay, [weak = weak_from_this(), attempt = std::move(attempt),
                                         body = std::move(body), tries]() mutable {
        const auto self = weak.lock();
        if (self) self->TellLockLost(std::move(attempt), std::move(body), tries);
    });
}

}  // namespace takt::internal
