// A worker runtime against a whole scheduler in the same process, over real sockets.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/stack.h"
#include "worker/worker_runtime.h"

namespace takt::internal::testing_support {

// Opens once, for handlers and tests to wait on.
class Latch {
  public:
    void Open() {
        const std::scoped_lock lock(mutex_);
        open_ = true;
        changed_.notify_all();
    }
    bool Await() {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, kPatience, [&] { return open_; });
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool open_ = false;
};

// As a handler that obeys: returns when it is asked to stop, with the reason.
inline StopReason AwaitStop(TaskContext& context) {
    Latch stopped;
    const std::stop_callback callback(context.stop_token(), [&] { stopped.Open(); });
    EXPECT_TRUE(stopped.Await());
    return context.stop_reason();
}

// A handler that does not stop until the test lets it. Shared with it, since it may outlive its
// worker.
struct StuckHandler {
    Latch gate;
    Latch ended;
};

class WorkerRuntimeTest : public testing::Test {
  protected:
    WorkerRuntimeTest() { Begin({}); }
    ~WorkerRuntimeTest() override { worker_.reset(); }

    void Begin(StackOptions options) {
        stack_.reset();
        stack_ = std::make_unique<Stack>(std::move(options));
        EXPECT_TRUE(stack_->watcher.AwaitRole(Role::kLeader));
    }
    void On(std::string type, TaskFunction function) {
        ASSERT_TRUE(handlers_.AddFunction(std::move(type), std::move(function)));
    }
    std::shared_ptr<StuckHandler> OnStuck(std::string type) {
        auto stuck = std::make_shared<StuckHandler>();
        On(std::move(type), [stuck](TaskContext&) {
            stuck->gate.Await();
            stuck->ended.Open();
            return TaskResult::Success();
        });
        return stuck;
    }
    // A handler that succeeds once it may.
    void OnLong(std::string type, Latch& began, Latch& may_end) {
        On(std::move(type), [&](TaskContext&) {
            began.Open();
            EXPECT_TRUE(may_end.Await());
            return TaskResult::Success();
        });
    }
    static WorkerOptions Quick() {
        WorkerOptions options;
        options.id = "w-1";
        options.backoff_min = Duration(5);
        options.backoff_max = Duration(50);
        options.stop_grace = Duration(100);
        return options;
    }
    void Start(WorkerOptions options = Quick()) {
        if (options.servers.empty()) options.servers = {stack_->url()};
        options.on_event = [this](WorkerEvent event, std::string_view detail) {
            const std::scoped_lock lock(mutex_);
            events_.emplace_back(event, detail);
            changed_.notify_all();
        };
        auto worker = WorkerRuntime::Create(std::move(options), handlers_);
        ASSERT_TRUE(worker) << worker.error().detail;
        worker_ = std::move(*worker);
        ASSERT_TRUE(worker_->Start());
    }
    bool AwaitEvents(WorkerEvent event, std::size_t count = 1) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, kPatience, [&] {
            return std::ranges::count(events_, event, [](const auto& e) { return e.first; }) >=
                   static_cast<std::ptrdiff_t>(count);
        });
    }
    Execution AwaitEnd(const ExecutionId& id, EventType type) {
        EXPECT_TRUE(stack_->watcher.AwaitEvent(type, id));
        return stack_->Read(id);
    }

    std::unique_ptr<Stack> stack_;
    HandlerRegistry handlers_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::pair<WorkerEvent, std::string>> events_;
    std::unique_ptr<WorkerRuntime> worker_;
};

}  // namespace takt::internal::testing_support
