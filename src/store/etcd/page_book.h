// PageBook: what the leader knows of the pages of its partition (page.h), so that it can write them
// anew without reading them. What it does not know it asks for, in reads under the conditions of the
// commit that they are for (MakeRead): a page is never written from a state that is not the one it
// replaces.
//
// For one thread at a time.
#pragma once

#include <map>
#include <optional>
#include <unordered_set>
#include <vector>

#include "etcd.pb.h"
#include "store/etcd/keys.h"
#include "store/etcd/ops.h"
#include "store/etcd/page.h"
#include "store/store.h"

namespace takt::internal::etcd {

class PageBook {
  public:
    PageBook(const Keys& keys, Partition partition) : keys_(keys), partition_(partition) {}

    // The next transaction is of this term: what another one knew counts no more.
    void Begin(const Term& term);
    // The transaction was not applied, or nobody knows.
    void Forget();
    // It was.
    void Keep();

    // Keys to read next before the batches, in the order in which Learn wants the answers; empty when
    // all is known.
    std::vector<KeyRange> Ask(const std::vector<Serial>& serials);
    // The first of each range.
    void Learn(const pb::TxnResponse& answer);

    // REQUIRES of these: all of the batch is known.
    // Finds a page for a new execution. False: it gets keys of its own.
    bool Add(ExecutionKey key, PageSide side, const std::string& value);
    bool Holds(PageSide side, ExecutionKey key) const;
    // REQUIRES: a page holds it. False: it cannot stay there.
    bool Put(PageSide side, ExecutionKey key, std::string value);
    // Nothing happens if it is not there.
    void Remove(PageSide side, Serial serial);
    // From now on it has keys of its own, until it finishes.
    void NoteOwn(Serial serial, bool live);

    // A bound on the bytes that Flush adds, and on what it would add with these changes, beside their
    // rows.
    std::size_t bytes() const { return touched_bytes_; }
    std::size_t BytesWith(const Batch& batch) const;
    // Likewise of its writes: any row that was put may move out, or begin another page.
    std::size_t writes() const { return 2 * touched_.size() + puts_; }
    // Writes the pages that were changed since the last time.
    void Flush(Ops& ops);

  private:
    struct Side {
        std::vector<PageRow> rows;
        std::size_t stored = 0;  // The bytes of its value; 0: it is not there.
        bool touched = false;
        // It cannot be read: it stays as it is, and its executions have keys of their own.
        bool broken = false;
    };
    struct Page {
        Serial last = 0;
        Side live;
        Side history;
        bool fresh = false;           // Made by this transaction.
        std::vector<Serial> changed;  // By this transaction.
        std::size_t bytes = 0;        // Counted in bytes_.

        Side& side(PageSide s) { return s == PageSide::kLive ? live : history; }
        const Side& side(PageSide s) const { return s == PageSide::kLive ? live : history; }
    };
    using Pages = std::map<Serial, Page>;  // By first serial.

    Pages::iterator Find(Serial serial);
    Pages::const_iterator Find(Serial serial) const;
    bool Knows(Serial serial) const {
        return Find(serial) != pages_.end() || own_.contains(serial);
    }
    void LearnPage(Serial serial, const pb::RangeResponse& live, const pb::RangeResponse& history);
    void Touch(Pages::iterator page, Serial serial);
    void Recount(Page& page);
    void FlushPage(Pages::iterator page, Ops& ops);
    void Split(Pages::iterator page, Ops& ops);
    // Gives what the transaction changed in the page keys of its own.
    void MoveOut(Pages::iterator page, Ops& ops);
    void Write(Serial first, PageSide which, Side& side, std::string value, Ops& ops);

    const Keys& keys_;
    const Partition partition_;
    Term term_;
    Pages pages_;
    std::size_t bytes_ = 0;           // Of the values in pages_.
    std::unordered_set<Serial> own_;  // Not finished, and in no page.
    std::optional<Serial> frontier_;  // No page goes beyond it.
    std::optional<Serial> open_;      // The page that takes the next new execution.
    std::size_t capacity_ = 16;       // Of a new page; follows how small rows get.
    std::vector<Serial> asked_;
    bool asked_frontier_ = false;
    std::vector<Serial> touched_;
    std::size_t touched_bytes_ = 0;
    std::size_t puts_ = 0;  // Since the last transaction.
};

}  // namespace takt::internal::etcd
