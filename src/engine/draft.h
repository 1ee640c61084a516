// Draft: what one step writes and sends, added to the batch that is being gathered.
//
// It knows batches, not scheduling: that a row changed twice in one batch is written once, as it is
// in the end; how much one step may write; which serial comes next. Whoever decides something (the
// engine, its keys, its limits, its outputs) writes it here, and nowhere else.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>

#include "base/id.h"
#include "base/time.h"
#include "engine/effects.h"
#include "model/audit.h"
#include "model/change.h"
#include "model/event.h"

namespace takt::internal {

// Which change of the batch being gathered speaks of a row, so that a later one replaces it. Lives
// beside the row; of another batch it says nothing.
struct ChangeMark {
    std::uint32_t generation = 0;
    std::uint32_t index = 0;
};

// How much a step may make before it stops starting new work.
struct StepBounds {
    std::size_t changes_max = 0;
    std::size_t bytes_max = 0;  // As SizeOf counts them, those made twice counted twice.
};

class Draft {
  public:
    // `events_stored` has a bit for each EventType that is written, not only sent.
    Draft(Partition partition, std::uint32_t events_stored)
        : serials_(partition, 0), events_stored_(events_stored) {}

    // A step begins at `now`, and ends. Everything below REQUIRES: open.
    void Open(Effects& effects, Instant now, StepBounds bounds);
    void Close() { effects_ = nullptr; }

    // Whether the step has made as much as it may: what is left is done by the next one.
    bool Tired() const {
        return effects_->changes.size() + reserved_ >= changes_max_ || bytes_ >= bytes_max_;
    }

    // Counts work that writes nothing as if it wrote this much: it takes time all the same.
    void Spend(std::size_t bytes) { bytes_ += bytes; }

    // Counts a change that the step may have to make when all else is decided.
    void Reserve() { ++reserved_; }

    // --- Rows: at most one change of each in a batch ---------------------------------------------

    // The row under `mark` is now this; replaces what this batch said of it before.
    template <typename Kind>
    void Put(ChangeMark& mark, Kind change) {
        if (!InBatch(mark)) {
            mark = {effects_->generation, Add(std::move(change))};
            return;
        }
        Rewrite(mark.index, std::move(change));
    }
    // An execution, as most changes are; copied once, into its place. The store has its row where
    // it was `before` the batch.
    void Put(ChangeMark& mark, Place before, Place after, const Execution& row);
    // The batch is worth a commit of its own: somebody waits for it, or it must survive.
    void MakeUrgent() { effects_->urgent = true; }
    // Takes back what a handler would be told of a holding whose row this batch brought.
    void RecallLock(const ChangeMark& mark, std::uint64_t token);
    bool InBatch(const ChangeMark& mark) const { return mark.generation == effects_->generation; }
    std::uint32_t generation() const { return effects_->generation; }

    // A row that this batch changes only once; a setting by its key, an empty value deletes it.
    void Append(ExecutionChange change) { Add(std::move(change)); }
    void Append(RecordPut record) { Add(std::move(record)); }
    void Set(SettingPut setting);
    // Like Set, but what is written need not survive: it goes along with the next commit.
    void SetLater(SettingPut setting);
    // Output of an attempt, for the store and for who follows it; goes along with the next commit.
    void AppendLog(const ExecutionId& execution, std::uint32_t attempt, std::string_view lines);
    // False if the batch has a purge already: what this one would do is owed to the next batch.
    bool AddPurge(Purge purge);

    // An entry of the audit: who asked for what this step changes. None if `by` is null.
    void Audit(const ActPtr& by, AuditChange change);
    void Audit(const AuditEntry& entry);

    // A worker's row, which may be deleted and made again under another mark in one batch.
    void PutWorker(ChangeMark& mark, const Worker& row);
    void DeleteWorker(ChangeMark& mark, const WorkerId& id);

    // --- What is carried out after the commit ----------------------------------------------------

    void Emit(Event event);                                // Stamps serial and time.
    void Reply(RequestId request, Result<Answer> answer);  // Nothing if nobody waits for it.
    void Send(Assign assign) { effects_->assigns.push_back(std::move(assign)); }
    void Send(StopAttempt stop) { effects_->stops.push_back(std::move(stop)); }
    void Send(Verdict verdict) { effects_->verdicts.push_back(std::move(verdict)); }
    void Send(LockVerdict verdict) { effects_->lock_verdicts.push_back(std::move(verdict)); }
    void Send(CloseSession close) { effects_->closes.push_back(std::move(close)); }
    void Send(DrainNotice notice) { effects_->drains.push_back(notice); }
    void Send(CapacityNotice notice) { effects_->capacities.push_back(notice); }
    // Asks the store for an execution; all of a batch are asked at once.
    void LookUp(const ExecutionId& id);
    // Takes back an assignment that is not sent yet, as its commit is still being gathered. False
    // if it is on its way.
    bool Withdraw(const Execution& row, const ChangeMark& mark);

    void NoteFailed(FailedAttempt failed) { effects_->failed.push_back(std::move(failed)); }
    void NoteLockWait(Duration waited) { effects_->lock_waits.push_back(waited); }

    // How many events were emitted since the batch began: each change of an execution is told.
    std::size_t events_told() const { return effects_->events.size(); }

    // --- Serials --------------------------------------------------------------------------------

    // Serials handed out from now on are above `last`. Allowed while closed, too.
    void Resume(Partition partition, Serial last) { serials_ = SerialSource(partition, last); }
    // The step's serials follow this time rather than the wall clock.
    void FollowForSerials(Time time) { serial_time_ = time; }
    Serial NextSerial() { return serials_.Next(serial_time_); }
    Serial last_serial() const { return serials_.last(); }

  private:
    // Returns where the change is in the batch.
    template <typename Kind>
    std::uint32_t Add(Kind change) {
        effects_->changes.emplace_back(std::move(change));
        bytes_ += SizeOf(effects_->changes.back());
        return static_cast<std::uint32_t>(effects_->changes.size() - 1);
    }
    void Rewrite(std::uint32_t index, Change change);

    SerialSource serials_;
    const std::uint32_t events_stored_;
    Effects* effects_ = nullptr;
    Time now_{};
    Time serial_time_{};
    std::size_t changes_max_ = 0;
    std::size_t bytes_max_ = 0;
    std::size_t bytes_ = 0;  // Of the changes the step made.
    std::size_t reserved_ = 0;

    ChangeMark purge_;
    // Unique keys with a window write one with every submit, so a search through the batch would be
    // quadratic.
    boost::unordered_flat_map<Text, std::uint32_t, TextHash, TextEqual> settings_;
    std::uint32_t settings_generation_ = 0;         // The batch that they are of.
    std::uint32_t workers_deleted_generation_ = 0;  // The last batch that deleted a worker.
};

}  // namespace takt::internal
