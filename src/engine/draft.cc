#include "engine/draft.h"

#include <algorithm>

#include "base/check.h"
#include "base/failpoint.h"

namespace takt::internal {

void Draft::Open(Effects& effects, Instant now, StepBounds bounds) {
    TAKT_CHECK(!effects_);
    effects_ = &effects;
    now_ = serial_time_ = now.wall;
    const std::size_t before = effects.changes.size();
    if (before == 0) effects.begun_at = now.steady;
    changes_max_ = bounds.changes_max > SIZE_MAX - before ? SIZE_MAX : before + bounds.changes_max;
    bytes_max_ = bounds.bytes_max;
    bytes_ = reserved_ = 0;
}

void Draft::Put(ChangeMark& mark, Place before, Place after, const Execution& row) {
    if (!InBatch(mark)) {
        auto& changes = effects_->changes;
        mark = {effects_->generation, static_cast<std::uint32_t>(changes.size())};
        changes.emplace_back(std::in_place_type<ExecutionChange>, before, after, row);
    } else {
        auto& change = std::get<ExecutionChange>(effects_->Rewrite(mark.index));
        change.after = after;
        change.row = row;
    }
    bytes_ += SizeOf(effects_->changes[mark.index]);
}

void Draft::Rewrite(std::uint32_t index, Change change) {
    bytes_ += SizeOf(change);
    effects_->Rewrite(index) = std::move(change);
}

void Draft::Set(SettingPut setting) {
    MakeUrgent();
    SetLater(std::move(setting));
}

void Draft::SetLater(SettingPut setting) {
    if (std::exchange(settings_generation_, effects_->generation) != effects_->generation) {
        settings_.clear();
    }
    const auto [mark, first] = settings_.try_emplace(setting.key);
    if (first) {
        mark->second = Add(std::move(setting));
    } else {
        Rewrite(mark->second, std::move(setting));
    }
}

void Draft::AppendLog(const ExecutionId& execution, std::uint32_t attempt, std::string_view lines) {
    LogChunk chunk{.execution = execution,
                   .index = NextSerial(),
                   .attempt = attempt,
                   .at = now_,
                   .lines = Text(lines)};
    Add(LogAppend{chunk});
    effects_->logs.push_back(std::move(chunk));
}

bool Draft::AddPurge(Purge purge) {
    if (InBatch(purge_)) return false;
    purge_ = {effects_->generation, Add(purge)};
    return true;
}

void Draft::Audit(const ActPtr& by, AuditChange change) {
    if (!by) return;
    AuditEntry entry{.act = *by};
    entry.act.change = std::move(change);
    Audit(entry);
}

void Draft::Audit(const AuditEntry& entry) {
    MakeUrgent();
    Add(AuditAppend{{.serial = NextSerial(), .at = now_, .body = Text(EncodeAuditEntry(entry))}});
}

void Draft::PutWorker(ChangeMark& mark, const Worker& row) {
    MakeUrgent();
    // A worker that left and came back within one batch must not be both deleted and put by it.
    if (!InBatch(mark) && workers_deleted_generation_ == effects_->generation) {
        for (std::uint32_t i = 0; i < effects_->changes.size(); ++i) {
            const auto* deletion = std::get_if<WorkerDelete>(&effects_->changes[i]);
            if (deletion && deletion->id == row.id) mark = {effects_->generation, i};
        }
    }
    Put(mark, WorkerPut{row});
}

void Draft::DeleteWorker(ChangeMark& mark, const WorkerId& id) {
    MakeUrgent();
    workers_deleted_generation_ = effects_->generation;
    Put(mark, WorkerDelete{id});
}

void Draft::Emit(Event event) {
    event.serial = NextSerial();
    event.at = now_;
    if (events_stored_ >> static_cast<unsigned>(event.type) & 1) Add(EventAppend{event});
    effects_->events.push_back(std::move(event));
}

void Draft::Reply(RequestId request, Result<Answer> answer) {
    if (!answer && TAKT_MUTANT("engine.swallow_refusals")) return;
    if (request != 0) effects_->replies.push_back({request, std::move(answer)});
}

void Draft::RecallLock(const ChangeMark& mark, std::uint64_t token) {
    if (!InBatch(mark)) return;
    std::erase_if(effects_->lock_verdicts,
                  [&](const LockVerdict& verdict) { return verdict.token == token; });
}

void Draft::LookUp(const ExecutionId& id) {
    if (effects_->lookups.empty()) effects_->lookups.emplace_back();
    effects_->lookups.back().ids.push_back(id);
}

bool Draft::Withdraw(const Execution& row, const ChangeMark& mark) {
    if (!InBatch(mark)) return false;
    return std::erase_if(effects_->assigns, [&](const Assign& assign) {
               return assign.execution.serial == row.serial &&
                      assign.execution.attempt == row.attempt;
           }) > 0;
}

}  // namespace takt::internal
