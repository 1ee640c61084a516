// The fields of a task that make it a workflow: its steps, or its own shards.
#include "api/step_json.h"
#include "api/task_field_kinds.h"

namespace takt::internal::task_field {
namespace {

const Workflow* FlowShown(const ShownTask& view, bool short_form) {
    const Workflow* workflow = view.task.workflow();
    return workflow && workflow->options().short_form == short_form ? workflow : nullptr;
}

TaskField StepsField() {
    TaskField field =
        FieldOf({"steps", "What it does one after the other and side by side: a workflow."},
                schema::ListOf(schema::Reference("StepRequest"), kStepsMax),
                schema::ListOf(schema::Reference("Step")), "list of steps");
    field.input = Input::kJson;
    field.read = [](TaskDraft& draft, const JsonView& value, std::string_view name) {
        return Keep(ReadSteps(value, name, draft),
                    [&](auto steps) { FlowOf(draft).steps = std::move(steps); });
    };
    field.clear = [](TaskDraft& draft, std::string_view) { FlowOf(draft).steps.reset(); };
    field.write = [](JsonWriter& json, std::string_view name, const ShownTask& view) {
        const Workflow* workflow = FlowShown(view, false);
        if (!workflow) return;
        json.Key(name).BeginArray();
        for (const WorkflowStep& step : workflow->steps()) WriteStep(json, step);
        json.EndArray();
    };
    return field;
}

TaskField OnFailureField() {
    const std::vector<std::string_view> names = NamesTo(OnFailure::kContinue);
    TaskField field = FieldOf({"on_failure", "Whether the failure of a step ends the others."},
                              schema::OneOf(names), schema::OneOf(names), Listed(names));
    field.read = [](TaskDraft& draft, const JsonView& value,
                    std::string_view name) -> Result<void> {
        std::string scratch;
        const auto known =
            value.is_string() ? ParseOnFailure(value.AsString(scratch)) : std::nullopt;
        if (!known) return BadField(name, "must be stop or continue");
        FlowOf(draft).on_failure = *known;
        FlowOf(draft).on_failure_field = name;
        return {};
    };
    field.clear = [](TaskDraft& draft, std::string_view) {
        FlowOf(draft).on_failure = OnFailure::kStop;
    };
    field.write = [](JsonWriter& json, std::string_view name, const ShownTask& view) {
        if (const Workflow* workflow = FlowShown(view, false)) {
            json.Field(name, Name(workflow->options().on_failure));
        }
    };
    return field;
}

TaskField OwnCount(Head head, std::uint32_t WorkflowStep::* place) {
    const std::string schema = schema::Integer(1, kStepChildrenMax);
    TaskField field = FieldOf(std::move(head), schema, schema, "1 to 10000");
    field.input = Input::kValue;
    field.read = [place](TaskDraft& draft, const JsonView& value, std::string_view name) {
        return Keep(ReadInteger(value, name, {1, kStepChildrenMax}), [&](std::int64_t count) {
            FlowOf(draft).own.*place = static_cast<std::uint32_t>(count);
        });
    };
    field.clear = [place](TaskDraft& draft, std::string_view) { FlowOf(draft).own.*place = 0; };
    field.write = [place](JsonWriter& json, std::string_view name, const ShownTask& view) {
        const Workflow* workflow = FlowShown(view, true);
        if (workflow && workflow->steps()[0].*place > 0) {
            json.Field(name, workflow->steps()[0].*place);
        }
    };
    return field;
}

TaskField EachWorkerField() {
    TaskField field = FieldOf({"each_worker", "Runs on each worker that is there."}, schema::Bool(),
                              schema::Bool(), "true or false");
    field.input = Input::kTruth;
    field.read = [](TaskDraft& draft, const JsonView& value, std::string_view name) {
        return Keep(ReadBool(value, name),
                    [&](bool each) { FlowOf(draft).own.each_worker = each; });
    };
    field.clear = [](TaskDraft& draft, std::string_view) { FlowOf(draft).own.each_worker = false; };
    field.write = [](JsonWriter& json, std::string_view name, const ShownTask& view) {
        const Workflow* workflow = FlowShown(view, true);
        if (workflow && workflow->steps()[0].each_worker) json.Field(name, true);
    };
    return field;
}

}  // namespace

void AddFlow(std::vector<TaskField>& to) {
    to.push_back(StepsField());
    to.push_back(OnFailureField());
    to.push_back(OwnCount({"shards", "Runs so many times at once, each with its index."},
                          &WorkflowStep::shards));
    to.push_back(EachWorkerField());
    to.push_back(
        OwnCount({"parallel_max", "Of its shards or workers, so many unfinished at a time."},
                 &WorkflowStep::parallel_max));
    to.push_back(OwnCount({"min_success", "Succeeds with so many of them; all unless given."},
                          &WorkflowStep::min_success));
}

}  // namespace takt::internal::task_field
