// Tasks as answers.
#include "api/execution_json.h"
#include "api/task_json.h"

namespace takt::internal {
namespace {

void WriteTaskFields(JsonWriter& json, const ShownTask& view) {
    for (const TaskField& field : TaskFields()) field.write(json, field.name, view);
}

}  // namespace

void WriteJsonText(JsonWriter& json, std::string_view text) {
    if (text.empty()) {
        json.Null();
    } else if (CheckJson(text, {.bytes_max = text.size()})) {
        json.Raw(text);
    } else {
        json.Value(text);
    }
}

void WriteTask(JsonWriter& json, const TaskRow& row) {
    json.BeginObject();
    WriteTaskFields(json, {*row.task, &row.state});
    json.EndObject();
}

void WriteOnceTask(JsonWriter& json, const Execution& execution) {
    json.BeginObject();
    WriteTaskFields(json, {*execution.task});
    WriteFields(json, ExecutionStateFields(), {execution});
    json.EndObject();
}

}  // namespace takt::internal
