// StoreSnapshot: the state of a store at one moment, for reading all of it while schedulers go on.
//
//   embedded  a copy of the file, made within one read transaction
//   mysql     one transaction with a consistent snapshot, on one connection
//   etcd      one revision, for as long as the leader's compaction leaves it
//   redis     has no such thing: commits are held back while it is read, for a bounded time
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "store/store.h"

namespace takt::internal {

struct SnapshotOptions {
    std::string scratch;        // embedded: a directory for the copy, made and removed again.
    Duration pause_max{5'000};  // redis: commits are held back no longer than this.
};

class StoreSnapshot {
  public:
    virtual ~StoreSnapshot() = default;

    // Every read sees that moment. Leaders is of now; nothing may be written.
    virtual Store& store() = 0;

    // After the last read: all of them saw that moment. kUnavailable, with a sentence, if not; then
    // what was read is of no use.
    virtual Result<void> Confirm() { return {}; }
};

// A store that was opened in such a way that it shows one moment.
class OwnedSnapshot : public StoreSnapshot {
  public:
    explicit OwnedSnapshot(std::unique_ptr<Store> store) : store_(std::move(store)) {}
    Store& store() override { return *store_; }

  private:
    std::unique_ptr<Store> store_;
};

}  // namespace takt::internal
