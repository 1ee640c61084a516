// Random histories: whatever happened, what can start does, and in the end everything has ended.
#include <random>

#include "engine/flow_fixture.h"
#include "engine/leftover.h"

namespace takt::internal {
namespace {

class RandomHistoryTest : public FlowHistory {
  protected:
    struct Process {
        WorkerSpec spec;
        bool connected = false;
        std::vector<AttemptRef> has;  // That it runs, or is to stop.
    };

    void Play(std::uint32_t seed) {
        random.seed(seed);
        config.worker_lease = 30s;
        config.timeout = 24h;
        config.takeover_grace = 30s;
        config.retry = {.retries_max = 1, .delay = 1s, .jitter = 0};
        config.changes_per_step = Below(3) == 0 ? 3 : 32;
        if (Below(4) == 0) config.ageing = 10s;
        for (const char* id : {"a", "b", "c", "d"}) NewProcess(id);
        Restart(now += 1s);
        for (int i = 0; i < 150 && !HasFailure(); ++i) {
            Act();
            Take();
            if (Below(3) > 0) {
                Until(now);
                Take();
                CheckNothingIsStuck();
            }
        }
        Settle();
    }

    std::uint32_t Below(std::uint32_t bound) { return std::uint32_t(random() % bound); }
    template <typename T>
    const T& OneOf(const std::vector<T>& all) {
        return all[Below(std::uint32_t(all.size()))];
    }

    void NewProcess(const std::string& id) {
        Process& process = processes[id];
        process = {};
        process.spec.id = id;
        process.spec.capacity = 1 + Below(3);
        process.spec.instance = std::to_string(++instances);
        for (const char* type : {"x", "y", "z"}) {
            if (Below(2) == 0) process.spec.types.push_back(Text(type));
        }
        if (Below(3) == 0) process.spec.queues = {Text("q0")};
        if (Below(3) == 0) process.spec.group = "g";
    }
    void Attach(const std::string& id) {
        Process& process = processes[id];
        process.connected = true;
        process.spec.holding = process.has;
        At(now, Join(process.spec));
    }

