#include "sim/sim_store.h"

#include <algorithm>
#include <utility>

#include "base/failpoint.h"

namespace takt::internal::sim {

Micros SimDatabase::LatencyMax(Partition partition) const {
    const auto found = slow.find(partition);
    return found == slow.end() ? latency_max : found->second;
}

std::uint64_t SimDatabase::Applied(std::uint64_t nonce) const {
    const auto found = applied_.find(nonce);
    return found == applied_.end() ? 0 : found->second;
}

Result<void> SimDatabase::Commit(const Batch& batch, Instant latest, Steady sent) {
    const Watched& by = watched.at(batch.term.partition);
    const bool repeated = batch.sequence <= Applied(batch.term.nonce);
    if (IsImpossible(batch)) return Fail(ErrorCode::kInvalid, "it contradicts what is stored");
    const Result<void> result = TAKT_MUTANT("store.no_fence") && !repeated ? CommitUnfenced(batch)
                                : TAKT_MUTANT("store.forget_gaps")         ? CommitBehindGap(batch)
                                                                           : rows.Commit(batch);
    if (!result) {
        by.checker->OnRefused(batch, result.error());
    } else if (!repeated) {
        applied_[batch.term.nonce] = batch.sequence;
        world.Note("store", "applies", "epoch " + std::to_string(batch.term.epoch) + " sequence",
                   batch.sequence);
        by.checker->OnCommit(batch, latest, sent, *by.config);
    }
    return result;
}

// One that is refused once is refused whenever it is sent again.
bool SimDatabase::IsImpossible(const Batch& batch) {
    const std::uint64_t nonce = batch.term.nonce;
    const bool next =
        current_[batch.term.partition].term.nonce == nonce && batch.sequence == Applied(nonce) + 1;
    if (next && std::exchange(refuses_next, false)) impossible_.insert(nonce);
    return next && impossible_.contains(nonce);
}

// Its sender is told.
void SimDatabase::Acknowledge(const Batch& batch, const Result<void>& result) {
    if (!result) return;
    std::uint64_t& last = acknowledged_[batch.term.nonce];
    last = std::max(last, batch.sequence);
}

// As a store without a fence would: whoever writes is believed, each term in its own order.
Result<void> SimDatabase::CommitUnfenced(const Batch& batch) {
    if (batch.sequence != Applied(batch.term.nonce) + 1) {
        return Fail(ErrorCode::kUnavailable, "an earlier batch was not applied");
    }
    Known& known = current_[batch.term.partition];
    Batch taken = batch;
    taken.term = known.term;
    taken.sequence = known.sequence + 1;
    const Result<void> result = rows.Commit(taken);
    if (result) ++known.sequence;
    return result;
}

// As a store would that looks at the term alone: what it lost before the batch it does not miss.
Result<void> SimDatabase::CommitBehindGap(const Batch& batch) {
    Batch taken = batch;
    if (HasLost(batch.term.nonce)) taken.sequence = Applied(batch.term.nonce) + 1;
    return rows.Commit(taken);
}

template <typename T>
void SimStore::Send(std::function<Result<T>()> work, Done<T> done, Kind kind) {
    World& world = database_.world;
    // Nothing that runs later refers to this object: the process may be gone by then.
    auto waiting = std::make_shared<Done<T>>(std::move(done));
    const auto answer = [&world, waiting, process = process_](Micros delay, Result<T> result) {
        world.After(delay, process, [waiting, result = std::move(result)]() mutable {
            if (*waiting) std::exchange(*waiting, {})(std::move(result));
        });
    };
    // No answer comes in time. A read that is not answered changed nothing; of a write nobody can tell.
    const auto give_up = [&world, answer, kind, at = world.now() + database_.deadline] {
        answer(at - world.now(),
               internal::Fail(kind.write ? ErrorCode::kUnknown : ErrorCode::kUnavailable,
                              "no answer"));
    };
    if (link_.cut && world.Chance(0.5)) {
        return answer(world.Between(100us, database_.latency_max),
                      internal::Fail(ErrorCode::kUnavailable, "connection refused"));
    }
    const Steady deadline = world.now() + database_.deadline;
    const bool late = kind.write && world.Chance(database_.request_late);
    Steady arrival = world.now() + world.Between(50us, database_.LatencyMax(kind.partition));
    if (late) arrival += database_.deadline + world.Between(0us, 3s);
    // One connection keeps order; what is late went over another.
    Steady& last =
        last_arrivals_[TAKT_MUTANT("store.one_line") ? kDefaultPartition : kind.partition];
    if (!late) arrival = last = std::max(arrival, last);
    const bool given_up = arrival >= deadline;
    if (given_up) give_up();
    world.After(arrival - world.now(), nullptr,
                [&world, &database = database_, &link = link_, process = process_, answer, give_up,
                 given_up, deadline, kind, failovers = database_.failovers_,
                 work = std::move(work)]() mutable {
                    const auto lose = [&] {
                        if (!given_up) give_up();
                    };
                    // Sent to a server that has been followed by another.
                    if (database.hangs || failovers != database.failovers_) return lose();
                    if (link.cut || (!process->alive && world.Chance(0.5))) return lose();
                    if (database.stuck.contains(kind.partition)) return lose();
                    Result<T> result = work();
                    if (link.cut || world.Chance(database.reply_lost)) return lose();
                    const Micros back = world.Between(50us, database.LatencyMax(kind.partition));
                    if (world.now() + back >= deadline) return lose();
                    answer(back, std::move(result));
                });
}

SimStore::SimStore(SimDatabase& database, ProcessPtr process, const Link& link, SimRuntime& runtime)
    : database_(database), process_(std::move(process)), link_(link), runtime_(runtime) {}

void SimStore::Acquire(const Candidate& candidate, Done<Term> done) {
    Send<Term>(
        [&database = database_, candidate] {
            const Result<Term> term = database.rows.Acquire(candidate);
            if (term) {
                database.current_[candidate.partition] = {*term, 0};
                database.applied_[term->nonce] = 0;
                database.world.Note(candidate.node.view(), "acquires epoch",
                                    "of " + std::to_string(candidate.partition), term->epoch);
            }
            return term;
        },
        std::move(done), {.write = true, .partition = candidate.partition});
}

void SimStore::DropPartition(Partition partition, std::uint64_t epoch, Done<void> done) {
    Send<void>(
        [&rows = database_.rows, partition, epoch] { return rows.DropPartition(partition, epoch); },
        std::move(done), {.write = true, .partition = partition});
}

void SimStore::Load(Partition partition, const std::string& cursor, Done<LoadPage> done) {
    const Partition from = TAKT_MUTANT("store.shared_lists") ? kDefaultPartition : partition;
    Send<LoadPage>([&rows = database_.rows, from, cursor] { return rows.Load(from, cursor); },
                   std::move(done), {.partition = partition});
}

void SimStore::FindExecutions(Partition partition, std::vector<ExecutionId> ids,
                              Done<std::vector<std::optional<Execution>>> done) {
    const Partition from = TAKT_MUTANT("store.shared_rows") ? kDefaultPartition : partition;
    Send<std::vector<std::optional<Execution>>>(
        [&rows = database_.rows, from, ids = std::move(ids)] {
            return rows.FindExecutions(from, ids);
        },
        std::move(done), {.partition = partition});
}

void SimStore::Commit(BatchPtr batch, Done<void> done) {
    Checker& checker = database_.CheckerOf(batch->term.partition);
    if (batch->changes.size() > database_.limits.changes_max) {
        checker.Fail("a batch of " + std::to_string(batch->changes.size()) +
                     " changes is larger than the store takes");
    }
    std::size_t bytes = 0;
    for (const Change& change : batch->changes) bytes += SizeOf(change);
    if (bytes > 2 * database_.limits.bytes_max) {
        checker.Fail("a batch of " + std::to_string(bytes) +
                     " bytes is larger than the store takes");
    }
    if (database_.told_so_.contains(batch->term.nonce)) {
        checker.Fail("a term goes on after a batch of its was refused as impossible");
    }
    const auto work = [&database = database_, batch, latest = runtime_.latest(),
                       sent = database_.world.now()]() -> Result<void> {
        Result<void> result = database.Commit(*batch, latest, sent);
        // As the store of Redis does: it has said before that it has more.
        const bool gap = !result && result.error().code == ErrorCode::kUnavailable;
        if (gap && database.HasLost(batch->term.nonce)) {
            return internal::Fail(ErrorCode::kFenced, "batches of this term are lost");
        }
        return result;
    };
    if (database_.world.Chance(database_.request_again)) {
        database_.world.After(database_.world.Between(1ms, 20s), nullptr,
                              [work, &database = database_, failovers = database_.failovers_] {
                                  if (database.failovers_ == failovers) static_cast<void>(work());
                              });
    }
    Send<void>(work,
               [&database = database_, process = process_, batch,
                done = std::move(done)](Result<void> result) mutable {
                   database.Acknowledge(*batch, result);
                   const bool impossible = !result && result.error().code == ErrorCode::kInvalid;
                   done(std::move(result));
                   if (!impossible) return;
                   // The answer waits in the process's loop, behind what may commit before it is read.
                   database.world.After(0us, process, [&database, nonce = batch->term.nonce] {
                       database.told_so_.insert(nonce);
                   });
               },
               {.write = true, .partition = batch->term.partition});
}

}  // namespace takt::internal::sim
