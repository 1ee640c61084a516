// The model of a store that histories are committed to.
#include <array>
#include <utility>

#include "engine/history.h"

namespace takt::internal {

bool CanReach(Status from, Status to) {
    static const auto kReach = [] {
        std::array<std::array<bool, kStatusCount>, kStatusCount> reach{};
        for (const Transition& t : Transitions()) reach[int(t.from)][int(t.to)] = true;
        for (int via = 0; via < kStatusCount; ++via) {
            for (int a = 0; a < kStatusCount; ++a) {
                for (int b = 0; b < kStatusCount; ++b) {
                    reach[a][b] = reach[a][b] || (reach[a][via] && reach[via][b]);
                }
            }
        }
        return reach;
    }();
    return kReach[int(from)][int(to)];
}

const ModelStore::Row* ModelStore::Find(const ExecutionId& id) const {
    const auto found = executions.find(id);
    return found == executions.end() ? nullptr : &found->second;
}

void ModelStore::Apply(const std::vector<Change>& changes) {
    std::set<std::string> rows;
    const auto once = [&](std::string row) {
        EXPECT_TRUE(rows.insert(row).second) << "a batch changes twice: " << row;
    };
    for (const Change& change : changes) {
        if (const auto* execution = std::get_if<ExecutionChange>(&change)) {
            once("execution " + execution->row.id.text().str());
            Apply(*execution);
        } else if (const auto* worker = std::get_if<WorkerPut>(&change)) {
            once("worker " + worker->row.id.text().str());
            workers[worker->row.id] = worker->row;
        } else if (const auto* gone = std::get_if<WorkerDelete>(&change)) {
            once("worker " + gone->id.text().str());
            workers.erase(gone->id);
        } else if (const auto* setting = std::get_if<SettingPut>(&change)) {
            once("setting " + setting->key.str());
            if (setting->value.empty()) {
                settings.erase(setting->key);
            } else {
                settings[setting->key] = setting->value;
            }
        } else if (const auto* record = std::get_if<RecordPut>(&change)) {
            once("record " + std::to_string(int(record->kind)) + " " + record->key.str());
            if (record->value.empty()) {
                records.erase({record->kind, record->key});
            } else {
                records[{record->kind, record->key}] = record->value;
            }
        } else if (const auto* put = std::get_if<TaskPut>(&change)) {
            once("task " + put->row.task->id.text().str());
            tasks[put->row.task->id] = put->row;
        } else if (const auto* dropped = std::get_if<TaskDelete>(&change)) {
            once("task " + dropped->id.text().str());
            tasks.erase(dropped->id);
        } else if (const auto* log = std::get_if<LogAppend>(&change)) {
            EXPECT_TRUE(logs.empty() || logs.back().index < log->row.index);
            logs.push_back(log->row);
        } else if (const auto* event = std::get_if<EventAppend>(&change)) {
            EXPECT_TRUE(events.empty() || events.back().serial < event->row.serial);
            events.push_back(event->row);
        } else if (const auto* purge = std::get_if<Purge>(&change)) {
            once("purge");
            purges.push_back(*purge);
        } else if (const auto* row = std::get_if<AuditAppend>(&change)) {
            EXPECT_TRUE(audit.empty() || audit.back().serial < row->row.serial);
            audit.push_back(row->row);
        }
    }
}

void ModelStore::Apply(const ExecutionChange& change) {
    const std::string id = change.row.id.text().str();
    Row& row = executions[change.row.id];
    EXPECT_EQ(change.before, row.place) << id << " is not where the change says";
    EXPECT_NE(change.after, Place::kNone) << id;
    EXPECT_EQ(change.after == Place::kHistory, IsTerminal(change.row.status)) << id;
    if (row.place == Place::kNone) {
        EXPECT_TRUE(change.row.status == Status::kPending ||
                    CanReach(Status::kPending, change.row.status))
            << id;
    } else {
        const Execution& before = row.execution;
        EXPECT_TRUE(before.status == change.row.status ||
                    CanReach(before.status, change.row.status))
            << id << ": " << Name(before.status) << " to " << Name(change.row.status);
        EXPECT_EQ(before.serial, change.row.serial) << id;
        EXPECT_EQ(before.created_at, change.row.created_at) << id;
        EXPECT_LE(before.attempt, change.row.attempt) << id;
        EXPECT_LE(before.epoch, change.row.epoch) << id;
        // One attempt has one token; another attempt has another.
        EXPECT_EQ(before.attempt == change.row.attempt, before.token == change.row.token) << id;
    }
    row = {change.after, change.row};
}

}  // namespace takt::internal
