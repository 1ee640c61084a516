#include "sim/sim_store.h"

#include <algorithm>
#include <utility>

namespace takt::internal::sim {

Result<void> SimDatabase::Commit(const Batch& batch, Time wall_latest, const EngineConfig& config) {
    const bool repeated = batch.sequence <= applied_[batch.term.nonce];
    const Result<void> result =
        sabotage_no_fence && !repeated ? CommitUnfenced(batch) : rows.Commit(batch);
    if (!result) {
        checker.OnRefused(batch, result.error());
    } else if (!repeated) {
        applied_[batch.term.nonce] = batch.sequence;
        world.Note("store", "applies", "epoch " + std::to_string(batch.term.epoch) + " sequence",
                   batch.sequence);
        checker.OnCommit(batch, wall_latest, config);
    }
    return result;
}

// As a store without a fence would: whoever writes is believed, each term in its own order.
Result<void> SimDatabase::CommitUnfenced(const Batch& batch) {
    if (batch.sequence != applied_[batch.term.nonce] + 1) {
        return Fail(ErrorCode::kUnavailable, "an earlier batch was not applied");
    }
    Batch taken = batch;
    taken.term = *current_;
    taken.sequence = current_sequence_ + 1;
    const Result<void> result = rows.Commit(taken);
    if (result) ++current_sequence_;
    return result;
}

template <typename T>
void SimStore::Send(std::function<Result<T>()> work, Done<T> done, bool write) {
    World& world = database_.world;
    // Nothing that runs later refers to this object: the process may be gone by then.
    auto waiting = std::make_shared<Done<T>>(std::move(done));
    const auto answer = [&world, waiting, process = process_](Micros delay, Result<T> result) {
        world.After(delay, process, [waiting, result = std::move(result)]() mutable {
            if (*waiting) std::exchange(*waiting, {})(std::move(result));
        });
    };
    const auto lost = [write] {
        // A read that is not answered changed nothing; of a write nobody can tell.
        return internal::Fail(write ? ErrorCode::kUnknown : ErrorCode::kUnavailable, "no answer");
    };
    if (link_.cut && world.Chance(0.5)) {
        return answer(world.Between(100us, database_.latency_max),
                      internal::Fail(ErrorCode::kUnavailable, "connection refused"));
    }
    answer(database_.deadline, lost());
    const bool late = write && world.Chance(database_.request_late);
    Steady arrival = world.now() + world.Between(50us, database_.latency_max);
    if (late) arrival += database_.deadline + world.Between(0us, 3s);
    // One connection keeps order; what is late went over another.
    if (!late) arrival = last_arrival_ = std::max(arrival, last_arrival_);
    world.After(arrival - world.now(), nullptr,
                [&world, &database = database_, &link = link_, process = process_, answer,
                 work = std::move(work)]() mutable {
                    if (link.cut || (!process->alive && world.Chance(0.5))) return;
                    Result<T> result = work();
                    if (link.cut || world.Chance(database.reply_lost)) return;
                    answer(world.Between(50us, database.latency_max), std::move(result));
                });
}

SimStore::SimStore(SimDatabase& database, ProcessPtr process, const Link& link, SimRuntime& runtime,
                   const EngineConfig& config)
    : database_(database),
      process_(std::move(process)),
      link_(link),
      runtime_(runtime),
      config_(config) {}

void SimStore::Acquire(const Candidate& candidate, Done<Term> done) {
    Send<Term>(
        [&database = database_, candidate] {
            const Result<Term> term = database.rows.Acquire(candidate);
            if (term) {
                database.current_ = *term;
                database.current_sequence_ = 0;
                database.world.Note(candidate.node.view(), "acquires epoch", "", term->epoch);
            }
            return term;
        },
        std::move(done), true);
}

void SimStore::DropPartition(Partition partition, Done<void> done) {
    Send<void>([&rows = database_.rows, partition] { return rows.DropPartition(partition); },
               std::move(done), true);
}

void SimStore::Commit(BatchPtr batch, Done<void> done) {
    if (batch->changes.size() > database_.limits.changes_max) {
        database_.checker.Fail("a batch of " + std::to_string(batch->changes.size()) +
                               " changes is larger than the store takes");
    }
    std::size_t bytes = 0;
    for (const Change& change : batch->changes) bytes += SizeOf(change);
    if (bytes > 2 * database_.limits.bytes_max) {
        database_.checker.Fail("a batch of " + std::to_string(bytes) +
                               " bytes is larger than the store takes");
    }
    const auto work = [&database = database_, batch, &config = config_,
                       wall = runtime_.wall_latest()] {
        return database.Commit(*batch, wall, config);
    };
    if (database_.world.Chance(database_.request_again)) {
        database_.world.After(database_.world.Between(1ms, 20s), nullptr,
                              [work] { static_cast<void>(work()); });
    }
    Send<void>(work, std::move(done), true);
}

}  // namespace takt::internal::sim
