// Records with every field set, for the tests of how they are written and read.
#pragma once

#include <chrono>
#include <string>
#include <utility>

#include "model/execution.h"
#include "model/record.h"
#include "model/task.h"

namespace takt::internal {

using namespace std::chrono_literals;

inline const std::string kBytes = std::string("\0\xff\n\"", 4) + "ü";

inline TaskOptions FullOptions() {
    TaskOptions options;
    options.retry = RetryPolicy{7, 11s, 1.5, 13s, 0.25};
    options.strategy = Strategy::kCustom;
    options.strategy_name = "mine";
    options.metadata = {{"a", "1"}, {"b", kBytes}};
    options.labels = {{"gpu", "yes"}, {"zone", ""}};
    options.target = "mailers";
    options.unique_key = "u";
    options.unique_for = 17s;
    options.expires_after = 19s;
    options.trace = "00-11-22-01";
    options.trace_state = "vendor=opaque";
    options.concurrency_key = "c";
    options.concurrency_max = 23;
    options.rate = {.count = 29, .per = 31s};
    options.recurrence = Recurrence{.cron = "0 3 * * *",
                                    .timezone = "Europe/Berlin",
                                    .every = 37s,
                                    .every_after_end = 41s,
                                    .dst = Dst::kTwice,
                                    .start_at = Time(43s),
                                    .end_at = Time(47s),
                                    .fires_max = 53,
                                    .jitter = 59s,
                                    .excluded_dates = {"2026-12-25", "2027-01-01"}};
    options.mode = Mode::kReplace;
    options.misfire = Misfire::kSkip;
    options.misfires_max = 61;
    options.backlog_max = 67;
    options.start_deadline = 71s;
    options.catch_up_after_pause = true;
    options.delay = 90s;
    return options;
}

inline TaskPtr FullTask() {
    boost::intrusive_ptr<Task> task(new Task);
    task->id = TaskId("t-1");
    task->name = "nightly report";
    task->type = "report";
    task->queue = "bulk";
    task->payload = kBytes;
    task->priority = 9;
    task->version = 3;
    task->timeout = 73s;
    task->run_at = Time(79s);
    task->created_at = Time(83ms);
    task->updated_at = Time(89ms);
    task->options = std::make_unique<const TaskOptions>(FullOptions());
    return task;
}

inline OutcomePtr FullOutcome() {
    boost::intrusive_ptr<Outcome> outcome(new Outcome);
    outcome->reason = Reason::kRejected;
    outcome->code = -97;
    outcome->message = "no such type";
    outcome->data = kBytes;
    outcome->past = {{.attempt = 1, .end = AttemptEnd::kLost, .worker = WorkerId(Text("w"))},
                     {.attempt = 2,
                      .end = AttemptEnd::kCancelled,
                      .reason = Reason::kRejected,
                      .worker = WorkerId(Text("v")),
                      .started_at = Time(Duration(5)),
                      .finished_at = Time(Duration(7)),
                      .message = kBytes}};
    return outcome;
}

inline Execution FullExecution() {
    Execution execution;
    execution.serial = Serial{1} << 62;
    execution.id = ExecutionId("e-1");
    execution.task = FullTask();
    execution.status = Status::kSkipped;
    execution.origin = Origin::kStep;
    execution.attempt = 4;
    execution.failures = 5;
    execution.losses = 6;
    execution.epoch = 1'000'000'007;
    execution.token.fill(0xa5);
    execution.worker = WorkerId("w-1");
    execution.payload = "{\"x\":1}";
    execution.parent = ExecutionId("e-0");
    execution.step = "load";
    execution.shard_index = 127;
    execution.shard_total = 131;
    execution.round = 2;
    execution.progress = kBytes;
    execution.created_at = Time(101ms);
    execution.scheduled_at = Time(103ms);
    execution.ready_at = Time(107ms);
    execution.started_at = Time(109ms);
    execution.finished_at = Time(113ms);
    execution.outcome = FullOutcome();
    return execution;
}

}  // namespace takt::internal
