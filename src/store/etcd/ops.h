// Ops: the writes of one etcd transaction, at most one for each key.
//
// Large values that nothing leads to before the transaction (payloads, packs) are put "ahead": if
// all together do not fit into one request, they are written in fenced transactions before it. A
// leader that dies in between leaves values that nobody reads.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "etcd.pb.h"
#include "store/etcd/keys.h"
#include "store/etcd/task_payload.h"
#include "store/store.h"

namespace takt::internal::etcd {

namespace pb = etcdserverpb;

// etcd takes 128 operations per transaction by default (--max-txn-ops). A transaction inside a
// transaction counts as one, and may have 128 less the number of operations beside it: 61 inner
// ones of 64 are what fits next to the fence's own writes.
constexpr std::size_t kOpsFlatMax = 120;
constexpr std::size_t kOpsNestedMax = 64;
constexpr std::size_t kOpsMax = 61 * kOpsNestedMax;

class Ops {
  public:
    // A later write of the same key replaces the earlier one.
    void Put(std::string key, std::string value);
    // REQUIRES: a reader looks at the key only if another write of this transaction leads to it.
    void PutAhead(std::string key, std::string value);
    void Delete(std::string key);
    // REQUIRES: no other write touches a key in the range; etcd refuses that.
    void DeleteRange(KeyRange range);

    std::size_t size() const { return entries_.size(); }
    std::size_t bytes() const { return bytes_; }  // In a request, near enough.
    // Takes out what was put ahead, in portions of one request each. Nothing may be added
    // afterwards.
    std::vector<Ops> TakeAhead();
    // Others' writes, beside it.
    void Append(Ops others);
    // Adds them to what `txn` does on success. REQUIRES: size() <= kOpsMax.
    void MoveTo(pb::TxnRequest& txn) &&;

  private:
    struct Entry {
        pb::RequestOp op;
        std::size_t bytes = 0;
        bool ahead = false;
    };
    pb::RequestOp& At(const std::string& key, std::size_t bytes, bool ahead);
    void Add(Entry entry);

    std::vector<Entry> entries_;
    std::size_t bytes_ = 0;
    std::unordered_map<std::string, std::size_t> places_;  // By key, of single writes.
};

class PageBook;

// The writes of the batch's changes, all but a Purge's, which depends on what is stored, and but what
// `pages` will flush. `payloads` knows the tasks that it asked to know (TaskPayloads::Unknown), `pages`
// the executions that Moved tells; both are told of what changes.
void AddChanges(const Keys& keys, const Batch& batch, TaskPayloads& payloads, PageBook& pages,
                Ops& ops);
// The executions whose stored rows, which may be in pages, batches that follow each other change.
class MovedExecutions {
  public:
    void Add(const Batch& batch);
    const std::vector<Serial>& serials() const { return serials_; }

  private:
    std::vector<Serial> serials_;
    std::unordered_set<Serial> born_;  // By these batches: nothing is stored of them.
};

// Batches that follow each other and are applied in one transaction.
struct Span {
    Term term;
    std::uint64_t first = 0;  // Sequences.
    std::uint64_t last = 0;
    Serial last_serial = 0;  // The highest of them.
};
// The transaction that applies `ops` if the term stands and the batch before `first` was the last
// to be applied, and makes `last` the last one. Else it reads the leader and sequence keys.
pb::TxnRequest MakeCommit(const Keys& keys, const Span& span, Ops ops);
// Reads the first key of each range, if a commit of the span would be applied.
pb::TxnRequest MakeRead(const Keys& keys, const Span& span, std::vector<KeyRange> ranges);
// The one that goes before it: applies `ops` under the same conditions, and leaves these as is.
pb::TxnRequest MakeAhead(const Keys& keys, const Span& span, Ops ops);

// "epoch sequence", the value of the sequence key.
std::string SequenceValue(std::uint64_t epoch, std::uint64_t sequence);
std::optional<PackName> ParseSequenceValue(std::string_view value);

pb::Compare CreatedAt(std::string key, std::int64_t revision);  // 0: does not exist.
pb::Compare ModifiedAt(std::string key, std::int64_t revision);
pb::Compare Exists(std::string key);
// The fence: whether the term is the last one of its partition.
pb::Compare TermStands(const Keys& keys, const Term& term);
pb::Compare ValueIs(std::string key, std::string value);
pb::RequestOp GetOp(std::string key, std::int64_t revision = 0);
pb::RequestOp RangeOp(KeyRange range, std::int64_t limit, std::int64_t revision = 0);

}  // namespace takt::internal::etcd
