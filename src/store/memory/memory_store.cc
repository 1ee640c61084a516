#include "store/memory/memory_store.h"

namespace takt::internal {

MemoryStore::MemoryStore(std::shared_ptr<MemoryDatabase> database, Post post)
    : database_(std::move(database)),
      queue_(std::make_shared<OperationQueue<MemoryDatabase>>()),
      post_(std::move(post)) {
    if (post_) return;
    thread_ = std::jthread([queue = queue_, database = database_] {
        while (auto operation = queue->Pop()) (*operation)(database.get(), nullptr);
    });
}

MemoryStore::~MemoryStore() {
    queue_->Close();
}

StoreLimits MemoryStore::limits() const {
    return {.changes_max = 4096, .bytes_max = 16u << 20, .pipeline_max = 4, .purge_max = 8192};
}

template <typename T, typename Work>
void MemoryStore::Enqueue(Work work, Done<T> done) {
    queue_->Push(MakeOperation<MemoryDatabase, T>(std::move(work), std::move(done)));
    if (!post_) return;
    post_([queue = queue_, database = database_] {
        if (auto operation = queue->TryPop()) (*operation)(database.get(), nullptr);
    });
}

void MemoryStore::Acquire(const Candidate& candidate, Done<Term> done) {
    Enqueue([candidate](MemoryDatabase& database) { return database.Acquire(candidate); },
            std::move(done));
}

void MemoryStore::Renew(const Term& term, Duration ttl, Done<void> done) {
    Enqueue([term, ttl](MemoryDatabase& database) { return database.Renew(term, ttl); },
            std::move(done));
}

void MemoryStore::Resign(const Term& term, Done<void> done) {
    Enqueue([term](MemoryDatabase& database) { return database.Resign(term); }, std::move(done));
}

void MemoryStore::Leader(Partition partition, Done<std::optional<LeaderRow>> done) {
    Enqueue([partition](MemoryDatabase& database) { return database.Leader(partition); },
            std::move(done));
}

void MemoryStore::Announce(const NodeRow& node, Duration ttl, Done<void> done) {
    Enqueue([node, ttl](MemoryDatabase& database) { return database.Announce(node, ttl); },
            std::move(done));
}

void MemoryStore::Nodes(Done<std::vector<NodeRow>> done) {
    Enqueue([](MemoryDatabase& database) { return database.Nodes(); }, std::move(done));
}

void MemoryStore::Commit(BatchPtr batch, Done<void> done) {
    Enqueue(
        [batch = std::move(batch)](MemoryDatabase& database) { return database.Commit(*batch); },
        std::move(done));
}

void MemoryStore::Load(Partition partition, const std::string& cursor, Done<LoadPage> done) {
    Enqueue(
        [partition, cursor](MemoryDatabase& database) { return database.Load(partition, cursor); },
        std::move(done));
}

void MemoryStore::FindExecutions(std::vector<ExecutionId> ids,
                                 Done<std::vector<std::optional<Execution>>> done) {
    Enqueue(
        [ids = std::move(ids)](MemoryDatabase& database) { return database.FindExecutions(ids); },
        std::move(done));
}

void MemoryStore::ListExecutions(const ExecutionFilter& filter, Done<std::vector<Execution>> done) {
    Enqueue([filter](MemoryDatabase& database) { return database.ListExecutions(filter); },
            std::move(done));
}

void MemoryStore::FindTask(const TaskId& id, Done<TaskRow> done) {
    Enqueue([id](MemoryDatabase& database) { return database.FindTask(id); }, std::move(done));
}

void MemoryStore::ListTasks(const TaskFilter& filter, Done<std::vector<TaskRow>> done) {
    Enqueue([filter](MemoryDatabase& database) { return database.ListTasks(filter); },
            std::move(done));
}

void MemoryStore::ListWorkers(Done<std::vector<Worker>> done) {
    Enqueue([](MemoryDatabase& database) { return database.ListWorkers(); }, std::move(done));
}

void MemoryStore::ListSettings(const Text& key_prefix, Done<std::vector<SettingPut>> done) {
    Enqueue([key_prefix](MemoryDatabase& database) { return database.ListSettings(key_prefix); },
            std::move(done));
}

void MemoryStore::ReadLog(const ExecutionId& execution, Serial after, std::size_t limit,
                          Done<std::vector<LogChunk>> done) {
    Enqueue([execution, after,
             limit](MemoryDatabase& database) { return database.ReadLog(execution, after, limit); },
            std::move(done));
}

void MemoryStore::ReadEvents(Serial after, std::size_t limit, Done<std::vector<Event>> done) {
    Enqueue([after, limit](MemoryDatabase& database) { return database.ReadEvents(after, limit); },
            std::move(done));
}

}  // namespace takt::internal
