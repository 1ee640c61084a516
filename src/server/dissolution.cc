#include "server/dissolution.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "base/log.h"

namespace takt::internal {
namespace {

// Ended at a time, in a few commits. More would keep other namespaces of the loop waiting.
constexpr std::size_t kEndedAtOnce = 500;

bool Leads(Realm& realm) {
    return realm.node().status().role == Role::kLeader;
}

}  // namespace

Dissolution::Dissolution(Runtime& runtime, Store& store, std::function<void()> on_change)
    : store_(store), on_change_(std::move(on_change)), home_(runtime) {}

void Dissolution::GoOn(const Directory& directory, const std::shared_ptr<Realm>& home,
                       const FindRealm& find) {
    for (const auto& [name, row] : directory.rows) {
        if (row.state == NamespaceState::kActive || busy_.contains(name)) continue;
        const std::shared_ptr<Realm> realm = find(name);
        if (row.state == NamespaceState::kDeleting && realm && Leads(*realm)) {
            busy_.insert(name);
            Launch(EndAll(realm, home, row, directory.version));
        } else if (Leads(*home)) {
            busy_.insert(name);
            Launch(row.state == NamespaceState::kEmpty
                       ? Drop(home, row, directory.version, directory.epoch_floor)
                       : NoteEmpty(home, row, directory.version));
        }
    }
}

Flow<Result<Answer>> Dissolution::Ask(Realm& realm, Input input) {
    co_return co_await home_.Wait<Result<Answer>>(
        [&](auto done) { realm.node().Ask(std::move(input), std::move(done)); });
}

// They go into as few commits as the node can make of them.
Flow<> Dissolution::AskAll(Realm& realm, std::vector<Input> inputs) {
    if (inputs.empty()) co_return;
    co_await home_.Wait<bool>([&](auto done) {
        const auto left = std::make_shared<std::atomic<std::size_t>>(inputs.size());
        const auto last = std::make_shared<decltype(done)>(std::move(done));
        for (Input& input : inputs) {
            realm.node().Ask(std::move(input), [left, last](const Result<Answer>&) {
                if (--*left == 0) (*last)(true);
            });
        }
    });
}

// Whether there are none left.
Flow<bool> Dissolution::DeleteTasks(Realm& realm) {
    const auto tasks = co_await home_.Wait<Result<std::vector<TaskRow>>>(
        [&](auto done) { realm.rows().ListTasks({.limit = kEndedAtOnce}, std::move(done)); });
    if (!tasks) co_return false;
    std::vector<Input> inputs;
    for (const TaskRow& row : *tasks) {
        inputs.emplace_back(DeleteTask{.task = row.task->id, .runs = RunsOfDeleted::kCancel});
    }
    co_await AskAll(realm, std::move(inputs));
    co_return tasks->empty();
}

Flow<bool> Dissolution::CancelExecutions(Realm& realm) {
    ExecutionFilter filter{.limit = kEndedAtOnce, .brief = true};
    filter.statuses = {Status::kPending, Status::kScheduled, Status::kRunning, Status::kRetrying};
    const auto rows = co_await home_.Wait<Result<std::vector<Execution>>>(
        [&](auto done) { realm.rows().ListExecutions(filter, std::move(done)); });
    if (!rows) co_return false;
    std::vector<Input> inputs;
    for (const Execution& row : *rows) {
        inputs.emplace_back(
            Cancel{.execution = row.id, .reason = "its namespace is being deleted"});
    }
    co_await AskAll(realm, std::move(inputs));
    co_return rows->empty();
}

// The next look at the directory goes on with what is left. A scheduler that leads `default` as well
// has nobody else to notice that nothing is.
Flow<> Dissolution::EndAll(std::shared_ptr<Realm> realm, std::shared_ptr<Realm> home,
                           NamespaceRow row, std::uint64_t version) {
    const bool no_tasks = co_await DeleteTasks(*realm);
    const bool no_executions = co_await CancelExecutions(*realm);
    if (!no_tasks || !no_executions) {
        busy_.erase(row.name);
        co_return on_change_();
    }
    co_await Ask(
        *realm, SetSetting{.key = Text(kNamespaceEmptyKey), .value = Text(std::to_string(row.id))});
    if (Leads(*home)) co_return co_await NoteEmpty(home, row, version);
    busy_.erase(row.name);
}

Flow<bool> Dissolution::Swap(Realm& home, std::uint64_t version, std::vector<SettingPut> puts) {
    SwapSettings swap{.guard = Text(kDirectoryVersionKey),
                      .expected = Text(std::to_string(version)),
                      .next = Text(std::to_string(version + 1))};
    swap.puts = std::move(puts);
    co_return (co_await Ask(home, std::move(swap))).has_value();
}

Flow<> Dissolution::NoteEmpty(std::shared_ptr<Realm> home, NamespaceRow row,
                              std::uint64_t version) {
    const auto told = co_await home_.Wait<Result<std::vector<SettingPut>>>([&](auto done) {
        store_.ListSettings(row.number, Text(kNamespaceEmptyKey), std::move(done));
    });
    if (told && !told->empty() && told->front().value.view() == std::to_string(row.id)) {
        row.state = NamespaceState::kEmpty;
        if (co_await Swap(*home, version, {SettingOf(row)})) on_change_();
    }
    busy_.erase(row.name);
}

// The partition's last term, of an epoch of 0 if there was none; nothing while somebody leads it, or
// may.
Flow<std::optional<LeaderRow>> Dissolution::LastTerm(Partition partition) {
    const auto leaders = co_await home_.Wait<Result<std::vector<LeaderRow>>>(
        [&](auto done) { store_.Leaders(std::move(done)); });
    if (!leaders) co_return std::nullopt;
    const auto row = std::ranges::find(*leaders, partition, &LeaderRow::partition);
    if (row == leaders->end()) co_return LeaderRow{.partition = partition};
    if (row->leads()) co_return std::nullopt;
    co_return *row;
}

// A leader that is frozen and that nobody has replaced could still commit, into what is to be gone or
// is the next namespace's of that number: its term is ended first.
Flow<Result<void>> Dissolution::DropRows(LeaderRow last) {
    if (last.nonce != 0) {
        const Term term{last.partition, last.epoch, last.nonce};
        auto ended = co_await home_.Wait<Result<void>>(
            [&](auto done) { store_.Resign(term, {}, std::move(done)); });
        if (!ended) co_return ended;
    }
    co_return co_await home_.Wait<Result<void>>(
        [&](auto done) { store_.DropPartition(last.partition, last.epoch, std::move(done)); });
}

Flow<> Dissolution::Drop(std::shared_ptr<Realm> home, NamespaceRow row, std::uint64_t version,
                         std::uint64_t epoch_floor) {
    if (const auto last = co_await LastTerm(row.number)) {
        const std::string floor = std::to_string(std::max(last->epoch, epoch_floor));
        const auto dropped = co_await DropRows(*last);
        if (!dropped) {
            Log(LogLevel::kWarning, "namespaces", "the rows of a namespace cannot be deleted yet",
                {{"namespace", row.name}, {"error", dropped.error().detail}});
        } else if (co_await Swap(
                       *home, version,
                       {{SettingOf(row).key, Text()}, {Text(kDirectoryEpochKey), Text(floor)}})) {
            Log(LogLevel::kInfo, "namespaces", "deleted a namespace", {{"namespace", row.name}});
            on_change_();
        }
    }
    busy_.erase(row.name);
}

}  // namespace takt::internal
