// Store: the narrow waist between the scheduler and the database that keeps its state.
//
// It keeps typed rows and knows no scheduling rule. A partition has one writer, its leader, and any
// number of readers. Partitions see nothing of each other: each read is of one, and equal ids and
// keys in two are different rows. Contract, checked for every backend by store/conformance:
//
//   Atomic   A batch is applied whole or not at all.
//   Fenced   Once Acquire has returned a term, no batch of an older term is ever applied.
//   Durable  Success means that the batch survives a crash of the store, to the extent to which the
//            store is configured for it (docs/guarantees.md).
//   Once     A batch whose (term, sequence) was applied before changes nothing and succeeds again.
//   Fresh    A read that begins after a Commit returned sees what it wrote.
//
// Every operation is asynchronous: it calls `done` exactly once, from any thread, never from inside
// the call itself, and within the backend's deadline. A store may be used from any thread.
// Destroying it waits for what is under way; operations still queued end with kCancelled.
//
// Errors, beside those named at an operation: kUnavailable (nothing was applied, try again later)
// and kUnknown (a write may have been applied).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/id.h"
#include "base/time.h"
#include "model/change.h"

namespace takt::internal {

template <typename T>
using Done = std::move_only_function<void(Result<T>)>;

// A period of leadership over one partition. Epochs only rise; the nonce tells apart two terms to
// which a store that lost its last writes (Redis after a failover) gave the same epoch.
struct Term {
    Partition partition = 0;
    std::uint64_t epoch = 0;
    std::uint64_t nonce = 0;

    friend bool operator==(const Term&, const Term&) = default;
};

// The last term of a partition, and whether it stands.
struct LeaderRow {
    Partition partition = 0;
    NodeId
        node;  // Whose term it is. Of a resigned one: who is to lead next, empty if it was not said.
    Text address;  // Where other nodes and workers reach it, "http://10.0.0.5:8080".
    std::uint64_t epoch = 0;
    std::uint64_t nonce = 0;  // 0: the term was resigned.
    bool announced = true;    // Whether its node is. A term stands as long as that is so.

    bool leads() const { return nonce != 0 && announced; }
    bool Is(const Term& term) const {
        return partition == term.partition && epoch == term.epoch && nonce == term.nonce;
    }
};

struct Candidate {
    Partition partition = 0;
    NodeId node;
    Text address;
    std::uint64_t epoch_floor = 0;  // The new epoch is above this too: the highest seen anywhere.
    std::optional<LeaderRow> replaced;  // The partition's row as Leaders gave it; nothing if none.
};

// A scheduler process that is alive, whether it leads or not.
struct NodeRow {
    NodeId node;
    Text address;
    Text version;
    Time started_at{};
    std::vector<Text> namespaces;  // By name, those that it may lead; empty: all.
};

// All state changes that are committed in one atomic, fenced write. Holds at most one change of
// each row and one Purge, which comes after all others; so their order does not matter.
struct Batch {
    Term term;
    std::uint64_t sequence = 0;  // 1, 2, 3 … within the term.
    Serial last_serial = 0;      // The highest serial handed out so far; Load returns it.
    std::vector<Change> changes;
};
using BatchPtr = std::shared_ptr<const Batch>;

// The bounds of one Commit. The node cuts its batches to fit.
struct StoreLimits {
    std::size_t changes_max;
    std::size_t bytes_max;         // Of all rows, as SizeOf counts them.
    std::size_t pipeline_max;      // Commits that may be under way at once, in order.
    std::size_t purge_max = 1000;  // Executions that one Purge may delete.
};

// One page of what a new leader needs, in this order: settings, workers and tasks first, then
// records by kind and key, then live executions by rising serial. Pass `next` back to go on; empty
// at the end. A page is some megabytes, however large its rows are.
struct LoadPage {
    std::vector<SettingPut> settings;
    std::vector<Worker> workers;
    std::vector<TaskRow> tasks;
    std::vector<RecordPut> records;
    std::vector<Execution> executions;
    Serial last_serial = 0;
    std::string next;
};

// A list of whole rows ends with the row by which its payloads and results reach this much: a
// thousand rows of a megabyte each would not fit into the memory of many a scheduler.
constexpr std::size_t kListBytes = 8u << 20;
// An error's message in a brief list.
constexpr std::size_t kBriefMessageBytes = 4u << 10;

// Filters combine with AND; an empty one does not filter. Newest first.
struct ExecutionFilter {
    Partition partition = kDefaultPartition;
    std::optional<ExecutionId> parent;  // Only its children.
    bool children = false;              // Without `parent`: also rows that have one.
    std::optional<TaskId> task;
    std::vector<Status> statuses;  // Any of them.
    std::optional<WorkerId> worker;
    std::optional<Text> type;
    std::optional<Text> queue;
    Time created_from{};      // Inclusive; 0 is open.
    Time created_to{};        // Exclusive; 0 is open.
    Serial before = 0;        // Cursor: only serials below; 0 is from the newest.
    std::size_t limit = 100;  // 1 to 1000.
    // Rows without what may be large, which the store then does not even read: payload, the task's
    // payload, progress, the outcome of a success; of another outcome there is reason, code and
    // message (its first kBriefMessageBytes), no data and no past attempts.
    bool brief = false;
};

struct TaskFilter {
    Partition partition = kDefaultPartition;
    Text name_contains;
    std::string after;  // Cursor: only ids above.
    std::size_t limit = 100;
};

class Store {
  public:
    virtual ~Store() = default;