    void Act() {
        switch (Below(8)) {
            case 0:
            case 1:
                return ActOfWorker(OneOf<std::string>({"a", "b", "c", "d"}));
            case 2:
                return ActOfTask();
            case 3:
                return ActOfOperator();
            case 4:
                return SubmitOne();
            case 5:
                return EndOne(OneOf<std::string>({"a", "b", "c", "d"}));
            case 6:
                return Below(2) == 0 ? CancelOne() : RedriveOne();
            default:
                now += Duration(Below(15'000));
                for (auto& [id, one] : processes) {
                    if (one.connected && Below(8) > 0) At(now, Beat(id));
                }
        }
    }
    void ActOfWorker(const std::string& worker) {
        Process& process = processes[worker];
        const std::uint32_t what = Below(6);
        if (what < 3) {
            if (what == 0) NewProcess(worker);
            Attach(worker);
        } else if (what == 3) {
            At(now, Set(worker, OneOf<WorkerStatus>({WorkerStatus::kOnline, WorkerStatus::kDraining,
                                                     WorkerStatus::kMaintenance})));
        } else if (process.connected) {
            At(now, what == 4 ? Input(Cut(worker)) : Input(Bye(worker)));
            process.connected = false;
            if (what == 5) NewProcess(worker);
        }
    }
    void ActOfOperator() {
        switch (Below(5)) {
            case 0:
                return At(now, Limit(OneOf<std::string>({"q0", "q1"}),
                                     {.paused = Below(4) == 0, .working_max = Below(3)}));
            case 1:
                return At(now, SetLock{.request = NextRequest(),
                                       .name = Text(OneOf<std::string>({"l0", "l1"})),
                                       .permits = 1 + Below(2)});
            case 2:
                Restart(now += Below(2) * 1s);
                for (auto& [id, one] : processes) one.connected = false;
                return;
            default:
                for (auto& [id, one] : processes) {
                    if (!one.connected) Attach(id);
                }
        }
    }
    void ActOfTask() {
        const std::string task = OneOf<std::string>({"t0", "t1", "t2"});
        const std::uint32_t what = Below(6);
        if (what > 1) return At(now, TriggerOf(task, "", Below(5) == 0));
        if (what == 1) return PutOne();
        DeleteTask drop = Drop(task);
        if (Below(2) == 0) drop.runs = RunsOfDeleted::kKeep;
        At(now, drop);
    }

    void SubmitOne() {
        OnceSpec spec{.id = "e" + std::to_string(++made),
                      .type = OneOf<std::string>({"x", "y", "z"}),
                      .queue = OneOf<std::string>({"q0", "q1"}),
                      .priority = std::uint8_t(Below(10))};
        const std::uint32_t key = Below(4);
        if (key < 2) {
            spec.concurrency_key = "k" + std::to_string(key);
            spec.concurrency_max = key + 1;
        }
        if (Below(5) == 0) spec.locks = {{.name = Text(OneOf<std::string>({"l0", "l1"}))}};
        if (Below(8) == 0) spec.target = OneOf<std::string>({"a", "g"});
        if (Below(10) == 0) spec.expires_after = 5s;
        At(now, Once(spec));
    }
    void PutOne() {
        TaskOptions options;
        options.mode = OneOf<Mode>({Mode::kSequential, Mode::kReplace, Mode::kSkip});
        if (Below(3) == 0) {
            options.concurrency_key = "k1";
            options.concurrency_max = 2;
        }
        if (Below(4) == 0) options.locks = {{.name = "l0"}};
        const std::string id = OneOf<std::string>({"t0", "t1", "t2"});
        if (Below(3) == 0) {
            PutTask put = PutFlow({.id = id, .every = 240h, .options = options},
                                  MakeWorkflow({{.name = "one"}, {.name = "two"}}));
            return At(now, put);
        }
        RecurringSpec spec{.id = id, .every = 240h, .options = options};
        PutTask put = Put(spec);
        put.task->type = "x";
        At(now, put);
    }
    std::vector<std::string> Live() const {
        std::vector<std::string> live;
        for (const auto& [id, row] : store.executions) {
            if (row.place == Place::kLive) live.push_back(id.text().str());
        }
        return live;
    }
    void CancelOne() {
        const std::vector<std::string> live = Live();
        if (!live.empty()) At(now, CancelOf(OneOf(live)));
    }
    void RedriveOne() {
        std::vector<std::string> over;
        for (const auto& [id, row] : store.executions) {
            const Status status = row.execution.status;
            if (row.place == Place::kHistory && row.execution.parent.empty() &&
                (status == Status::kCancelled || status == Status::kFailed)) {
                over.push_back(id.text().str());
            }
        }
        if (!over.empty()) At(now, RedriveOf(OneOf(over)));
    }
    void EndOne(const std::string& worker) {
        Process& process = processes[worker];
        if (!process.connected || process.has.empty()) return;
        const std::uint32_t index = Below(std::uint32_t(process.has.size()));
        const AttemptRef attempt = process.has[index];
        process.has.erase(process.has.begin() + index);
        At(now, ReportOf(attempt, worker, Below(3) > 0));
    }

    // The workers get all that was sent.
    void Take() {
        for (const CloseSession& close : closes) {
            for (auto& [id, process] : processes) {
                if (process.connected && SessionOf(id) == close.session) process.connected = false;
            }
        }
        for (const Assign& assign : assigns) {
            const std::string worker = assign.execution.worker.text().str();
            Process& process = processes[worker];
            if (process.connected && SessionOf(worker) == assign.session) {
                process.has.push_back(
                    {assign.execution.id, assign.execution.attempt, assign.execution.token});
            }
        }
        assigns.clear();
        closes.clear();
        stops.clear();
    }

    bool HasLeftovers() const {
        return std::ranges::any_of(store.settings, [](const auto& setting) {
            return setting.first.view().starts_with(Leftover::kPrefix) && !setting.second.empty();
        });
    }
    // One without locks that is ready, and that a worker with room could take.
    void CheckNothingIsStuck() {
        std::map<Text, std::uint32_t> working, under;
        for (const auto& [id, row] : store.executions) {
            if (row.place != Place::kLive || !IsWorking(row.execution.status)) continue;
            if (!row.execution.task->workflow()) ++working[row.execution.task->queue];
            ++under[row.execution.task->opt().concurrency_key];
        }
        for (const auto& [id, row] : store.executions) {
            const Execution* live = engine().FindExecution(id);
            if (!live || live->status != Status::kPending) continue;
            const Task& task = *live->task;
            if (task.recurring() || task.workflow() || !live->parent.empty()) continue;
            if (!task.opt().locks.empty() || live->losses > 0 || live->ready_at > WallAt(now))
                continue;
            const auto queue = engine().FindQueue(task.queue);
            if (queue && queue->limits.paused) continue;
            if (queue && queue->limits.working_max > 0 &&
                working[task.queue] >= queue->limits.working_max) {
                continue;
            }
            const Text& key = task.opt().concurrency_key;
            if (!key.empty() && (HasLeftovers() || under[key] >= task.opt().concurrency_max)) {
                continue;
            }
            for (const WorkerView& worker : engine().Workers()) {
                const auto lists = [](const std::vector<Text>& names, const Text& name) {
                    return names.empty() || std::ranges::find(names, name) != names.end();
                };
                const Worker& one = worker.row;
                const bool serves = lists(one.types, task.type) && lists(one.queues, task.queue) &&
                                    (task.opt().target.empty() || task.opt().target == one.group ||
                                     task.opt().target == one.id.text());
                const bool free = worker.session != 0 && one.status == WorkerStatus::kOnline &&
                                  !worker.load.draining && worker.busy < one.capacity;
                EXPECT_FALSE(serves && free)
                    << id.text().str() << " waits at " << now.count() << " though "
                    << one.id.text().str() << " has room: " << CodeOf(id.text().str());
            }
        }
    }

    void Settle() {
        for (const char* queue : {"q0", "q1", "default"}) At(now, Limit(queue, {}));
        for (auto& [id, process] : processes) {
            process.spec.types = process.spec.queues = {};
            process.connected = false;
        }
        processes["all"].spec = {.id = "all", .capacity = 100, .group = "g"};
        for (int i = 0; i < 400 && engine().live_count() + HasLeftovers() > 0; ++i) {
            now += 1s;
            for (auto& [id, process] : processes) {
                if (!process.connected) Attach(id);
                At(now, Beat(id));
                At(now, Set(id, WorkerStatus::kOnline));
                Take();
                for (const AttemptRef& attempt : std::exchange(process.has, {})) {
                    At(now, ReportOf(attempt, id, true));
                }
                Take();
            }
            Until(now);
            Take();
        }
        for (const std::string& id : Live()) ADD_FAILURE() << id << " waits: " << CodeOf(id);
        EXPECT_FALSE(HasLeftovers());
        for (const char* lock : {"l0", "l1"}) {
            const auto view = engine().FindLock(lock);
            EXPECT_TRUE(!view || view->taken == 0) << lock;
        }
    }

    std::minstd_rand random;
    std::map<std::string, Process> processes;
    Duration now{0};
    int made = 0;
    int instances = 0;
};

class RandomSeedTest : public RandomHistoryTest, public ::testing::WithParamInterface<int> {};

TEST_P(RandomSeedTest, WhatCanStartDoesAndAllEnds) {
    Play(std::uint32_t(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomSeedTest, ::testing::Range(0, 60));

}  // namespace
}  // namespace takt::internal
