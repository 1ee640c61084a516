#include "engine/claims.h"

#include <algorithm>
#include <string>

#include "base/failpoint.h"
#include "base/number.h"

namespace takt::internal {
namespace {

// By less than this clocks drift, which is not worth a write for each key.
constexpr Duration kDrift{60'000};
// Of a million keys a step writes so many: the rest of what it has to do does not wait for them.
constexpr std::size_t kToldPerStep = 8;

}  // namespace

// Runs of a recurring task are kept apart by its mode.
bool Claims::Asks(const Execution& row) {
    return row.origin == Origin::kOnce && !row.task->opt().unique_key.empty();
}

// "1767225600000 order-17 60000": until when, which execution, and how long in all. Builds before the
// first version did not write the last.
void Claims::Restore(std::string_view key, std::string_view value) {
    const std::size_t space = value.find(' ');
    if (space == value.npos) return;
    const auto until = ParseNumber<std::int64_t>(value.substr(0, space));
    if (!until) return;
    std::string_view execution = value.substr(space + 1);
    Claim claim{.execution = {}, .until = Time(Duration(*until))};
    if (const std::size_t second = execution.find(' '); second != execution.npos) {
        claim.window =
            Duration(ParseNumber<std::int64_t>(execution.substr(second + 1)).value_or(0));
        execution = execution.substr(0, second);
    }
    claim.execution = ExecutionId(Text(execution));
    claim.written = claim.until;
    claims_.insert_or_assign(Text(key), claim);
    ends_.emplace(claim.until, Text(key));
}

void Claims::Begin(Time now, Duration ahead, Duration behind) {
    ahead_ = ahead;
    back_ = behind;
    for (auto& [key, claim] : claims_) {
        if (claim.window == Duration(0) || claim.until <= now + claim.window) continue;
        ends_.erase({claim.until, key});
        claim.until = now + claim.window;
        claim.own = true;  // By this term's clock from now on, which may be set right itself.
        ends_.emplace(claim.until, key);
    }
}

Time Claims::ToWrite(const Claim& claim) const {
    // One of an earlier term stands as that one wrote it: the trusted clock did not move it.
    if (!claim.own || TAKT_MUTANT("engine.keys_by_last_clock")) return claim.until + ahead_;
    return claim.until + std::max(ahead_, back_);
}

void Claims::Write(const Text& key, Claim& claim, Draft& draft) const {
    claim.written = ToWrite(claim);
    draft.Set({Text(std::string(kPrefix) + key.str()),
               Text(std::to_string(claim.written.time_since_epoch().count()) + " " +
                    claim.execution.text().str() + " " + std::to_string(claim.window.count()))});
}

const Claim* Claims::HolderAgainst(const ExecutionId& execution, const Task& task, Time now) const {
    if (task.opt().unique_key.empty()) return nullptr;
    const auto found = claims_.find(task.opt().unique_key);
    if (found == claims_.end()) return nullptr;
    const Claim& claim = found->second;
    const bool free = !claim.live && (claim.until <= now || claim.execution == execution);
    return free ? nullptr : &claim;
}

Claim& Claims::Note(const Execution& row, Time now) {
    const TaskOptions& options = row.task->opt();
    const bool window = options.unique_for > Duration(0);
    Claim& claim = claims_[options.unique_key];
    claim = {.execution = row.id,
             .until = window ? now + options.unique_for : Time{},
             .live = true,
             .window = options.unique_for};
    if (window) ends_.emplace(claim.until, options.unique_key);
    return claim;
}

void Claims::Restore(const Execution& row) {
    if (!Asks(row)) return;
    const auto stored = claims_.find(row.task->opt().unique_key);
    if (stored != claims_.end() && stored->second.execution == row.id) {
        stored->second.live = true;
    } else {
        Note(row, row.created_at);
    }
}

void Claims::Hold(const Execution& row, Time now, Draft& draft) {
    if (!Asks(row)) return;
    const Text& key = row.task->opt().unique_key;
    const auto before = claims_.find(key);
    const Time stored_until = before == claims_.end() ? Time{} : before->second.until;
    Claim& claim = Note(row, now);
    claim.own = true;
    if (claim.until != Time{}) {
        Write(key, claim, draft);
    } else if (stored_until != Time{}) {
        // The window of an earlier claim was over, and nobody had said so yet.
        ends_.erase({stored_until, key});
        draft.Set({Text(std::string(kPrefix) + key.str()), Text()});
    }
}

void Claims::Release(const Execution& row) {
    const auto found = claims_.find(row.task->opt().unique_key);
    if (found == claims_.end() || !(found->second.execution == row.id)) return;
    found->second.live = false;
    if (found->second.until == Time{}) {
        claims_.erase(found);
    } else {
        // Its window may have ended while the execution still held the key.
        ends_.emplace(found->second.until, found->first);
    }
}

void Claims::Move(Duration by, Duration ahead) {
    ahead_ = ahead;
    back_ = std::max(back_ - by, Duration(0));
    untold_ = Text();
    if (by == Duration(0)) return;
    for (auto& [key, claim] : claims_) {
        if (!claim.own || claim.until == Time{}) continue;
        const bool ends = ends_.erase({claim.until, key}) > 0;
        claim.until += by;
        if (ends) ends_.emplace(claim.until, key);
    }
}

void Claims::Tell(Draft& draft) {
    if (!untold_) return;
    std::size_t told = 0;
    for (auto next = claims_.lower_bound(*untold_); next != claims_.end(); ++next) {
        auto& [key, claim] = *next;
        const bool right = std::chrono::abs(ToWrite(claim) - claim.written) <= kDrift;
        if (claim.until == Time{} || right) continue;
        if (draft.Tired() || told++ == kToldPerStep) return void(untold_ = key);
        Write(key, claim, draft);
    }
    untold_.reset();
}

void Claims::ForgetEnded(Time now, Draft& draft) {
    while (!draft.Tired() && !ends_.empty() && ends_.begin()->first <= now) {
        const auto [until, key] = *ends_.begin();
        ends_.erase(ends_.begin());
        const auto claim = claims_.find(key);
        if (claim == claims_.end()) continue;
        // A live row without a window was restored over a stored claim of before.
        const bool outlived = claim->second.live && claim->second.until == Time{};
        if (!outlived && (claim->second.live || claim->second.until != until)) continue;
        draft.Set({Text(std::string(kPrefix) + key.str()), Text()});
        if (!outlived) claims_.erase(claim);
    }
}

}  // namespace takt::internal
