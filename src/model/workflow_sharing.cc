#include "model/workflow_sharing.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace takt::internal {
namespace {

// Workflows that somebody holds, by their digests. It holds none itself.
class Held {
  public:
    WorkflowPtr Share(const WorkflowPtr& made) {
        // Of all of it: many that differ in little must not be compared one by one.
        const std::size_t digest = std::hash<std::string>{}(made->Spelled());
        const std::lock_guard lock(mutex_);
        const auto [first, last] = known_.equal_range(digest);
        for (auto at = first; at != last; ++at) {
            WorkflowPtr held;
            static_cast<std::shared_ptr<const Workflow>&>(held) = at->second.lock();
            if (held && held == made) return held;
        }
        Forget();
        known_.emplace(digest, made);
        return made;
    }

  private:
    // Drops those that nobody holds any more, when half of them may be so.
    void Forget() {
        if (known_.size() < forget_at_) return;
        std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
        forget_at_ = std::max(kForgetAt, 2 * known_.size());
    }

    static constexpr std::size_t kForgetAt = 256;

    std::mutex mutex_;
    std::unordered_multimap<std::size_t, std::weak_ptr<const Workflow>> known_;
    std::size_t forget_at_ = kForgetAt;
};

}  // namespace

WorkflowPtr ShareWorkflow(const WorkflowPtr& made) {
    static Held held;
    return held.Share(made);
}

}  // namespace takt::internal
