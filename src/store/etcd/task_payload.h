// Large payloads of recurring tasks. A task's row is written with each of its fires; its payload is
// written once, under a key that is named after the commit that wrote it, and the row names that
// commit. So a new payload never replaces the one that the stored row still leads to.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/text.h"
#include "store/etcd/async.h"
#include "store/etcd/keys.h"
#include "store/store.h"

namespace takt::internal::etcd {

class Snapshot;

bool KeepsPayloadApart(const Task& task);

// The row without its payload, which is under keys.TaskPayload(…, at).
std::string EncodeTaskApart(const TaskRow& row, PackName at);
// Where the payload of a stored row is; nothing if it is in the row.
std::optional<PackName> PayloadOfTask(std::string_view bytes);

struct TaskPayload {
    std::optional<PackName> at;  // Nothing: no payload of the task is kept apart.
    Text payload;                // What is there. Empty if an earlier term wrote it.
};

// The leader's knowledge of the payloads that are kept apart, so that it writes them once and
// deletes what is replaced. For one thread at a time.
class TaskPayloads {
  public:
    // The next transaction is of this term: what another one knew counts no more.
    void Begin(const Term& term);
    // Tasks of the batch of which it must be known, by reading their rows, what is stored.
    std::vector<TaskId> Unknown(const Batch& batch) const;
    void Learn(const TaskId& task, std::optional<PackName> at);

    TaskPayload Find(const TaskId& task) const;
    // The payloads that will be stored if the transaction succeeds.
    void Draft(const TaskId& task, TaskPayload payload);
    void Keep();  // It did.
    void Drop();  // It did not, or nobody knows: the rows are read again.

  private:
    using Payloads = std::unordered_map<Text, TaskPayload, TextHash, TextEqual>;

    Term term_;
    Payloads known_;  // As many as there are tasks with large payloads, or with changed ones.
    Payloads drafts_;
};

struct StoredTask {
    TaskRow row;
    std::optional<PackName> apart;  // Where its payload is, if that is not in the row.
};

// The rows with their payloads, in order. One whose payload is missing is left out, and the log
// says so: it must not fire without.
Async<Result<std::vector<TaskRow>>> CompleteTasks(Snapshot& snapshot, const Keys& keys,
                                                  Partition partition,
                                                  std::vector<StoredTask> tasks);

}  // namespace takt::internal::etcd
