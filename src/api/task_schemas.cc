// A task in /openapi.json and docs/api.md, from the table of its fields.
#include "api/execution_json.h"
#include "api/json_schema.h"
#include "api/resource_pages.h"
#include "api/task_field.h"
#include "api/task_json.h"

namespace takt::internal {
namespace {

std::string SameAs(std::string_view name) {
    return "The same as " + std::string(name) + ".";
}

// The field and its other names.
void AddTaskField(schema::Object& object, const TaskField& field, const std::string& schema,
                  bool required) {
    object.Add(field.name, schema::Described(schema, field.about), required);
    for (const std::string_view also : field.also) {
        object.Add(also, schema::Described(schema, SameAs(field.name)), false);
    }
}

void AddReadOnly(schema::Object& object, const TaskField& field) {
    std::string schema = schema::Described(field.gives, field.about);
    schema.pop_back();
    object.Add(field.name, schema + ",\"readOnly\":true}", false);
}

std::string_view Words(TaskField::Kind kind) {
    switch (kind) {
        case TaskField::Kind::kOnce:
            return "one-off";
        case TaskField::Kind::kRecurring:
            return "recurring";
        case TaskField::Kind::kReadOnly:
            return "answers";
        default:
            return "all";
    }
}

}  // namespace

std::string TaskRequestSchema() {
    schema::Object object;
    for (const TaskField& field : TaskFields()) {
        if (field.kind == TaskField::Kind::kReadOnly) {
            AddReadOnly(object, field);
        } else {
            AddTaskField(object, field, field.takes, field.name == "name");
        }
    }
    return object.Text();
}

std::string TaskChangeSchema() {
    schema::Object object;
    for (const TaskField& field : TaskFields()) {
        if (field.kind == TaskField::Kind::kReadOnly) {
            AddReadOnly(object, field);
        } else {
            AddTaskField(object, field, schema::OrNull(field.takes), false);
        }
    }
    return object.Text();
}

std::string PreviewSchema() {
    schema::Object object;
    for (const TaskField& field : TaskFields()) {
        if (field.kind == TaskField::Kind::kReadOnly) {
            AddReadOnly(object, field);
        } else if (field.kind != TaskField::Kind::kOnce) {
            AddTaskField(object, field, schema::OrNull(field.takes), false);
        }
    }
    object.Add("count", schema::Described(schema::Integer(1, 1000), "How many fires are shown."),
               false);
    object.Add("after", schema::Described(schema::Time(), "Those after this time; now."), false);
    return object.Text();
}

std::string TaskAnswerSchema() {
    schema::Object object;
    for (const TaskField& field : TaskFields()) {
        object.Add(field.name, schema::Described(field.gives, field.about), field.always_given);
    }
    // A one-off task is answered with how its execution stands.
    return AddFields(object, ExecutionStateFields(), false).Text();
}

std::string ExecutorTaskSchema() {
    schema::Object object;
    for (const TaskField& field : TaskFields()) {
        const bool given = field.name == "id" || field.name == "executor";
        if (field.kind == TaskField::Kind::kReadOnly || given) continue;
        if (field.name == "name") {
            object.Add("task_name", schema::Described(field.takes, field.about), false);
            object.Add(field.name, schema::Described(field.takes, SameAs("task_name")), false);
        } else {
            AddTaskField(object, field, field.takes, false);
        }
    }
    return object.Text();
}

std::string TaskFieldsPage() {
    std::string page = "| field | of | value | |\n|---|---|---|---|\n";
    for (const TaskField& field : TaskFields()) {
        page += "| `" + std::string(field.name) + "`";
        for (const std::string_view also : field.also) page += ", `" + std::string(also) + "`";
        page += " | " + std::string(Words(field.kind)) + " | " + field.type + " | " +
                std::string(field.about) + " |\n";
    }
    return page;
}

}  // namespace takt::internal
