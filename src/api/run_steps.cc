// The steps of a run: where each stands. What only the leader knows of a run that goes on (how many of
// its children wait and how many run) is asked of it; a finished one is answered by any node.
#include <map>
#include <utility>

#include "api/execution_json.h"
#include "api/forward.h"
#include "api/query.h"
#include "api/resources.h"
#include "api/schemas.h"
#include "api/services.h"
#include "api/task_json.h"
#include "model/results_reference.h"
#include "model/run_progress.h"
#include "model/workflow.h"

namespace takt::internal {
namespace {

// So many results are read at most, and those of a step shown if they are no larger than this.
constexpr std::size_t kResultsMax = 200;
constexpr std::size_t kResultBytesMax = 64u << 10;

// A run as it is shown.
struct ShownRun {
    Execution execution;
    RunProgress progress;
    std::vector<StepView> live;
    std::vector<Text> results;  // By step; empty where there is none to show.

    const Workflow& workflow() const { return *execution.task->workflow(); }
};

struct ShownStep {
    const ShownRun& run;
    std::size_t number;

    const WorkflowStep& step() const { return run.workflow().steps()[number]; }
    const StepProgress& progress() const { return run.progress.steps[number]; }
};

// The id of the one child of a step that has one; empty if it has more, or none yet.
ExecutionId OnlyChild(const ShownStep& at) {
    if (at.step().fans_out() || at.progress().rounds.empty()) return {};
    return ChildId(at.run.execution.id, {.step = static_cast<std::uint32_t>(at.number),
                                         .index = 0,
                                         .round = at.progress().rounds.back()});
}

std::string CountsSchema() {
    schema::Object object;
    for (const std::string_view name :
         {"total", "success", "failed", "cancelled", "skipped", "running", "waiting"}) {
        object.Add(name, schema::Integer(0));
    }
    return object.Text();
}

void WriteCounts(JsonWriter& json, const ShownStep& at) {
    const StepProgress& step = at.progress();
    const StepView live = at.number < at.run.live.size() ? at.run.live[at.number] : StepView{};
    const std::uint32_t known = step.ended() + live.running;
    json.BeginObject().Field("total", step.total).Field("success", step.success);
    json.Field("failed", step.failed).Field("cancelled", step.cancelled);
    json.Field("skipped", step.skipped).Field("running", live.running);
    // Executions that are not made yet wait too; once the step is over there are none.
    json.Field("waiting", IsOver(step.status) || step.total < known ? 0 : step.total - known);
    json.EndObject();
}

const AnswerTable<ShownStep>& StepAnswerFields() {
    using At = ShownStep;
    static const AnswerTable<At> fields = {
        {"name", schema::Text(), "",
         [](JsonWriter& json, const At& at) { json.Value(at.step().task->name.view()); }},
        {"status",
         schema::OneOf({"pending", "running", "success", "failed", "cancelled", "skipped"}), "",
         [](JsonWriter& json, const At& at) { json.Value(Name(at.progress().status)); }},
        {"after", schema::ListOf(schema::Text()), "What it waits for.",
         [](JsonWriter& json, const At& at) {
             json.BeginArray();
             for (const Text& name : at.step().after) json.Value(name.view());
             json.EndArray();
         }},
        {"executions", CountsSchema(), "How many of its executions stand where.", WriteCounts},
        {"execution_id", schema::OrNull(schema::Text()),
         "Its one execution; null if it has several, or none yet.",
         [](JsonWriter& json, const At& at) {
             const ExecutionId id = OnlyChild(at);
             id.empty() ? json.Null() : json.Value(id.view());
         }},
        {"started_at", schema::OrNull(schema::Time()), "",
         [](JsonWriter& json, const At& at) { json.Value(at.progress().started_at); }},
        {"finished_at", schema::OrNull(schema::Time()), "",
         [](JsonWriter& json, const At& at) { json.Value(at.progress().finished_at); }},
        {"reason", schema::OrNull(schema::Text()), "Why it was skipped, or failed as a whole.",
         [](JsonWriter& json, const At& at) {
             const Text& note = at.progress().note;
             note.empty() ? json.Null() : json.Value(note.view());
         }},
        {"result", schema::Any(),
         "Of a step with several executions their list, null for what did not succeed. If it is "
         "larger "
         "than 64 KiB, or one of too many, `{\"$results\": {\"step\", \"count\"}}`: see its "
         "executions.",
         [](JsonWriter& json, const At& at) {
             const auto& results = at.run.results;
             WriteJsonText(
                 json, at.number < results.size() ? results[at.number].view() : std::string_view());
         }},
    };
    return fields;
}

void SendSteps(Call call, const ShownRun& run) {
    std::string body;
    JsonWriter json(body);
    json.BeginObject().Field("id", run.execution.id.view());
    json.Field("status", Name(run.execution.status)).Key("ending");
    run.progress.ending ? json.Value(Name(run.progress.ending->status)) : json.Null();
    json.Field("round", run.progress.round).Key("items").BeginArray();
    for (std::size_t i = 0; i < run.progress.steps.size(); ++i) {
        json.BeginObject();
        WriteFields(json, StepAnswerFields(), {run, i});
        json.EndObject();
    }
    json.EndArray().EndObject();
    call.Json(200, std::move(body));
}

// A result that is too large to be shown, in its place.
Text ReferenceTo(const ShownStep& at) {
    std::string text;
    JsonWriter json(text);
    WriteResultsReference(json, at.step().task->name.view(), at.progress().total);
    return Text(text);
}

// The executions whose results make up those of steps.
struct WantedResults {
    struct Part {
        std::size_t step = 0;
        std::uint32_t index = 0;
    };
    std::vector<ExecutionId> ids;
    std::vector<Part> parts;  // Of each id.

