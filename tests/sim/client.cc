#include "sim/client.h"

#include <array>
#include <memory>
#include <utility>

#include "model/workflow.h"
#include "sim/kinds.h"

namespace takt::internal::sim {

// How long a client waits for an answer.
constexpr Micros kAnswerWait = 2s;

// A scheduler that lives has answered by then, also if it lost its lead or its store meanwhile.
constexpr Micros kAnsweredWithin = 20s;

// Beyond that etcd keeps payloads apart from their rows.
constexpr std::uint64_t kPayloadMax = 64u << 10;

// Keys that runs hold and steps of others ask for.
constexpr std::array<const char*, 3> kRing{"ring-0", "ring-1", "ring-2"};

void SimClient::Ask(Input input, std::function<void(const Result<Answer>&)> done,
                    std::uint64_t lock_token) {
    World& world = cluster_.world;
    SimNode* node = cluster_.nodes[world.Below(cluster_.nodes.size())].get();
    if (world.Chance(0.8)) {
        // Any node would forward to the leader.
        for (const auto& candidate : cluster_.nodes) {
            if (candidate->leads()) node = candidate.get();
        }
    }
    auto once = std::make_shared<std::function<void(const Result<Answer>&)>>(std::move(done));
    const auto answer = [once](const Result<Answer>& result) {
        if (*once) std::exchange(*once, {})(result);
    };
    world.After(kAnswerWait, nullptr, [this, once, answer] {
        if (*once && cluster_.checker.policies.nothing_fails) {
            cluster_.checker.OnUnanswered("have something done while nothing failed");
        }
        answer(internal::Fail(ErrorCode::kUnknown, "no answer in time"));
    });
    // An answer that a failover overtakes says what the store has lost: as good as none.
    const auto come = [this, node, answer](Result<Answer> result) {
        cluster_.world.After(
            cluster_.world.Between(50us, cluster_.network_max), nullptr,
            [node, answer, result = std::move(result), failovers = node->failovers()] {
                if (failovers == node->failovers()) answer(result);
            });
    };
    world.After(world.Between(50us, cluster_.network_max), nullptr,
                [this, node, come, lock_token, input = std::move(input)]() mutable {
                    const auto answered = std::make_shared<bool>(false);
                    AwaitAnswer(node->process(), answered);
                    node->Ask(
                        std::move(input),
                        [come, answered](Result<Answer> result) {
                            *answered = true;
                            come(std::move(result));
                        },
                        lock_token);
                });
}

void SimClient::AwaitAnswer(const ProcessPtr& process, const std::shared_ptr<bool>& answered) {
    cluster_.world.After(kAnsweredWithin, process, [this, process, answered] {
        if (*answered) return;
        // One that was frozen meanwhile has had less time than that.
        if (cluster_.world.now() - process->frozen_until < kAnsweredWithin) {
            return AwaitAnswer(process, answered);
        }
        cluster_.checker.OnUnanswered("have something done");
    });
}

// Limits that several share are the same for all of them: which of two words on a limit counts is
// for the histories to tell.
void SimClient::AddLimits(Job& job) {
    World& world = cluster_.world;
    TaskOptions& options = job.options;
    switch (world.Below(10)) {
        case 0:
            options.concurrency_key = "two-at-once";
            options.concurrency_max = 2;
            break;
        case 1:
            options.concurrency_key = "one-at-a-time";
            options.concurrency_max = 1;
            break;
        case 2:
            options.concurrency_key = "paced";
            options.rate = {.count = 2, .per = Duration(1'000)};
            break;
        case 3:
            options.unique_key = Text("key-" + std::to_string(world.Below(3)));
            // Some outlast a change of leaders.
            if (world.Chance(0.5)) {
                options.unique_for =
                    Duration(1'000 + world.Below(world.Chance(0.3) ? 60'000 : 8'000));
            }
            break;
        case 4:
            options.locks = {{.name = Text(kSharedLock)}};
            break;
        case 5:
            options.locks = {{.name = Text(kTasksLock)}, {.name = Text(kSharedLock)}};
            break;
        case 6:
            options.concurrency_key = kRing[world.Below(kRing.size())];
            options.concurrency_max = 1;
            break;
        default:
            break;
    }
}

void SimClient::SubmitSomething(bool quiet) {
    World& world = cluster_.world;
    Job job;
    if (world.Chance(0.6)) job.id = "job-" + std::to_string(++last_id_);
    if (world.Chance(0.3)) job.queue = "bulk";
    job.payload = std::to_string(world.Below(1000));
    if (world.Chance(0.2)) job.payload.resize(world.Below(kPayloadMax), 'x');
    job.priority = std::uint8_t(world.Below(kPriorityMax + 1));
    job.timeout = Duration(1'000 + world.Below(7'000));
    if (world.Chance(0.3)) job.options.delay = Duration(world.Below(5'000));
    if (!quiet && world.Chance(0.2)) job.options.expires_after = Duration(100 + world.Below(6'000));
    job.options.retry = RetryPolicy{.retries_max = std::uint32_t(world.Below(4)),
                                    .delay = Duration(100 + world.Below(1'000)),
                                    .delay_max = Duration(5'000)};
    AddLimits(job);
    if (world.Chance(0.25)) {
        AddSteps(job, quiet);
    } else {
        AskFor(job.type, job.options);
    }
    Submit(job);
}

// Of workers: what they serve, and how one of them is chosen.
void SimClient::AskFor(Text& type, TaskOptions& options) {
    World& world = cluster_.world;
    if (cluster_.traits.kinds) {
        Kind kind = AnyKind(world);
        type = kind.type;
        options.labels = kind.labels;
        options.target = kind.target;
    }
    if (cluster_.traits.strategies && world.Chance(0.3)) options.strategy = AnyStrategy(world);
}

// A small graph of steps, some of them divided, that hand on what they did.
void SimClient::AddSteps(Job& job, bool quiet) {
    World& world = cluster_.world;
    std::vector<WorkflowStep> steps;
    for (std::uint64_t i = 0, count = 1 + world.Below(4); i < count; ++i) {
        auto task = NewTaskPtr(new Task);
        task->name = Text("s" + std::to_string(i));
        task->type = "work";
        task->timeout = job.timeout;
        auto options = std::make_unique<TaskOptions>();
        options->retry = job.options.retry;
        // A step of a run that holds locks shares them, one of another run has its own.
        if (world.Chance(0.15)) {
            options->locks = {{.name = Text(kTasksLock)}};
            if (!job.options.locks.empty()) options->locks = {job.options.locks[0]};
        }
        // Runs that hold one of these while a step asks for another may wait in a circle.
        if (!quiet && world.Chance(0.2)) {
            const Text key = kRing[world.Below(kRing.size())];
            if (key != job.options.concurrency_key) {
                options->concurrency_key = key;
                options->concurrency_max = 1;
            }
        }
        AskFor(task->type, *options);
        WorkflowStep step;
        std::string payload;
        for (std::uint64_t before = 0; before < i; ++before) {
            if (!world.Chance(0.6)) continue;
            step.after.push_back(steps[before].task->name);
            payload += (payload.empty() ? "" : ",") + std::string(R"({"$from":")") +
                       step.after.back().str() + R"(","default":null})";
        }
        task->payload = "[" + payload + "]";
        task->options = std::move(options);
        step.task = std::move(task);
        if (world.Chance(0.4)) step.shards = 1 + std::uint32_t(world.Below(6));
        if (step.shards > 1 && world.Chance(0.3)) {
            step.min_success = 1 + std::uint32_t(world.Below(step.shards));
        }
        if (step.shards > 0 && world.Chance(0.5))
            step.parallel_max = 1 + std::uint32_t(world.Below(3));
        if (!step.after.empty()) step.when = static_cast<When>(world.Below(5));
        steps.push_back(std::move(step));
    }
    const auto on_failure = world.Chance(0.5) ? OnFailure::kStop : OnFailure::kContinue;
    job.options.workflow = Workflow::Make(std::move(steps), {.on_failure = on_failure}).value();
    const bool hurried = !quiet && world.Chance(0.2);
    job.timeout = hurried ? Duration(2'000 + world.Below(20'000)) : Duration(0);
}

void SimClient::Canary() {
    Job job;
    job.id = "canary";
    job.timeout = 5s;
    job.priority = kPriorityMax;
    job.options.retry = RetryPolicy{.retries_max = 20, .delay = Duration(100), .delay_max = 1s};
    canary_ = ExecutionId(Text(job.id));
    Submit(job);
}

bool SimClient::canary_finished() const {
    const Execution* row = cluster_.checker.Find(canary_);
    return row && IsTerminal(row->status);
}

void SimClient::Submit(const Job& job) {
    auto task = NewTaskPtr(new Task);
    if (!job.id.empty()) task->id = TaskId(Text(job.id));
    if (!job.options.workflow) task->type = job.type;
    task->queue = Text(job.queue);
    task->payload = job.payload;
    task->priority = job.priority;
    task->timeout = job.timeout;
    task->options = std::make_unique<TaskOptions>(job.options);
    if (cluster_.checker.store_forgets && !job.id.empty()) sent_[ExecutionId(Text(job.id))] = job;
    ++pending_;
    const Steady asked = cluster_.world.now();
    Ask(internal::Submit{0, std::move(task)}, [this, job, asked](const Result<Answer>& result) {
        --pending_;
        if (!result) return OnRefused(job, result.error(), asked);
        cluster_.world.Note("client", "is told of", result->execution.id.view());
        cluster_.checker.OnSubmitted(result->execution);
    });
}

void SimClient::OnRefused(Job job, const Error& error, Steady asked) {
    Checker& checker = cluster_.checker;
    if (error.code == ErrorCode::kConflict && error.field == "unique_key") {
        cluster_.world.Note("client", "is refused", job.options.unique_key.view());
        return checker.limits.OnKeyRefused(job.options.unique_key, asked);
    }
    if (error.code == ErrorCode::kExhausted && error.field == "queue") {
        checker.limits.OnQueueRefused(Text(job.queue), asked, cluster_.config.engine);
    }
    if (error.code == ErrorCode::kConflict) {
        return checker.Fail(job.id + " conflicts with itself: " + error.detail);
    }
    if (error.code == ErrorCode::kUnknown) {
        // Without an id of its own a request whose fate is unknown must not be sent again.
        if (job.id.empty()) return;
        job.doubtful = true;
    } else if (!job.doubtful && !job.id.empty() && checker.Find(ExecutionId(Text(job.id)))) {
        checker.Fail(job.id + " was refused and accepted all the same: " + error.detail);
    }
    // Retention may be short: whoever asks for what has ended long ago would have it run anew.
    const Execution* row = job.doubtful ? checker.Find(ExecutionId(Text(job.id))) : nullptr;
    if (row && IsTerminal(row->status)) return;
    ++pending_;
    cluster_.world.After(cluster_.world.Between(100ms, 800ms), nullptr, [this, job] {
        --pending_;
        Submit(job);
    });
}

// A job that is lost may be asked for again under its id: nobody knows of it.
void SimClient::OnFailover() {
    for (const ExecutionId& id : cluster_.checker.lost()) {
        const auto sent = sent_.find(id);
        if (sent == sent_.end() || cluster_.world.Chance(0.5)) continue;
        Job job = sent->second;
        job.doubtful = true;
        ++pending_;
        cluster_.world.After(cluster_.world.Between(1ms, 3s), nullptr, [this, job] {
            --pending_;
            Submit(job);
        });
    }
}

ExecutionId SimClient::AnyExecution() {
    const std::set<ExecutionId>& lost = cluster_.checker.lost();
    if (!lost.empty() && cluster_.world.Chance(0.2)) return *lost.begin();
    const std::vector<ExecutionId> known = cluster_.checker.Stored();
    if (known.empty() || cluster_.world.Chance(0.1)) return ExecutionId(Text("nobody"));
    return known[cluster_.world.Below(known.size())];
}

void SimClient::CancelSomething() {
    const ExecutionId id = AnyExecution();
    cluster_.world.Note("client", "cancels", id.view());
    Ask(Cancel{0, id, "not needed"}, [this](const Result<Answer>& result) {
        if (result) cluster_.checker.OnCancelled(result->execution);
    });
}

void SimClient::ConcludeSomething() {
    constexpr std::array<Status, 3> kEnds{Status::kSuccess, Status::kFailed, Status::kCancelled};
    World& world = cluster_.world;
    const ExecutionId id = AnyExecution();
    const Execution* row = cluster_.checker.Find(id);
    // What a run comes to is for its steps to say.
    if (row && row->task->workflow()) return;
    const Status status = kEnds[world.Below(kEnds.size())];
    world.Note("operator", "concludes " + std::string(Name(status)), id.view());
    cluster_.checker.OnConclude(id, status);
    auto outcome = boost::intrusive_ptr<Outcome>(new Outcome);
    outcome->message = Text(kConcluded);
    outcome->data = Text("[\"" + id.text().str() + "\",0]");
    if (status == Status::kFailed) outcome->reason = Reason::kHandlerFailed;
    if (status == Status::kCancelled) outcome->reason = Reason::kCancelled;
    Ask(Conclude{.execution = id, .status = status, .outcome = std::move(outcome)},
        [this](const Result<Answer>& result) {
            if (result) cluster_.checker.OnConcluded(result->execution);
        });
}

void SimClient::SetStrategy() {
    World& world = cluster_.world;
    internal::SetStrategy set;
    if (world.Chance(0.8)) set.strategy = AnyStrategy(world);
    world.Note("operator", "chooses workers by", set.strategy ? Name(*set.strategy) : "");
    Ask(std::move(set), [](const Result<Answer>&) {});
}

void SimClient::RedriveSomething() {
    const ExecutionId id = AnyExecution();
    cluster_.world.Note("client", "runs again", id.view());
    cluster_.checker.OnRedrive(id);
    Ask(Redrive{0, id}, [](const Result<Answer>&) {});
}

void SimClient::SetWorker(const std::string& worker, WorkerStatus status, bool insist) {
    cluster_.world.Note("operator", Name(status), worker);
    cluster_.checker.choices.OnStatusAsked(worker, status);
    if (insist) ++pending_;
    Ask(SetWorkerStatus{0, WorkerId(Text(worker)), status, "drill"},
        [this, worker, status, insist](const Result<Answer>& result) {
            if (!insist) return;
            --pending_;
            if (result || result.error().code == ErrorCode::kNotFound) return;
            ++pending_;
            cluster_.world.After(500ms, nullptr, [this, worker, status] {
                --pending_;
                SetWorker(worker, status, true);
            });
        });
}

void SimClient::RemoveWorker(const std::string& worker) {
    cluster_.world.Note("operator", "removes", worker);
    cluster_.checker.choices.OnStatusAsked(worker, WorkerStatus::kOffline);
    Ask(internal::RemoveWorker{0, WorkerId(Text(worker)), true}, [](const Result<Answer>&) {});
}

}  // namespace takt::internal::sim