    virtual StoreLimits limits() const = 0;

    // The store's name for people: "embedded ./takt-data". Never a password.
    virtual std::string Describe() const = 0;

    // Why no new work should be brought now, a sentence for the submitter; empty while there is room.
    // A full store still takes what was decided: it finishes, purges and renews.
    virtual std::string WhyFull() const { return {}; }

    // --- Leadership -----------------------------------------------------------------------------

    // A term has no time of its own: it stands as long as its node is announced. So one write keeps
    // all terms of a node, and one read tells all leaders, however many partitions there are. These
    // two never wait behind what else is asked of the store.

    // This scheduler, and every term of its, stands for another ttl. A ttl of 0 withdraws it, and its
    // terms with it. A node whose announcement ran out keeps those that nobody took meanwhile.
    virtual void Announce(const NodeRow& node, Duration ttl, Done<void> done) = 0;
    // Those that are announced.
    virtual void Nodes(Done<std::vector<NodeRow>> done) = 0;

    // The last term of each partition that was ever led, by rising partition. A node that does not
    // find its own there has lost it.
    virtual void Leaders(Done<std::vector<LeaderRow>> done) = 0;

    // Begins a new term, with an epoch above all before, in place of exactly the one that was read:
    // it was resigned, or its node is not announced any more or is the candidate's own. kConflict if
    // somebody leads, or has led since that read, or if the candidate's node is not announced: read
    // again. So of all who read the same row, one succeeds.
    virtual void Acquire(const Candidate& candidate, Done<Term> done) = 0;

    // Ends the term now, so that another node need not wait for its end. `successor` is who should
    // be the next to lead; empty: anybody. Success also if it was over.
    virtual void Resign(const Term& term, const NodeId& successor, Done<void> done) = 0;

    // --- Writing: the leader only ---------------------------------------------------------------

    // REQUIRES: batch->sequence is the sequence after the last one given to Commit in this term, or
    // one given before (a repetition); the batch is within limits(). kFenced if the term is over.
    // kUnavailable also if an earlier batch of the term was not applied: that one must come first.
    // kInvalid: a change contradicts the stored rows and nothing of the batch is applied. That is a
    // bug of the caller; repeating it does not help.
    // After kUnavailable or kUnknown the caller repeats the very same batch before any later one.
    virtual void Commit(BatchPtr batch, Done<void> done) = 0;

    // Deletes all that is stored of a partition but its term: epochs and serials go on from there
    // if it is used again. `epoch` is that of the last term as Leaders gave it, 0 if there was none:
    // kConflict if a later one has begun, for what is stored may be another's by then. May be repeated,
    // and must be after another error: what was deleted is gone.
    // REQUIRES: that term is resigned, so that it commits nothing more; and it is not the default
    // partition.
    virtual void DropPartition(Partition partition, std::uint64_t epoch, Done<void> done) = 0;

    // --- Reading: any node ----------------------------------------------------------------------
    // A partition that nobody has led yet has nothing in it.

    virtual void Load(Partition partition, const std::string& cursor, Done<LoadPage> done) = 0;

    // In the order of `ids`; nothing where there is no such execution, live or finished.
    virtual void FindExecutions(Partition partition, std::vector<ExecutionId> ids,
                                Done<std::vector<std::optional<Execution>>> done) = 0;
    // At most filter.limit rows, fewer if they are large; MoreMayFollow (list_page.h) tells.
    virtual void ListExecutions(const ExecutionFilter& filter,
                                Done<std::vector<Execution>> done) = 0;

    // Recurring tasks. kNotFound if there is none.
    virtual void FindTask(Partition partition, const TaskId& id, Done<TaskRow> done) = 0;
    // In the order of their ids.
    virtual void ListTasks(const TaskFilter& filter, Done<std::vector<TaskRow>> done) = 0;

    virtual void ListWorkers(Partition partition, Done<std::vector<Worker>> done) = 0;
    virtual void ListSettings(Partition partition, const Text& key_prefix,
                              Done<std::vector<SettingPut>> done) = 0;

    // Chunks with an index above `after`, in order, at most `limit`.
    virtual void ReadLog(Partition partition, const ExecutionId& execution, Serial after,
                         std::size_t limit, Done<std::vector<LogChunk>> done) = 0;
    // Events with a serial above `after`, in order, at most `limit`.
    virtual void ReadEvents(Partition partition, Serial after, std::size_t limit,
                            Done<std::vector<Event>> done) = 0;
    // Rows of the audit with a serial below `before` (0: from the newest), newest first, at most
    // `limit`.
    virtual void ReadAudit(Partition partition, Serial before, std::size_t limit,
                           Done<std::vector<AuditRow>> done) = 0;
};

}  // namespace takt::internal