    // Adds the executions of a step, if there is room for all of them.
    bool Add(const ShownStep& at) {
        const StepProgress& progress = at.progress();
        const std::uint32_t total = at.step().fans_out() ? progress.total : 1;
        if (ids.size() + total * progress.rounds.size() > kResultsMax) return false;
        for (std::uint32_t index = 0; index < total; ++index) {
            if (!progress.succeeded.Has(index)) continue;
            for (const std::uint32_t round : progress.rounds) {
                ids.push_back(ChildId(at.run.execution.id,
                                      {static_cast<std::uint32_t>(at.number), index, round}));
                parts.push_back({at.number, index});
            }
        }
        return true;
    }
};

// The result of a step from those of its executions, by index.
Text ResultOf(const ShownStep& at, const std::map<std::uint32_t, Text>& parts) {
    const auto part = [&](std::uint32_t index) {
        const auto found = parts.find(index);
        return found == parts.end() || found->second.empty() ? Text("null") : found->second;
    };
    if (!at.step().fans_out()) {
        return part(0).size() > kResultBytesMax ? ReferenceTo(at) : part(0);
    }
    std::string list;
    for (std::uint32_t index = 0; index < at.progress().total; ++index) {
        list += list.empty() ? '[' : ',';
        const Text own = part(index);
        if (CheckJson(own.view(), {.bytes_max = own.size()})) {
            list += own.view();
        } else {
            AppendJsonString(list, own.view());
        }
        if (list.size() > kResultBytesMax) return ReferenceTo(at);
    }
    return Text(list.empty() ? "[]" : list + "]");
}

// Reads the results of steps that are over, and sends all.
void SendWithResults(Call call, ShownRun run) {
    WantedResults wanted;
    run.results.resize(run.progress.steps.size());
    for (std::size_t i = 0; i < run.progress.steps.size(); ++i) {
        const StepProgress& step = run.progress.steps[i];
        // The executions of a backfill have ids of their own, and no result that others wait for.
        if (run.workflow().steps()[i].backfill) continue;
        if (!IsOver(step.status) || step.success == 0) continue;
        if (!wanted.Add({run, i})) run.results[i] = ReferenceTo({run, i});
    }
    if (wanted.ids.empty()) return SendSteps(std::move(call), run);
    Services& services = call.services();
    std::vector<ExecutionId> ids = wanted.ids;
    services.rows.FindExecutions(
        std::move(ids), [call = std::move(call), run = std::move(run),
                         wanted = std::move(wanted)](FoundExecutions found) mutable {
            if (!found) return call.RefuseAnswer(found.error());
            std::map<std::size_t, std::map<std::uint32_t, Text>> parts;
            for (std::size_t i = 0; i < wanted.parts.size(); ++i) {
                const auto& row = (*found)[i];
                auto& own = parts[wanted.parts[i].step];
                if (!row || row->status != Status::kSuccess || !row->outcome) continue;
                own[wanted.parts[i].index] = row->outcome->data;
            }
            for (const auto& [step, own] : parts) run.results[step] = ResultOf({run, step}, own);
            SendSteps(std::move(call), run);
        });
}

Error HasNoSteps(const ExecutionId& id) {
    return {ErrorCode::kNotFound, "execution '" + id.text().str() + "' is not of a task with steps",
            "id"};
}

// A run that goes on: its leader knows it best.
void SendLive(Call call, ExecutionId id, Execution row) {
    const std::shared_ptr<Services> services = call.shared_services();
    const NodeStatus status = services->node.status();
    if (status.role == Role::kLeader) {
        return services->node.Look([call = std::move(call), id,
                                    row = std::move(row)](const Engine* engine) mutable {
            ShownRun run{.execution = std::move(row), .progress = {}, .live = {}, .results = {}};
            const auto view = engine ? engine->FindRun(id) : std::nullopt;
            if (view) {
                run.execution = view->execution;
                run.progress = view->progress;
                run.live = view->steps;
            } else {
                run.progress = NewProgress(run.workflow());
            }
            SendWithResults(std::move(call), std::move(run));
        });
    }
    if (CanPassOn(call, status, services->gate->forward)) {
        return services->post([call = std::move(call), status]() mutable {
            const std::shared_ptr<Services> services = call.shared_services();
            PassOn(std::move(call), status, services->gate->forward);
        });
    }
    call.RefuseAnswer(
        {ErrorCode::kUnavailable,
         "the run goes on, and its leader, which knows how far it is, cannot be reached; "
         "try again",
         ""});
}

void GetSteps(Call call) {
    auto id = PathId<ExecutionId>(call);
    if (!id) return;
    Services& services = call.services();
    services.rows.FindExecutions(
        {*id}, [call = std::move(call), id = *id](FoundExecutions found) mutable {
            if (!found) return call.RefuseAnswer(found.error());
            std::optional<Execution>& row = found->front();
            if (!row) return call.RefuseAnswer(NoSuchExecution(id));
            const Workflow* workflow = row->task->workflow();
            if (!workflow) return call.RefuseAnswer(HasNoSteps(id));
            if (!IsTerminal(row->status)) return SendLive(std::move(call), id, std::move(*row));
            auto progress = DecodeProgress(row->progress, workflow->steps().size());
            ShownRun run{.execution = std::move(*row),
                         .progress = progress ? std::move(*progress) : NewProgress(*workflow),
                         .live = {},
                         .results = {}};
            SendWithResults(std::move(call), std::move(run));
        });
}

}  // namespace

void AddRunSchemas(SchemaList& to) {
    to.emplace_back("RunStep", AnswerSchema(StepAnswerFields()));
    to.emplace_back("RunSteps", schema::Object()
                                    .Add("id", schema::Text())
                                    .Add("status", schema::Text())
                                    .Add("ending", schema::OrNull(schema::Text()))
                                    .Add("round", schema::Integer(0))
                                    .Add("items", schema::ListOf(schema::Reference("RunStep")))
                                    .Text());
}

void AddRunRoutes(std::vector<Route>& routes) {
    routes.push_back({.method = HttpMethod::kGet,
                      .path = "/api/v1/executions/{id}/steps",
                      .permission = Permission::kViewer,
                      .handler = GetSteps,
                      .tag = "executions",
                      .summary = "Where the steps of a run stand",
                      .gives = "RunSteps"});
}

}  // namespace takt::internal
