// The fixture of histories about workflows: runs are submitted in one line, children are named by
// step and index, and workers may be left to do everything by themselves.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/history.h"
#include "model/run_progress.h"
#include "model/workflow_testing.h"

namespace takt::internal {

class FlowHistory : public History {
  protected:
    struct FlowSpec {
        std::string id = "run";
        WorkflowPtr workflow;
        std::string payload = {};
        Duration timeout{0};
        std::uint32_t concurrency_max = 0;
        std::string concurrency_key = {};
        std::vector<LockWant> locks = {};
    };
    Submit Flow(FlowSpec spec) {
        Submit submit = Once({.id = spec.id, .type = "", .payload = spec.payload});
        auto options = std::make_unique<TaskOptions>(submit.task->opt());
        options->workflow = spec.workflow;
        options->concurrency_max = spec.concurrency_max;
        options->concurrency_key = spec.concurrency_key;
        options->locks = std::move(spec.locks);
        submit.task->timeout = spec.timeout;
        submit.task->options = std::move(options);
        return submit;
    }
    // A recurring workflow.
    PutTask PutFlow(RecurringSpec spec, WorkflowPtr workflow) {
        spec.options.workflow = std::move(workflow);
        PutTask put = Put(std::move(spec));
        put.task->type = {};
        return put;
    }

    static std::string Child(std::uint32_t step, std::uint32_t index = 0, std::uint32_t round = 0,
                             const std::string& run = "run") {
        return ChildId(ExecutionId(Text(run)), {step, index, round}).text().str();
    }

    // The worker ends an attempt with a result.
    Report Done(const std::string& id, const std::string& data) {
        Report report = Success(id);
        auto outcome = boost::intrusive_ptr<Outcome>(new Outcome);
        outcome->data = data;
        report.outcome = outcome;
        return report;
    }
    Report Broken(const std::string& id) { return Failure(id, false); }

    // How far the run is, from its record, its youngest child or, if it has ended, from its row.
    RunProgress ProgressOf(const std::string& run = "run") {
        const Execution& row = Row(run);
        const auto record = store.records.find({RecordKind::kRun, Text(run)});
        Text bytes = record != store.records.end() ? record->second : row.progress;
        if (record == store.records.end() && !IsTerminal(row.status)) bytes = CarriedOf(run);
        return DecodeProgress(bytes, row.task->workflow()->steps().size()).value();
    }
    // The progress of the run that its youngest child has which has some.
    Text CarriedOf(const std::string& run) const {
        const Execution* youngest = nullptr;
        for (const auto& [id, row] : store.executions) {
            const Execution& child = row.execution;
            const bool carries = row.place == Place::kLive && child.parent.text() == run &&
                                 !child.task->workflow() && !child.progress.empty();
            if (carries && (!youngest || youngest->serial < child.serial)) youngest = &child;
        }
        return youngest ? youngest->progress : Text();
    }
    std::string StepsOf(const std::string& run = "run") {
        std::string text;
        for (const StepProgress& step : ProgressOf(run).steps) {
            text += (text.empty() ? "" : " ") + std::string(Name(step.status));
        }
        return text;
    }
    bool Exists(const std::string& id) const {
        return store.Find(ExecutionId(Text(id))) != nullptr;
    }
    std::size_t LiveChildren(const std::string& run = "run") const {
        std::size_t count = 0;
        for (const auto& [id, row] : store.executions) {
            count += row.place == Place::kLive && row.execution.parent == ExecutionId(Text(run));
        }
        return count;
    }
    std::vector<std::string> ChildrenOf(const std::string& run = "run") const {
        std::vector<const Execution*> rows;
        for (const auto& [id, row] : store.executions) {
            if (row.execution.parent.text() == run) rows.push_back(&row.execution);
        }
        std::ranges::sort(rows, {}, &Execution::serial);
        std::vector<std::string> ids;
        for (const Execution* row : rows) ids.push_back(row->id.text().str());
        return ids;
    }
    std::string PayloadOf(const std::string& id) { return Row(id).input().str(); }
    std::string ResultOf(const std::string& id) {
        const OutcomePtr& outcome = Row(id).outcome;
        return outcome ? outcome->data.str() : "";
    }
    std::string MessageOf(const std::string& id) {
        const OutcomePtr& outcome = Row(id).outcome;
        return outcome ? std::string(Name(outcome->reason)) + ": " + outcome->message.str() : "";
    }
};

}  // namespace takt::internal
