#include "sim/lock_checker.h"

#include <algorithm>

#include "engine/leftover.h"

namespace takt::internal::sim {
namespace {

// How many vain answers, this far apart, are too many while the lock passes to nobody. More than one
// distance: a leader may be paused between two.
constexpr int kVainMax = 3;
constexpr Duration kVainApart{500};

}  // namespace

void LockChecker::OnCommit(const Batch& batch, const FindRow& find) {
    bool changed = false;
    // A batch ends what others are given by it: in any order of its changes.
    for (const Change& change : batch.changes) {
        if (const auto* setting = std::get_if<SettingPut>(&change)) NoteLeftover(*setting);
        const auto* record = std::get_if<RecordPut>(&change);
        if (!record || record->kind != RecordKind::kLock) continue;
        changed = true;
        record->value.empty() ? OnGone(record->key) : OnPut(record->key, record->value);
    }
    for (const Change& change : batch.changes) {
        const auto* move = std::get_if<ExecutionChange>(&change);
        if (!move || move->row.task->opt().locks.empty()) continue;
        changed = true;
        IsWorking(move->row.status) ? void(working_.insert(move->row.id))
                                    : void(working_.erase(move->row.id));
    }
    if (!changed) return;
    CheckHolders(find);
    for (const ExecutionId& id : working_) {
        const Execution* row = find(id);
        if (!row) return fail_(id.text().str() + " was at work and is nowhere");
        const Execution& holder = HolderFor(*row, find);
        for (const LockWant& want : row->task->opt().locks) {
            if (!Has(holder, want.name)) {
                fail_(id.text().str() + " goes on without lock " + want.name.str());
            }
        }
    }
}

const Execution& LockChecker::HolderFor(const Execution& row, const FindRow& find) {
    const Execution* holder = &row;
    for (const Execution* at = find(row.parent); at; at = find(at->parent)) {
        if (!at->task->opt().locks.empty()) holder = at;
    }
    return *holder;
}

bool LockChecker::Has(const Execution& holder, const Text& name) const {
    return std::ranges::any_of(held_, [&](const auto& entry) {
        const LockHolding& held = entry.second;
        return held.execution == holder.id && held.attempt == holder.attempt &&
               std::ranges::find(held.locks, name, &LockGrant::name) != held.locks.end();
    });
}

// It may come late; the tokens are those that were stored for it, or for its run, once.
void LockChecker::OnAssign(const Execution& row, const std::vector<LockGrant>& locks,
                           const FindRow& find) {
    if (!row.parent.empty() && !find(row.parent)) return;  // Ended, and purged since.
    const Execution& holder = HolderFor(row, find);
    for (const LockWant& want : holder.task->opt().locks) {
        if (std::ranges::find(locks, want.name, &LockGrant::name) == locks.end()) {
            fail_(row.id.text().str() + " was not given the token of lock " + want.name.str());
        }
    }
    for (const LockGrant& grant : locks) {
        const auto given = given_.find(grant.token);
        if (given == given_.end() || given->second != holder.id) {
            fail_(row.id.text().str() + " was given a token that is not its own");
        }
    }
}

void LockChecker::OnGiven(const ExecutionId& execution, std::uint64_t token) {
    const auto given = given_.find(token);
    if (given == given_.end() || given->second != execution) {
        fail_("the handler of " + execution.text().str() + " was given a token that is not stored");
    }
}

void LockChecker::OnPut(const Text& id, const Text& value) {
    auto holding = DecodeLockHolding(id, value);
    if (!holding) return fail_("the row of lock holder " + id.str() + " cannot be read");
    if (!held_.contains(id)) {
        for (const LockGrant& grant : holding->locks) {
            if (!holding->execution.empty()) given_[grant.token] = holding->execution;
        }
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
    NoteChanged(*holding);
    held_[id] = std::move(*holding);
}

void LockChecker::OnGone(const Text& id) {
    const auto held = held_.find(id);
    if (held == held_.end()) return;
    NoteChanged(held->second);
    for (const LockGrant& grant : held->second.locks) {
        const Lease lease{grant.name, id, grant.token};
        const auto told = leases_.find(lease);
        if (told == leases_.end() || released_.contains(lease)) continue;
        if (world_.now() < told->second)
            fail_("the lease of lock holder " + id.str() + " ended early");
    }
    held_.erase(held);
}

void LockChecker::NoteLeftover(const SettingPut& setting) {
    if (!setting.key.view().starts_with(Leftover::kPrefix)) return;
    leftovers_.erase(setting.key);
    const auto leftover = ReadLeftover(setting.value);
    if (leftover) leftovers_[setting.key] = leftover->locks;
}

bool LockChecker::IsLeftover(const Text& id) const {
    return std::ranges::any_of(leftovers_, [&](const auto& entry) {
        return std::ranges::find(entry.second, id) != entry.second.end();
    });
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
        if (!own && !IsLeftover(id))
            fail_("an attempt that is over holds a lock: " + holding.execution.text().str());
    }
}

bool LockChecker::IsStored(const Lease& lease) const {
    const auto held = held_.find(lease.id);
    return held != held_.end() &&
           std::ranges::any_of(held->second.locks, [&](const LockGrant& grant) {
               return grant.name == lease.name && grant.token == lease.token;
           });
}

void LockChecker::OnHeld(const Lease& lease, Steady valid_until) {
    leases_[lease] = std::max(leases_[lease], valid_until);
    // An answer may be old: the lease may have ended since, even in the batch that gave it, but not
    // before its time.
    if (released_.contains(lease) || world_.now() >= valid_until) return;
    if (!IsStored(lease))
        fail_("a client was told of a lock that is not stored: " + lease.id.str());
}

void LockChecker::OnReleased(const Lease& lease) {
    if (IsStored(lease)) fail_("lock holder " + lease.id.str() + " is there after its release");
}

// Between two holders there are answers that name none: the next in line is given it by a step to
// come. Steps go on, so that this does not last.
void LockChecker::OnBusy(std::string_view name, std::size_t holders) {
    if (name != kClientsLock || holders != 0 || world_.now() < vain_counted_ + kVainApart) return;
    vain_counted_ = world_.now();
    if (++vain_answers_ == kVainMax) {
        fail_("a client waited in vain for lock " + std::string(name) + ", which nobody held");
    }
}

void LockChecker::NoteChanged(const LockHolding& holding) {
    for (const LockGrant& grant : holding.locks) {
        if (grant.name.view() == kClientsLock) vain_answers_ = 0;
    }
}

}  // namespace takt::internal::sim
