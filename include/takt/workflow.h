// Workflow: a task with steps, written down as it would be on a whiteboard.
//
//     takt::Workflow etl("etl");
//     etl.Input(R"({"day": "2026-11-15"})")
//         .Step("extract").Payload(R"({"day": )" + takt::Input("/day") + "}")
//         .Step("transform").After("extract").ForEach(takt::From("extract", "/files")).Parallel(20)
//         .Step("load").After("transform").Payload(takt::From("transform"))
//         .Step("tell").After("load").When(takt::When::kAnyFailed);
//     auto run = client.SubmitTask(etl.task());
//
// What is said after Step is about that step; what a step has beyond this is in last(), and what a
// task has beyond steps (schedule, locks, …) in task(). What makes no sense is refused when it is
// submitted, with the field at fault.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "takt/export.h"
#include "takt/step.h"
#include "takt/task.h"

namespace takt {

// Values, as JSON to be put into payloads: (part of) the result of an earlier step, of the run's own
// input, of the item of ForEach. A pointer is one of RFC 6901; empty is all of it.
TAKT_EXPORT std::string From(std::string_view step, std::string_view pointer = {});
TAKT_EXPORT std::string Input(std::string_view pointer = {});
TAKT_EXPORT std::string Item(std::string_view pointer = {});

class Workflow {
  public:
    explicit Workflow(std::string name) { task_.name = std::move(name); }

    // JSON: the run's parameters, unless a trigger brings others.
    Workflow& Input(std::string json) { return Set(task_.payload, std::move(json)); }
    Workflow& Cron(std::string expression) {
        return Set(task_.cron_expression, std::move(expression));
    }
    Workflow& OnFailure(takt::OnFailure what) { return Set(task_.on_failure, what); }
    // Held by the run from its start to its end.
    Workflow& Lock(std::string name, std::uint32_t permits = 1) {
        task_.locks.push_back({std::move(name), permits});
        return *this;
    }

    Workflow& Step(std::string name, std::string type = {}) {
        takt::Step step;
        step.name = std::move(name);
        step.type = std::move(type);
        task_.steps.push_back(std::move(step));
        return *this;
    }
    // A step that runs a recurring task, which may have steps of its own.
    Workflow& StepOf(std::string name, std::string task_id) {
        Step(std::move(name));
        return Set(last().task, std::move(task_id));
    }

    // --- Of the last step. REQUIRES: there is one. ---
    template <typename... Names>
    Workflow& After(Names&&... names) {
        (last().after.emplace_back(std::forward<Names>(names)), ...);
        return *this;
    }
    Workflow& When(takt::When when) { return Set(last().when, when); }
    Workflow& If(std::string value, std::string equals) {
        last().condition = StepCondition{std::move(value), std::move(equals)};
        return *this;
    }
    Workflow& Payload(std::string json) { return Set(last().payload, std::move(json)); }
    Workflow& Shards(std::uint32_t count) { return Set(last().shards, count); }
    Workflow& ForEach(std::string list) { return Set(last().for_each, std::move(list)); }
    Workflow& EachWorker() { return Set(last().each_worker, true); }
    Workflow& Parallel(std::uint32_t max) { return Set(last().parallel_max, max); }
    Workflow& MinSuccess(std::uint32_t count) { return Set(last().min_success, count); }
    Workflow& Retry(RetryPolicy policy) { return Set(last().retry, policy); }
    Workflow& Timeout(Duration timeout) { return Set(last().timeout, timeout); }

    takt::Step& last() { return task_.steps.back(); }
    Task& task() { return task_; }
    const Task& task() const { return task_; }

  private:
    template <typename T>
    Workflow& Set(T& place, T value) {
        place = std::move(value);
        return *this;
    }

    Task task_;
};

}  // namespace takt
