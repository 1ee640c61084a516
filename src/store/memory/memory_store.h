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

#include "store/memory/memory_database.h"
#include "store/operation_queue.h"
#include "store/store.h"

namespace takt::internal {

class MemoryStore final : public Store {
  public:
    // Takes work to run later, once. What is posted may outlive the store; it then does nothing.
    using Post = std::function<void(std::move_only_function<void()>)>;

    // Without `post`, operations run on a thread of the handle's own.
    explicit MemoryStore(std::shared_ptr<MemoryDatabase> database, Post post = {});
    ~MemoryStore() override;

    StoreLimits limits() const override;
    std::string Describe() const override { return "memory"; }

    void Acquire(const Candidate& candidate, Done<Term> done) override;
    void Renew(const Term& term, Duration ttl, Done<void> done) override;
    void Resign(const Term& term, Done<void> done) override;
    void Leader(Partition partition, Done<std::optional<LeaderRow>> done) override;
    void Announce(const NodeRow& node, Duration ttl, Done<void> done) override;
    void Nodes(Done<std::vector<NodeRow>> done) override;
    void Commit(BatchPtr batch, Done<void> done) override;
    void Load(Partition partition, const std::string& cursor, Done<LoadPage> done) override;
    void FindExecutions(std::vector<ExecutionId> ids,
                        Done<std::vector<std::optional<Execution>>> done) override;
    void ListExecutions(const ExecutionFilter& filter, Done<std::vector<Execution>> done) override;
    void FindTask(const TaskId& id, Done<TaskRow> done) override;
    void ListTasks(const TaskFilter& filter, Done<std::vector<TaskRow>> done) override;
    void ListWorkers(Done<std::vector<Worker>> done) override;
    void ListSettings(const Text& key_prefix, Done<std::vector<SettingPut>> done) override;
    void ReadLog(const ExecutionId& execution, Serial after, std::size_t limit,
                 Done<std::vector<LogChunk>> done) override;
    void ReadEvents(Serial after, std::size_t limit, Done<std::vector<Event>> done) override;

  private:
    template <typename T, typename Work>
    void Enqueue(Work work, Done<T> done);

    const std::shared_ptr<MemoryDatabase> database_;
    const std::shared_ptr<OperationQueue<MemoryDatabase>> queue_;
    const Post post_;
    std::jthread thread_;
};

}  // namespace takt::internal
