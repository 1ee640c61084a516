#include "api/step_json.h"

#include <algorithm>
#include <array>
#include <utility>

#include "api/json_read.h"
#include "api/json_schema.h"
#include "api/request_kinds.h"
#include "api/task_json.h"
#include "model/step_values.h"

namespace takt::internal {
namespace {

constexpr std::size_t kStepNameBytesMax = 64;

// Fields of a task that a step has too.
constexpr std::array<std::string_view, 18> kTaskFields = {"name",
                                                          "type",
                                                          "queue",
                                                          "priority",
                                                          "parameters",
                                                          "timeout_seconds",
                                                          "max_retry",
                                                          "retry_policy",
                                                          "load_balance_strategy",
                                                          "metadata",
                                                          "labels",
                                                          "executor",
                                                          "expires_after",
                                                          "concurrency_key",
                                                          "concurrency_max",
                                                          "rate_limit",
                                                          "delay",
                                                          "locks"};

bool IsStepsOwn(const TaskField& field) {
    return std::ranges::find(kTaskFields, field.name) != kTaskFields.end();
}

Result<void> ReadCondition(WorkflowStep& step, const JsonView& value, std::string_view name) {
    if (value.kind() != JsonView::Kind::kObject) {
        return BadField(
            name, R"(must be an object such as {"value": {"$from": "check"}, "equals": true})");
    }
    StepCondition condition;
    JsonView::Members members(value);
    while (members.Next()) {
        if (members.key() == "value") {
            condition.value = Text(members.value().raw());
        } else if (members.key() == "equals") {
            condition.equals = Text(members.value().raw());
        } else {
            return BadField(name,
                            "has value and equals, and no '" + std::string(members.key()) + "'");
        }
    }
    if (condition.value.empty() || condition.equals.empty()) {
        return BadField(name, "needs both value and equals");
    }
    step.condition = std::move(condition);
    return {};
}

Result<void> ReadForEach(WorkflowStep& step, const JsonView& value, std::string_view name) {
    const bool list = value.kind() == JsonView::Kind::kArray;
    if (!list && value.kind() != JsonView::Kind::kObject) {
        return BadField(
            name,
            R"(must be a list, or a value that is one: {"$from": "step", "pointer": "/files"})");
    }
    std::size_t count = 0;
    if (list) {
        JsonView::Elements elements(value);
        while (elements.Next()) ++count;
    }
    if (count > kStepChildrenMax) {
        return BadField(name, "has " + std::to_string(count) + " items; at most " +
                                  std::to_string(kStepChildrenMax) + " are allowed");
    }
    step.for_each = Text(value.raw());
    return {};
}

Result<void> ReadNamed(WorkflowStep& step, const JsonView& value, std::string_view name) {
    std::string scratch;
    const auto id =
        TaskId::Parse(value.is_string() ? value.AsString(scratch) : std::string_view(), name);
    if (!id) return std::unexpected(id.error());
    step.named = id->text();
    return {};
}

// The fields that make a step a step.
const RequestTable<WorkflowStep>& StepFields() {
    using Take = TakenBy<WorkflowStep>;
    static const RequestTable<WorkflowStep> fields = {
        {"task", "The recurring task that it runs, instead of a type.",
         Take::Own(schema::Id(), "id of a task", ReadNamed)},
        {"after", "The steps that it waits for.",
         Take::Own(
             schema::ListOf(schema::TextTo(kStepNameBytesMax), kStepsMax), "names of steps",
             [](WorkflowStep& step, const JsonView& value, std::string_view name) -> Result<void> {
                 const auto names = ReadTexts(value, name, {kStepsMax, kStepNameBytesMax});
                 if (!names) return std::unexpected(names.error());
                 step.after.assign(names->begin(), names->end());
                 return {};
             })},
        {"when", "What they have to have done.",
         Take::Choice(&WorkflowStep::when, ParseWhen,
                      {"all_success", "any_success", "all_done", "any_failed", "none_failed"})},
        {"if", "The step is skipped unless value equals this.",
         Take::Own(schema::Object().Add("value", schema::Any()).Add("equals", schema::Any()).Text(),
                   "`value`, `equals`", ReadCondition)},
        {"shards", "So many executions, each with its index.",
         Take::Count(&WorkflowStep::shards, {1, kStepChildrenMax})},
        {"for_each", "An execution for each item of a list.",
         Take::Own(R"({"type":["array","object"]})", "list, or a value that is one", ReadForEach)},
        {"each_worker", "An execution on each worker that is there.",
         Take::Truth(&WorkflowStep::each_worker)},
        {"parallel_max", "So many of them unfinished at a time.",
         Take::Count(&WorkflowStep::parallel_max, {1, kStepChildrenMax})},
        {"min_success", "Done when so many have succeeded; all unless given.",
         Take::Count(&WorkflowStep::min_success, {1, kStepChildrenMax})},
    };
    return fields;
}

Result<void> ReadStepField(WorkflowStep& step, TaskDraft& draft, const std::string& key,
                           const JsonView& value) {
    const auto own = std::ranges::find(StepFields(), key, &RequestField<WorkflowStep>::name);
    if (own != StepFields().end()) {
        return value.is_null() ? Result<void>() : own->taken.read(step, value, own->name);
    }
    const auto number = FindTaskField(key);
    if (number && !IsStepsOwn(TaskFields()[*number])) {
        return BadField(key, "is for whole tasks; a step does not have it");
    }
    return ReadTaskField(draft, key, value, false);
}

Result<void> CheckStepName(const TaskDraft& draft) {
    if (draft.task->name.empty() && draft.SeenAs("name").empty()) {
        return BadField("name", "is missing");
    }
    if (draft.task->name.size() > kStepNameBytesMax) {
        return BadField("name",
                        "must have at most " + std::to_string(kStepNameBytesMax) + " bytes");
    }
    return {};
}

Result<WorkflowStep> ReadStep(const JsonView& object, const TaskDraft& owner, TaskReview* review) {
    if (object.kind() != JsonView::Kind::kObject) {
        return Fail(ErrorCode::kInvalid, "a step must be a JSON object");
    }
    TaskDraft draft{
        .task = NewTaskPtr(new Task), .limits = owner.limits, .pool = owner.pool, .review = review};
    WorkflowStep step;
    JsonView::Members members(object);
    while (members.Next()) {
        const std::string key(members.key());
        auto read = NoteMistake(draft, ReadStepField(step, draft, key, members.value()));
        if (!read) return std::unexpected(std::move(read.error()));
    }
    if (auto named = NoteMistake(draft, CheckStepName(draft)); !named) {
        return std::unexpected(std::move(named.error()));
    }
    const bool has_priority = !draft.SeenAs("priority").empty();
    if (draft.task->type.empty() && step.named.empty()) draft.task->type = draft.task->name;
    if (has_priority) step.priority = draft.task->priority;
    draft.task->priority = kPriorityNormal;
    ApplyMaxRetry(draft);
    if (draft.options && !(*draft.options == TaskOptions())) {
        draft.task->options = std::move(draft.options);
    }
    step.task = std::move(draft.task);
    return step;
}

std::string StepSchema(bool request) {
    schema::Object object;
    for (const TaskField& field : TaskFields()) {
        if (!IsStepsOwn(field)) continue;
        const std::string& schema = request ? field.takes : field.gives;
        object.Add(field.name, schema::Described(schema, field.about), field.name == "name");
        for (const std::string_view also : field.also) object.Add(also, schema, false);
    }
    for (const auto& field : StepFields()) {
        object.Add(field.name, schema::Described(field.taken.schema, field.about), false);
    }
    return object.Text();
}

// A step that could not be read keeps its place, so that those behind it keep theirs.
WorkflowStep NamelessStep() {
    WorkflowStep step;
    step.task = NewTaskPtr(new Task);
    return step;
}

Error PlacedAt(const std::string& place, Error error) {
    error.detail = place + ": " + error.detail;
    error.field = error.field.empty() ? place : place + "." + error.field;
    return error;
}

}  // namespace

Result<std::vector<WorkflowStep>> ReadSteps(const JsonView& value, std::string_view name,
                                            const TaskDraft& draft) {
    if (value.kind() != JsonView::Kind::kArray) return BadField(name, "must be a list of steps");
    std::vector<WorkflowStep> steps;
    JsonView::Elements elements(value);
    while (elements.Next()) {
        if (steps.size() >= kStepsMax) {
            return BadField(name, "has more than " + std::to_string(kStepsMax) + " steps");
        }
        TaskReview own;
        auto step = ReadStep(elements.value(), draft, draft.review ? &own : nullptr);
        if (!step) own.mistakes.push_back(std::move(step.error()));
        const std::string place = std::string(name) + "[" + std::to_string(steps.size()) + "]";
        for (Error& mistake : own.mistakes) {
            auto noted = NoteMistake(draft, std::unexpected(PlacedAt(place, std::move(mistake))));
            if (!noted) return std::unexpected(std::move(noted.error()));
        }
        steps.push_back(step ? std::move(*step) : NamelessStep());
    }
    return steps;
}

void WriteStep(JsonWriter& json, const WorkflowStep& step, bool resolved) {
    json.BeginObject();
    if (resolved && step.task->name.empty()) json.Field("name", "");
    for (const TaskField& field : TaskFields()) {
        if (!IsStepsOwn(field)) continue;
        const bool left_out = (field.name == "queue" && step.task->queue.empty()) ||
                              (field.name == "priority" && !step.priority) ||
                              (field.name == "type" && step.task->type.empty()) ||
                              (field.name == "parameters" && step.task->payload.empty());
        if (left_out) continue;
        if (field.name == "priority") {
            json.Field("priority", *step.priority);
        } else {
            field.write(json, field.name == "parameters" ? "payload" : field.name, {*step.task});
        }
    }
    if (!step.named.empty()) json.Field("task", step.named.view());
    if (resolved || !step.after.empty()) {
        json.Key("after").BeginArray();
        for (const Text& name : step.after) json.Value(name.view());
        json.EndArray();
    }
    if (resolved || step.when != When::kAllSuccess) json.Field("when", Name(step.when));
    if (step.condition) {
        json.Key("if").BeginObject().Key("value").Raw(step.condition->value.view());
        json.Key("equals").Raw(step.condition->equals.view()).EndObject();
    }
    if (step.shards > 0) json.Field("shards", step.shards);
    if (!step.for_each.empty()) json.Key("for_each").Raw(step.for_each.view());
    if (step.each_worker) json.Field("each_worker", true);
    if (step.parallel_max > 0) json.Field("parallel_max", step.parallel_max);
    if (step.min_success > 0) json.Field("min_success", step.min_success);
    json.EndObject();
}

std::string StepRequestSchema() {
    return StepSchema(true);
}
std::string StepAnswerSchema() {
    return StepSchema(false);
}

}  // namespace takt::internal
