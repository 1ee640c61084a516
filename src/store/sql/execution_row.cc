#include "store/sql/execution_row.h"

#include <cstring>

namespace takt::internal::sql {

Result<void> ExecutionReader::MakeTask(const TaskColumns& columns, Execution& row) {
    // Fires of one task in one version share the task, and so do the children of a step. Ids can be
    // used again after a deletion, so the version alone does not tell.
    const bool shared = columns.id != row.id.view();
    if (shared && last_task_ && last_task_->id.view() == columns.id &&
        last_task_->version == columns.version && last_options_ == columns.options &&
        last_task_->payload.view() == columns.payload && last_task_->name.view() == columns.name &&
        last_task_->updated_at == Time(Duration(columns.updated_at))) {
        row.task = last_task_;
        return {};
    }
    // A row that an operator edited must not lead outside what the engine keeps by priority.
    if (columns.priority < 0 || columns.priority > kPriorityMax) {
        return Fail(ErrorCode::kInvalid,
                    "priority " + std::to_string(columns.priority) + " is not one of 0 to 9");
    }
    if (columns.queue.empty()) return Fail(ErrorCode::kInvalid, "it names no queue");
    boost::intrusive_ptr<Task> task(new Task);
    if (!columns.options.empty()) {
        auto options = DecodeOptions(columns.options);
        if (!options) return std::unexpected(options.error());
        task->options = std::move(*options);
    }
    task->id = TaskId(!shared                           ? row.id.text()
                      : columns.id == row.parent.view() ? row.parent.text()
                                                        : Text(columns.id));
    task->name = name_.Get(columns.name);
    task->type = type_.Get(columns.type);
    task->queue = queue_.Get(columns.queue);
    task->payload = Text(columns.payload);
    task->priority = static_cast<std::uint8_t>(columns.priority);
    task->version = static_cast<std::uint32_t>(columns.version);
    task->timeout = Duration(columns.timeout);
    task->run_at = Time(Duration(columns.run_at));
    task->created_at = Time(Duration(columns.created_at));
    task->updated_at = Time(Duration(columns.updated_at));
    if (shared) {
        last_task_ = task;
        last_options_ = columns.options;
    }
    row.task = std::move(task);
    return {};
}

Result<void> ReadStatus(std::string_view name, Execution& row) {
    const std::optional<Status> status = ParseStatus(name);
    if (!status) return Fail(ErrorCode::kInvalid, "unknown status '" + std::string(name) + "'");
    row.status = *status;
    return {};
}

Result<void> ReadOrigin(std::string_view name, Execution& row) {
    for (const Origin origin :
         {Origin::kOnce, Origin::kFire, Origin::kTrigger, Origin::kStep, Origin::kBackfill}) {
        if (Name(origin) == name) {
            row.origin = origin;
            return {};
        }
    }
    return Fail(ErrorCode::kInvalid, "unknown origin '" + std::string(name) + "'");
}

Result<void> ReadToken(std::string_view bytes, Execution& row) {
    if (bytes.empty()) return {};
    if (bytes.size() != row.token.size()) return Fail(ErrorCode::kInvalid, "malformed token");
    std::memcpy(row.token.data(), bytes.data(), bytes.size());
    return {};
}

Result<void> ReadOutcome(std::string_view bytes, bool head, Execution& row) {
    if (bytes.empty()) return {};
    Result<OutcomePtr> outcome = head ? DecodeOutcomeHead(bytes) : DecodeOutcome(bytes);
    if (!outcome) return std::unexpected(outcome.error());
    row.outcome = std::move(*outcome);
    return {};
}

Result<void> CheckState(const Execution& row, bool run) {
    const bool working = IsWorking(row.status);
    if (!working || run || !row.worker.empty()) return {};
    return Fail(ErrorCode::kInvalid,
                "it is " + std::string(Name(row.status)) + " and names no worker");
}

void MakeUndecodable(Execution& row, const Error& error) {
    boost::intrusive_ptr<Outcome> outcome(new Outcome);
    outcome->reason = Reason::kUndecodable;
    outcome->message = Text("the stored record cannot be read: " + error.detail);
    row.outcome = outcome;
    row.status = Status::kFailed;
}

}  // namespace takt::internal::sql
