// A task as a definition: the fields of a recurring one.
#include "api/definition_kind.h"
#include "api/json_read.h"
#include "api/services.h"
#include "api/step_json.h"
#include "api/task_json.h"

namespace takt::internal {
namespace {

bool IsDefined(const TaskField& field) {
    return field.kind == TaskField::Kind::kAny || field.kind == TaskField::Kind::kRecurring;
}

// Another spelling of retry_policy.max_retries, which would be told twice.
bool IsToldElsewhere(const TaskField& field) {
    return field.name == "max_retry";
}

std::string ShownDefinition(const TaskRequest& request) {
    const FireState state{.paused = !request.enabled.value_or(true)};
    std::string shown;
    JsonWriter json(shown);
    json.BeginObject();
    for (const TaskField& field : TaskFields()) {
        if (!IsDefined(field) || IsToldElsewhere(field)) continue;
        field.write(json, field.name, {*request.task, &state});
    }
    json.EndObject();
    return shown;
}

CheckedDefinition CheckTask(const Services& services, const GivenDefinition& given) {
    // Names that tasks share are kept by who keeps tasks; these are forgotten at once.
    TextPool pool;
    TaskReview review;
    const auto request =
        ReadTask(given.object, services.config.task_limits, pool,
                 {.now = given.is_new ? ReadClocks().wall : Time{}, .review = &review});
    CheckedDefinition checked;
    if (!request) {
        checked.mistakes = std::move(review.mistakes);
        if (checked.mistakes.empty()) checked.mistakes.push_back(request.error());
        return checked;
    }
    if (!request->task->recurring()) {
        checked.mistakes.push_back(
            BadField("cron_expression",
                     "is missing: a definition is a recurring task, with cron_expression, interval "
                     "or interval_after_end; what runs once is submitted")
                .error());
        return checked;
    }
    checked.shown = ShownDefinition(*request);
    return checked;
}

}  // namespace

DefinitionKind TaskDefinition() {
    DefinitionKind kind{.name = "task", .identity = "id", .check = CheckTask};
    for (const TaskField& field : TaskFields()) {
        if (!IsDefined(field)) continue;
        if (!IsToldElsewhere(field)) kind.fields.push_back(field.name);
        const std::string schema = schema::Described(schema::OrNull(field.takes), field.about);
        kind.schema.Add(field.name, schema, field.name == "name");
        for (const std::string_view also : field.also) kind.schema.Add(also, schema, false);
    }
    return kind;
}

}  // namespace takt::internal
