// The health of an instance: asked now and then, and when another process claims its place.
#include <utility>

#include "base/failpoint.h"
#include "links/push_instance.h"

namespace takt::internal {
namespace {

// A health page is a word or a short report.
constexpr std::size_t kHealthBytesMax = 64 << 10;

bool Passes(const Result<HttpAnswer>& health) {
    return health && health->status >= 200 && health->status < 300;
}

}  // namespace

void PushInstance::Watch() {
    const auto interval = static_cast<double>(context_->config.health_interval.count());
    CheckLater(Duration(static_cast<std::int64_t>(interval * context_->random.Fraction())));
}

void PushInstance::CheckLater(Duration delay) {
    context_->runtime.Cancel(std::exchange(health_timer_, 0));
    if (!checked()) return;
    health_timer_ = context_->runtime.After(delay, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->Check();
    });
}

void PushInstance::Check() {
    health_timer_ = 0;
    Call(row_.health_url.str(), [weak = weak_from_this()](const Result<HttpAnswer>& answer) {
        if (const auto self = weak.lock()) self->OnHealth(answer);
    });
}

void PushInstance::Call(std::string url,
                        std::move_only_function<void(const Result<HttpAnswer>&)> done) {
    HttpCall call{.url = std::move(url),
                  .timeout = context_->config.health_timeout,
                  .response_bytes_max = kHealthBytesMax};
    context_->check(
        Guarded(std::move(call)),
        [&runtime = context_->runtime, done = std::move(done)](Result<HttpAnswer> answer) mutable {
            runtime.Post(
                [done = std::move(done), answer = std::move(answer)]() mutable { done(answer); });
        });
}

// Two that say nothing of their process may well be two: without a name it is not the same one.
bool PushInstance::IsElsewhere(const Worker& row) const {
    const bool same_process = !row.instance.empty() && row.instance == row_.instance;
    return session_ != 0 && !same_process && row.address != row_.address;
}

void PushInstance::AskWhetherAlive(std::move_only_function<void(bool)> done) {
    if (checked()) {
        return Call(row_.health_url.str(),
                    [done = std::move(done)](const Result<HttpAnswer>& answer) mutable {
                        done(Passes(answer));
                    });
    }
    if (context_->runtime.Now().steady - heard_at_ > context_->config.health_interval) {
        return context_->runtime.Post([done = std::move(done)]() mutable { done(false); });
    }
    // A heartbeat names the id, not the process: it may have been the newcomer's. Whatever answers at
    // its address is alive.
    Call(row_.address.str(), [done = std::move(done)](const Result<HttpAnswer>& answer) mutable {
        done(answer || answer.error().code == ErrorCode::kUnknown);
    });
}

void PushInstance::OnHealth(const Result<HttpAnswer>& answer) {
    // One of an earlier term is kept for its open calls alone: a session of its own would take the
    // work from the one that is there now.
    if (parted_ && !TAKT_MUTANT("links.revive_parted")) return;
    if (health_timer_ != 0) return;  // It registered meanwhile, and is being watched anew.
    const PushLinkConfig& config = context_->config;
    if (Passes(answer)) {
        failures_ = 0;
        ++passes_;
        heard_at_ = context_->runtime.Now().steady;
        if (MayComeBack() && passes_ >= config.recovery_threshold) Open();
    } else {
        passes_ = 0;
        ++failures_;
        trouble_ = answer ? "it answered " + std::to_string(answer->status) : answer.error().detail;
        if (failures_ >= config.failure_threshold) {
            GoOffline(Text("failed " + std::to_string(failures_) +
                           " health checks in a row: " + trouble_));
        }
    }
    // A tenth up or down, so that checks of many executors spread out.
    const double spread = 0.9 + 0.2 * context_->random.Fraction();
    CheckLater(
        Duration(static_cast<std::int64_t>(double(config.health_interval.count()) * spread)));
}

}  // namespace takt::internal
