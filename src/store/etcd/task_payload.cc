#include "store/etcd/task_payload.h"

#include <algorithm>

#include "base/log.h"
#include "model/record.h"
#include "store/etcd/limits.h"
#include "store/etcd/snapshot.h"

namespace takt::internal::etcd {
namespace {

// Field 127 with a text of 33 bytes, which readers of the record pass over.
constexpr std::string_view kTaskApart = "\xFA\x07\x21";
// Of one round trip; each is a megabyte at most.
constexpr std::size_t kTaskPayloadsAtOnce = 4;

TaskPtr WithPayload(const TaskPtr& task, Text payload) {
    NewTaskPtr copy(new Task(*task));
    copy->payload = std::move(payload);
    return copy;
}

}  // namespace

bool KeepsPayloadApart(const Task& task) {
    return task.payload.size() >= kPayloadApartMin;
}

std::string EncodeTaskApart(const TaskRow& row, PackName at) {
    return EncodeTaskRow({WithPayload(row.task, {}), row.state}) + std::string(kTaskApart) +
           PackText(at);
}

std::optional<PackName> PayloadOfTask(std::string_view bytes) {
    constexpr std::size_t size = kTaskApart.size() + kPackTextBytes;
    if (bytes.size() < size) return std::nullopt;
    const std::string_view end = bytes.substr(bytes.size() - size);
    if (!end.starts_with(kTaskApart)) return std::nullopt;
    return ParsePackText(end.substr(kTaskApart.size()));
}

void TaskPayloads::Begin(const Term& term) {
    drafts_.clear();
    if (term == term_) return;
    known_.clear();
    term_ = term;
}

std::vector<TaskId> TaskPayloads::Unknown(const Batch& batch) const {
    std::vector<TaskId> ids;
    for (const Change& change : batch.changes) {
        const TaskId* id = nullptr;
        if (const auto* put = std::get_if<TaskPut>(&change)) {
            // The first version of a small task has had no other payload.
            const Task& task = *put->row.task;
            if (KeepsPayloadApart(task) || task.version > 1) id = &task.id;
        } else if (const auto* gone = std::get_if<TaskDelete>(&change)) {
            id = &gone->id;
        }
        if (id && !known_.contains(id->text())) ids.push_back(*id);
    }
    return ids;
}

void TaskPayloads::Learn(const TaskId& task, std::optional<PackName> at) {
    known_.insert_or_assign(task.text(), TaskPayload{at, {}});
}

TaskPayload TaskPayloads::Find(const TaskId& task) const {
    if (const auto draft = drafts_.find(task.text()); draft != drafts_.end()) return draft->second;
    const auto known = known_.find(task.text());
    return known == known_.end() ? TaskPayload{} : known->second;
}

void TaskPayloads::Draft(const TaskId& task, TaskPayload payload) {
    drafts_.insert_or_assign(task.text(), std::move(payload));
}

void TaskPayloads::Keep() {
    for (auto& [task, payload] : drafts_) known_.insert_or_assign(task, std::move(payload));
    drafts_.clear();
}

void TaskPayloads::Drop() {
    for (const auto& [task, payload] : drafts_) known_.erase(task);
    drafts_.clear();
}

Async<Result<std::vector<TaskRow>>> CompleteTasks(Snapshot& snapshot, const Keys& keys,
                                                  Partition partition,
                                                  std::vector<StoredTask> tasks) {
    std::vector<std::size_t> lacking;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        if (tasks[i].apart) lacking.push_back(i);
    }
    for (std::size_t begin = 0; begin < lacking.size(); begin += kTaskPayloadsAtOnce) {
        const std::size_t end = std::min(lacking.size(), begin + kTaskPayloadsAtOnce);
        std::vector<std::string> names;
        for (std::size_t i = begin; i < end; ++i) {
            const StoredTask& task = tasks[lacking[i]];
            names.push_back(keys.TaskPayload(partition, task.row.task->id.view(), *task.apart));
        }
        const auto values = co_await snapshot.Get(std::move(names));
        if (!values) co_return std::unexpected(values.error());
        for (std::size_t i = begin; i < end; ++i) {
            const auto& value = (*values)[i - begin];
            if (!value) continue;
            StoredTask& task = tasks[lacking[i]];
            task.row.task = WithPayload(task.row.task, Text(value->value()));
            task.apart.reset();
        }
    }
    std::vector<TaskRow> rows;
    for (StoredTask& task : tasks) {
        if (!task.apart) {
            rows.push_back(std::move(task.row));
            continue;
        }
        Log(LogLevel::kError, "store",
            "the payload of a stored task is missing, and it does not fire; put the task again "
            "under its id to replace it",
            {{"task", task.row.task->id}});
    }
    co_return rows;
}

}  // namespace takt::internal::etcd
