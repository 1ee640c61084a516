// Writer: turns the batches of one partition into etcd transactions, in order.
//
// One transaction is under way at a time: etcd gives no order to calls that are under way together,
// and one that arrives early would be refused. Batches that come meanwhile are merged into the next
// transaction, which does for throughput what pipelining would, at the price of one disk write for
// all of them. A merged transaction is all or nothing, so each batch in it is.
#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "store/company.h"
#include "store/etcd/client.h"
#include "store/etcd/keys.h"
#include "store/etcd/ops.h"
#include "store/etcd/page_book.h"
#include "store/etcd/purge_window.h"
#include "store/etcd/task_payload.h"
#include "store/etcd/tracker.h"
#include "store/store.h"

namespace takt::internal::etcd {

class Writer {
  public:
    // `applied` is told etcd's revision after each transaction, and how much was written for it.
    using Applied = std::function<void(std::int64_t revision, std::size_t bytes)>;

    // `company` is that of all writers of the store. All batches are of `partition`.
    Writer(Client& client, const Keys& keys, Tracker& tracker, Company& company,
           Partition partition, Applied applied)
        : client_(client),
          keys_(keys),
          tracker_(tracker),
          company_(company),
          applied_(std::move(applied)),
          pages_(keys, partition),
          window_(client, keys, tracker, partition) {}

    void Commit(BatchPtr batch, Done<void> done);

    // A commit that waits ends with kCancelled; one that is under way ends as it does.
    void Close();

  private:
    struct Waiting {
        BatchPtr batch;
        Done<void> done;
    };
    using Group = std::vector<Waiting>;

    // Applies what waits, one group after the other, until nothing is left.
    Detached Drain();
    // Whether the batch has a purge that reads what to delete: it goes alone, so that it has room.
    // `first_finished` is when the first execution of those before it in its group finished.
    bool MustPlan(const Batch& batch, Time first_finished) const;
    // Whether an earlier batch of its term may still be on its way to etcd. What is read for this one
    // would not be what is there when it is applied.
    bool IsAhead(const Batch& batch) const;
    // The next batches that go together. Empty when nothing waits; then Drain is over.
    Group TakeGroup();
    Async<Result<void>> ApplyGroup(Group& group);
    // `bytes` gets what its requests take. Batches that do not fit go back to those that wait.
    Async<Result<pb::TxnResponse>> SendGroup(Group& group, std::size_t& bytes);
    // A write. kUnknown: it may have been applied.
    Async<Result<pb::TxnResponse>> Send(pb::TxnRequest txn);
    void PutBack(Group& group, std::size_t from);
    // Reads what is not known of the pages of these executions. A refusal, if a commit would be
    // refused.
    Async<Result<std::optional<pb::TxnResponse>>> LearnPages(Span span,
                                                             std::vector<Serial> serials);
    // The batch's writes and those of its purge. The same refusal.
    Async<Result<std::optional<pb::TxnResponse>>> AddPurge(Span span, const Batch& batch, Ops& ops);
    // Reads what is stored of the tasks that the group changes, where that is not known yet.
    Async<Result<void>> LearnPayloads(const Group& group);
    // The rows that the batch of a purge deletes beside `own`, which it writes itself. Those in pages
    // are told by their serials.
    Async<Result<Ops>> PlanPurge(const Batch& batch, Ops own, std::vector<Serial>& paged);
    // The verdict of a refused transaction about the batches of the group: those that were applied
    // before are answered and leave it.
    Result<void> ExplainRefusal(const pb::TxnResponse& refusal, Group& group);

    Client& client_;
    const Keys& keys_;
    Tracker& tracker_;
    Company& company_;
    const Applied applied_;
    std::mutex mutex_;
    std::deque<Waiting> waiting_;
    bool draining_ = false;
    // Of Drain alone.
    BatchPtr unsettled_;  // The first whose fate is not known; null: there is none.
    TaskPayloads payloads_;
    PageBook pages_;
    PurgeWindow window_;
};

}  // namespace takt::internal::etcd
