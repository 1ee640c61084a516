#include "api/end_watch.h"

namespace takt::internal {
namespace {

bool IsEnd(EventType type) {
    return type == EventType::kTaskCompleted || type == EventType::kTaskFailed ||
           type == EventType::kTaskCancelled || type == EventType::kTaskSkipped;
}

}  // namespace

std::uint64_t EndWatch::Await(const ExecutionId& execution, Notify notify) {
    const std::scoped_lock lock(mutex_);
    if (!leading_ || waiting_.size() >= kWaitingMax) return 0;
    waiting_.emplace(std::pair(execution.text(), ++last_number_), std::move(notify));
    count_ = waiting_.size();
    return last_number_;
}

void EndWatch::Forget(const ExecutionId& execution, std::uint64_t number) {
    const std::scoped_lock lock(mutex_);
    waiting_.erase({execution.text(), number});
    count_ = waiting_.size();
}

void EndWatch::Release(const Effects& effects) {
    // One that comes now looks at the store after this, and finds what is released here.
    if (count_ == 0) return;
    const std::scoped_lock lock(mutex_);
    for (const Event& event : effects.events) {
        if (IsEnd(event.type)) Tell(event.execution);
    }
    count_ = waiting_.size();
}

// REQUIRES: mutex_ is held.
void EndWatch::Tell(const ExecutionId& execution) {
    auto entry = waiting_.lower_bound({execution.text(), 0});
    while (entry != waiting_.end() && entry->first.first == execution.text()) {
        entry->second();
        entry = waiting_.erase(entry);
    }
}

void EndWatch::OnLead(bool leads) {
    const std::scoped_lock lock(mutex_);
    leading_ = leads;
    if (leads) return;
    for (auto& [key, notify] : waiting_) notify();
    waiting_.clear();
    count_ = 0;
}

}  // namespace takt::internal
