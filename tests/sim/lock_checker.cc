#include "sim/lock_checker.h"

#include <algorithm>

namespace takt::internal::sim {

void LockChecker::OnCommit(const Batch& batch, const FindRow& find) {
    bool changed = false;
    // A batch ends what others are given by it: in any order of its changes.
    for (const Change& change : batch.changes) {
        const auto* record = std::get_if<RecordPut>(&change);
        if (!record || record->kind != RecordKind::kLock) continue;
        changed = true;
        record->value.empty() ? OnGone(record->key) : OnPut(record->key, record->value);
    }
    if (changed) CheckHolders(find);
    for (const Change& change : batch.changes) {
        const auto* move = std::get_if<ExecutionChange>(&change);
        if (!move || !IsWorking(move->row.status)) continue;
        for (const LockWant& want : move->row.task->opt().locks) {
            const bool has = std::ranges::any_of(held_, [&](const auto& entry) {
                return entry.second.execution == move->row.id &&
                       entry.second.attempt == move->row.attempt &&
                       std::ranges::find(entry.second.locks, want.name, &LockGrant::name) !=
                           entry.second.locks.end();
            });
            if (!has)
                fail_(move->row.id.text().str() + " is at work without lock " + want.name.str());
        }
    }
}

void LockChecker::OnPut(const Text& id, const Text& value) {
    auto holding = DecodeLockHolding(id, value);
    if (!holding) return fail_("the row of lock holder " + id.str() + " cannot be read");
    if (!held_.contains(id)) {
        std::uint64_t latest = token_latest_;
        for (const LockGrant& grant : holding->locks) {
            if (grant.token <= token_latest_) {
                fail_("the token of lock " + grant.name.str() + " did not rise");
            }
            latest = std::max(latest, grant.token);
        }
        token_latest_ = latest;
        world_.Note("store", "has a lock held", id.view());
    }
    held_[id] = std::move(*holding);
}

void LockChecker::OnGone(const Text& id) {
    held_.erase(id);
    const auto lease = leases_.find(id);
    if (lease == leases_.end() || released_.contains(id)) return;
    if (world_.now() < lease->second)
        fail_("the lease of lock holder " + id.str() + " ended early");
}

void LockChecker::CheckHolders(const FindRow& find) {
    std::map<Text, std::uint32_t> taken;
    for (const auto& [id, holding] : held_) {
        for (const LockGrant& grant : holding.locks) {
            if ((taken[grant.name] += grant.permits) > 1) {
                fail_("lock " + grant.name.str() + " has two holders");
            }
        }
        if (holding.execution.empty()) continue;
        const Execution* row = find(holding.execution);
        const bool own = row && IsWorking(row->status) && row->attempt == holding.attempt;
        if (!own) fail_("an attempt that is over holds a lock: " + holding.execution.text().str());
    }
}

void LockChecker::OnHeld(const Text& id, std::uint64_t token, Steady valid_until) {
    leases_[id] = std::max(leases_[id], valid_until);
    // An answer may be old: the lease may have ended since, even in the batch that gave it, but not
    // before its time.
    if (released_.contains(id) || world_.now() >= valid_until) return;
    if (!held_.contains(id)) fail_("a client was told of a lock that is not stored: " + id.str());
    if (token > token_latest_) fail_("a client was told of a token that is not stored");
}

void LockChecker::OnReleased(const Text& id) {
    if (held_.contains(id)) fail_("lock holder " + id.str() + " is there after its release");
}

void LockChecker::OnBusy(std::string_view name, std::size_t holders) {
    if (name == kClientsLock && holders == 0) {
        fail_("a client waited in vain for lock " + std::string(name) + ", which nobody held");
    }
}

}  // namespace takt::internal::sim
