#include "store/memory/store.h"

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

void MemoryStore::Commit(BatchPtr batch, Done<void> done) {
    const auto work = [batch = std::move(batch)](MemoryDatabase& database) {
        return database.Commit(*batch);
    };
    Call(TermCall{}, work, std::move(done));
}

void MemoryStore::DropPartition(Partition partition, std::uint64_t epoch, Done<void> done) {
    const auto work = [partition, epoch](MemoryDatabase& database) {
        return database.DropPartition(partition, epoch);
    };
    Call(TermCall{}, work, std::move(done));
}

}  // namespace takt::internal
