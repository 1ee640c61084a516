// Sees everything that a node releases, and lets tests wait for it.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "node/sink.h"

namespace takt::internal {

// Hands all of it on to `others` first.
class TestSink final : public Sink {
  public:
    explicit TestSink(std::vector<Sink*> others) : others_(std::move(others)) {}

    void OnCommit(const Committed& committed) override {
        for (Sink* other : others_) other->OnCommit(committed);
        const std::scoped_lock lock(mutex_);
        for (const Change& change : committed.changes) {
            const auto* row = std::get_if<ExecutionChange>(&change);
            if (row) stored_[row->row.id.text().str()] = {row->row.status, row->row.attempt};
        }
        changed_.notify_all();
    }
    void Release(const Effects& effects) override {
        for (Sink* other : others_) other->Release(effects);
        if (on_assign) {
            for (const Assign& assign : effects.assigns) on_assign(assign);
        }
        const std::scoped_lock lock(mutex_);
        for (const Event& event : effects.events) events_.push_back(event);
        changed_.notify_all();
    }
    void OnRole(Role role) override {
        for (Sink* other : others_) other->OnRole(role);
        const std::scoped_lock lock(mutex_);
        role_ = role;
        changed_.notify_all();
    }

    // Something has happened elsewhere that a condition of a test may hang on.
    void Nudge() {
        const std::scoped_lock lock(mutex_);
        changed_.notify_all();
    }
    template <typename Condition>
    bool AwaitThat(Condition condition) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, std::chrono::seconds(10), condition);
    }
    void AwaitRole(Role role) {
        ASSERT_TRUE(AwaitThat([&] { return role_ == role; }));
    }
    // Waits until the store has an execution in this state; not every event waits for that.
    void AwaitStored(const std::string& execution, Status status, std::uint32_t attempt) {
        ASSERT_TRUE(AwaitThat([&] { return stored_[execution] == std::pair(status, attempt); }))
            << execution << " was not stored as " << Name(status);
    }
    // Waits until an execution has come to this; true at once if it has.
    void Await(EventType type, std::string_view execution) {
        ASSERT_TRUE(AwaitThat([&] {
            for (const Event& event : events_) {
                if (event.type == type && event.execution.view() == execution) return true;
            }
            return false;
        })) << Name(type)
            << " of " << execution << " did not come";
    }
    void AwaitWorker(std::string_view worker) {
        ASSERT_TRUE(AwaitThat([&] {
            for (const Event& event : events_) {
                if (event.type == EventType::kWorkerJoined && event.worker.view() == worker) {
                    return true;
                }
            }
            return false;
        }));
    }

    std::function<void(const Assign&)> on_assign;  // On the node's thread.

  private:
    const std::vector<Sink*> others_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Event> events_;
    std::map<std::string, std::pair<Status, std::uint32_t>> stored_;  // With the attempt's number.
    Role role_ = Role::kFollower;
};

}  // namespace takt::internal
