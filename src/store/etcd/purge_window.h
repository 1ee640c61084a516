// PurgeWindow: what a leader remembers of the oldest that is stored, so that a purge reads little while
// commits wait for it, and nothing when nothing is due.
//
// Only the leader writes packs. Those of one epoch are in the order in which executions finished;
// epochs are not, since each leader's clock may be ahead of the next one's. So the packs of one epoch
// are in memory, read ahead beside commits up to a place that stays true, and of each other epoch that
// has any the name of its first, and when that is due: looked up once in a term. A purge goes on in the
// epoch that it is in while that is due, then in the one that is due the longest. Executions that leave
// the history meanwhile are told to it.
//
// Used by the coroutine that commits; its own reads run beside that one.
#pragma once

#include <coroutine>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "store/etcd/client.h"
#include "store/etcd/keys.h"
#include "store/etcd/tracker.h"
#include "store/store.h"

namespace takt::internal::etcd {

class PurgeWindow {
  public:
    // A row of a pack whose pointer leads to it.
    struct Resident {
        Serial serial = 0;
        std::string id;
        Time finished_at{};
        bool payload_apart = false;
        bool has_children = false;
        // Of what its pointer is in: the first serial, and what the page may have grown to when it is
        // purged. Of one with a key of its own nothing.
        std::optional<Serial> page;
        std::size_t page_bytes = 0;
    };
    struct Pack {
        PackName name;
        std::vector<Resident> residents;  // In the order in which they finished.
        // Nobody knows how old a row is that cannot be read; it keeps its pack.
        bool stays = false;
    };

    // `tracker` knows of the reads that run beside commits.
    PurgeWindow(Client& client, const Keys& keys, Tracker& tracker, Partition partition)
        : client_(client), keys_(keys), tracker_(tracker), partition_(partition) {}

    // Batches of `term` follow. Whatever is known of another one is forgotten.
    void Begin(const Term& term);
    // The revision of the state after the batch before this one; nothing if that is not known.
    std::optional<std::int64_t> RevisionBefore(const Batch& batch) const;
    // It was read: the batch `sequence` is the last one applied, at `revision`.
    void NoteRead(std::uint64_t sequence, std::int64_t revision);

    // Whether a purge of `term` certainly has nothing to delete.
    bool NothingDue(const Term& term, const Purge& purge) const;

    // A pack that may have something to delete, the oldest of its epoch; it is read if need be.
    // Nothing if there is none.
    Async<Result<std::optional<Pack>>> TakeOldest(Time before);
    // Not all of it goes yet. REQUIRES: it has residents.
    void PutBack(Pack pack);

    // No event has a serial below it.
    Serial first_event() const;
    void set_first_event(Serial serial);

    // The batch was applied, the last one so far, at `revision`. With a purge, all that was taken is
    // gone.
    void NoteApplied(const Batch& batch, std::int64_t revision);
    // A batch may have been applied or not.
    void Forget();
    // Begins to read the next packs, unless there are enough or none.
    void ReadAhead();

  private:
    static constexpr Time kUnknown = Time::min();  // When a pack is due that has to be read first.
    // The packs of an epoch that are not in memory: none is before `next`, and the first of them has
    // nothing to delete before `due`.
    struct EpochPlace {
        PackName next;
        Time due = kUnknown;
    };
    using Places = std::map<std::uint64_t, EpochPlace>;  // By epoch.
    // A read: from where, up to which batch, of which state.
    struct Cursor {
        PackName next;
        PackName end;  // Exclusive.
        std::int64_t revision = 0;
        std::uint64_t generation = 0;
        bool survey = false;  // Of all epochs.
    };
    struct Page {
        std::vector<Pack> packs;
        PackName next;
        bool last = false;  // There are none behind it in its epoch.
        Places places;      // Of a survey.
    };
    struct Turn;

    // REQUIRES of these: mutex_ is held.
    bool FrontIsDue(Time before) const;
    // Whether anything but the front may be due.
    bool MoreMayBeDue(Time before) const;
    // The place that is due the longest.
    Places::const_iterator FindDue(Time before) const;
    // The one to read ahead at, when all is read of the epoch that is in memory.
    Places::const_iterator FindNext() const;
    void GoTo(Places::const_iterator place);
    // What is in memory becomes a place.
    void Park();
    void NotePlace(PackName next, Time due);
    Cursor BeginReading();
    void Append(Page page);

    // One page, or waits for the one that is under way.
    Async<Result<void>> Read();
    Detached ReadBeside(Cursor cursor);
    void EndReading(const Cursor& cursor, Result<Page> page);
    Async<Result<Page>> ReadPage(Cursor cursor);
    // The first pack of each epoch.
    Async<Result<Page>> Survey(Cursor cursor);
    Async<Result<std::optional<PackName>>> FindFirst(KeyRange range, std::int64_t revision);
    // Finds the pointers of those that have none yet, in pages.
    struct PointerOf {
        Resident* resident;
        std::optional<std::string> value;
        bool unreadable = false;  // It may be in a page that cannot be read.
    };
    Async<Result<void>> ReadPages(std::vector<PointerOf*> missing, std::int64_t revision);
    Async<Result<std::vector<Pack>>> ReadResidents(std::vector<pb::KeyValue> rows,
                                                   std::int64_t revision);

    Client& client_;
    const Keys& keys_;
    Tracker& tracker_;
    const Partition partition_;

    mutable std::mutex mutex_;
    Term term_;
    std::optional<std::uint64_t> applied_;  // The last sequence, if it is known.
    std::int64_t revision_ = 0;             // Of the state after it.
    std::deque<Pack> packs_;                // All of the epoch of `next_`.
    std::size_t residents_ = 0;             // Of all of them.
    PackName next_;                         // From where on none was read.
    bool all_read_ = true;  // There are none behind `next_` in its epoch, but those in places_.
    // Of other epochs, and of what this term has added since all of its own was read.
    Places places_;
    bool surveyed_ = false;                    // Whether places_ has all epochs.
    std::map<std::uint64_t, PackName> taken_;  // The first of each epoch since the last batch.
    Serial first_event_ = 0;
    Time before_{};  // Of the last purge.

    bool reading_ = false;
    std::uint64_t generation_ = 0;  // A page of an earlier one is of no use.
    // While a page is read: executions that left the history, and those that got parts.
    std::set<std::string, std::less<>> left_, parents_;
    std::coroutine_handle<> waiter_;
    Steady retry_at_{};
};

// When the first execution of the batch that has no parent finished; nothing if none does.
std::optional<Time> FirstFinished(const Batch& batch);

// Reads of finished executions by key, in portions that fit into one transaction each.
struct Family {
    std::optional<std::string> pointer;  // Its value.
    bool has_children = false;           // Whether anything is part of it.
};
Async<Result<std::vector<Family>>> ReadFamilies(Client& client, const Keys& keys,
                                                Partition partition, Kin kin,
                                                std::vector<ExecutionKey> executions,
                                                std::int64_t revision);

}  // namespace takt::internal::etcd
