// MemoryStore: a Store that keeps nothing beyond its process, for tests and for the simulator.
//
// Handles that share one MemoryDatabase are the schedulers of one cluster. With a `post` of the
// caller's a handle has no thread: each operation runs when the caller runs what was posted, in the
// order in which operations were asked for, so a simulation decides when everything happens.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "store/call_store.h"
#include "store/memory/database.h"
#include "store/operation_queue.h"
#include "store/store.h"

namespace takt::internal {

class MemoryStore : public CallStore<MemoryStore> {
  public:
    // Takes work to run later, once. What is posted may outlive the store; it then does nothing.
    using Post = std::function<void(std::move_only_function<void()>)>;

    // Without `post`, operations run on a thread of the handle's own.
    explicit MemoryStore(std::shared_ptr<MemoryDatabase> database, Post post = {});
    ~MemoryStore() override;

    StoreLimits limits() const override;
    std::string Describe() const override { return "memory"; }

    void Commit(BatchPtr batch, Done<void> done) override;
    void DropPartition(Partition partition, std::uint64_t epoch, Done<void> done) override;

    template <typename Part, typename T, typename Work>
    void Call(Part, Work work, Done<T> done) {
        queue_->Push(MakeOperation<MemoryDatabase, T>(std::move(work), std::move(done)));
        if (!post_) return;
        post_([queue = queue_, database = database_] {
            if (auto operation = queue->TryPop()) (*operation)(database.get(), nullptr);
        });
    }

  private:
    const std::shared_ptr<MemoryDatabase> database_;
    const std::shared_ptr<OperationQueue<MemoryDatabase>> queue_;
    const Post post_;
    std::jthread thread_;
};

}  // namespace takt::internal
