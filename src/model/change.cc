#include "model/change.h"

#include "model/workflow.h"

namespace takt::internal {
namespace {

// Numbers, tags, keys, index entries and the framing of the widest backend's protocol around them.
// An execution without texts takes under 200 bytes encoded, and up to as many again in keys.
constexpr std::size_t kRowBytes = 400;
constexpr std::size_t kItemBytes = 16;
constexpr std::size_t kPurgedBytes = 300;

std::size_t SizeOf(const Pairs& pairs) {
    std::size_t bytes = 0;
    for (const auto& [key, value] : pairs) bytes += key.size() + value.size() + kItemBytes;
    return bytes;
}

std::size_t SizeOf(const std::vector<Text>& texts) {
    std::size_t bytes = 0;
    for (const Text& text : texts) bytes += text.size() + kItemBytes;
    return bytes;
}

std::size_t SizeOf(const TaskOptions& options) {
    std::size_t bytes = kRowBytes + options.strategy_name.size() + SizeOf(options.metadata) +
                        SizeOf(options.labels) + options.target.size() + options.unique_key.size() +
                        options.trace.size() + options.trace_state.size() +
                        options.concurrency_key.size();
    for (const LockWant& want : options.locks) bytes += want.name.size() + kItemBytes;
    if (options.workflow) bytes += options.workflow->bytes();
    if (options.recurrence) {
        bytes += options.recurrence->cron.size() + options.recurrence->timezone.size() +
                 SizeOf(options.recurrence->excluded_dates);
    }
    return bytes;
}

std::size_t SizeOf(const TaskPtr& task) {
    if (!task) return 0;
    return task->id.text().size() + task->name.size() + task->type.size() + task->queue.size() +
           task->payload.size() + (task->options ? SizeOf(*task->options) : 0);
}

struct Sizer {
    std::size_t operator()(const ExecutionChange& change) const {
        const Execution& row = change.row;
        std::size_t bytes = row.id.text().size() + SizeOf(row.task) + row.worker.text().size() +
                            row.payload.size() + row.parent.text().size() + row.step.size() +
                            row.progress.size();
        if (row.outcome) {
            bytes += row.outcome->message.size() + row.outcome->data.size();
            for (const PastAttempt& past : row.outcome->past) {
                bytes += 40 + past.worker.text().size() + past.message.size();
            }
        }
        return bytes;
    }
    std::size_t operator()(const TaskPut& change) const { return SizeOf(change.row.task); }
    std::size_t operator()(const TaskDelete& change) const { return change.id.text().size(); }
    std::size_t operator()(const WorkerPut& change) const {
        const Worker& row = change.row;
        return row.id.text().size() + row.name.size() + SizeOf(row.types) + SizeOf(row.queues) +
               SizeOf(row.labels) + row.group.size() + row.address.size() + row.health_url.size() +
               row.version.size() + row.status_reason.size();
    }
    std::size_t operator()(const WorkerDelete& change) const { return change.id.text().size(); }
    std::size_t operator()(const SettingPut& change) const {
        return change.key.size() + change.value.size();
    }
    std::size_t operator()(const EventAppend& change) const {
        const Event& row = change.row;
        return row.task.text().size() + row.execution.text().size() + row.worker.text().size() +
               row.detail.size();
    }
    std::size_t operator()(const LogAppend& change) const {
        return change.row.execution.text().size() + change.row.lines.size();
    }
    std::size_t operator()(const RecordPut& change) const {
        return change.key.size() + change.value.size();
    }
    std::size_t operator()(const AuditAppend& change) const { return change.row.body.size(); }
    // A store that has to name what it deletes writes the keys of each execution.
    std::size_t operator()(const Purge& change) const { return kPurgedBytes * change.count_max; }
};

}  // namespace

std::size_t SizeOf(const Change& change) {
    return kRowBytes + std::visit(Sizer{}, change);
}

}  // namespace takt::internal
