#include "api/openapi.h"

#include <algorithm>
#include <map>

#include "api/schemas.h"
#include "api/task_json.h"
#include "base/json.h"

namespace takt::internal {
namespace {

std::string LowerName(HttpMethod method) {
    std::string name(Name(method));
    std::ranges::transform(name, name.begin(), [](char c) { return static_cast<char>(c | 0x20); });
    return name;
}

// "post /api/v1/tasks/{id}/trigger" becomes "post_v1_tasks_id_trigger".
std::string OperationId(const Route& route) {
    std::string id = LowerName(route.method);
    std::string_view path = route.path;
    if (path.starts_with("/api/")) path.remove_prefix(4);
    for (const char c : path) {
        if (c == '/' || c == '.') {
            id += '_';
        } else if (c != '{' && c != '}') {
            id += c;
        }
    }
    return id;
}

void WriteReference(JsonWriter& json, std::string_view schema) {
    json.Key("schema").BeginObject();
    json.Field("$ref", std::string_view("#/components/schemas/" + std::string(schema)));
    json.EndObject();
}

void WriteParameters(JsonWriter& json, const Route& route) {
    json.Key("parameters").BeginArray();
    for (std::size_t at = route.path.find('{'); at != route.path.npos;
         at = route.path.find('{', at + 1)) {
        const std::size_t end = route.path.find('}', at);
        json.BeginObject().Field("name", route.path.substr(at + 1, end - at - 1));
        json.Field("in", "path").Field("required", true);
        json.Key("schema").Raw(R"({"type":"string"})").EndObject();
    }
    for (const RouteQuery& query : route.query) {
        json.BeginObject().Field("name", query.name).Field("in", "query");
        json.Field("description", query.about);
        json.Key("schema").Raw(R"({"type":"string"})").EndObject();
    }
    json.EndArray();
}

void WriteRequestBody(JsonWriter& json, const Route& route) {
    if (route.takes.empty()) return;
    json.Key("requestBody").BeginObject().Field("required", !route.body_optional);
    json.Key("content").BeginObject().Key("application/json").BeginObject();
    WriteReference(json, route.takes);
    json.EndObject();
    if (route.takes_lines) {
        json.Key("application/x-ndjson").Raw(R"({"schema":{"type":"string"}})");
    }
    json.EndObject().EndObject();
}

void WriteResponses(JsonWriter& json, const Route& route) {
    json.Key("responses").BeginObject();
    json.Key(std::to_string(route.success)).BeginObject().Field("description", "Done");
    if (!route.gives.empty()) {
        json.Key("content").BeginObject().Key(route.gives_type).BeginObject();
        WriteReference(json, route.gives);
        json.EndObject().EndObject();
    } else if (route.success != 204) {
        json.Key("content").BeginObject().Key(route.gives_type);
        json.Raw(R"({"schema":{"type":"string"}})").EndObject();
    }
    json.EndObject();
    json.Key("default").Raw(R"({"$ref":"#/components/responses/Problem"})").EndObject();
}

void WriteOperation(JsonWriter& json, const Route& route) {
    json.Key(LowerName(route.method)).BeginObject();
    json.Field("operationId", std::string_view(OperationId(route)));
    json.Key("tags").BeginArray().Value(route.tag).EndArray();
    json.Field("summary", route.summary);
    json.Field("x-permission", Name(route.permission));
    if (route.permission == Permission::kNone) {
        json.Key("security").BeginArray().EndArray();
    } else {
        json.Key("security").Raw(R"([{"token":[]}])");
    }
    WriteParameters(json, route);
    WriteRequestBody(json, route);
    WriteResponses(json, route);
    json.EndObject();
}

void WriteTaskSchema(JsonWriter& json) {
    json.BeginObject().Field("type", "object");
    json.Key("required").BeginArray().Value("name").EndArray();
    json.Field("additionalProperties", false);
    json.Key("properties").BeginObject();
    for (const TaskField& field : TaskFields()) {
        // The schema is an object; the description goes into it.
        std::string schema(field.schema.substr(0, field.schema.size() - 1));
        const std::string about = field.same_as.empty()
                                      ? std::string(field.about)
                                      : "The same as " + std::string(field.same_as) + ".";
        if (schema.size() > 1) schema += ',';
        schema += "\"description\":";
        AppendJsonString(schema, about);
        if (field.kind == TaskField::Kind::kReadOnly) schema += ",\"readOnly\":true";
        schema += '}';
        json.Key(field.name).Raw(schema);
    }
    json.EndObject().EndObject();
}

void WriteComponents(JsonWriter& json) {
    json.Key("components").BeginObject();
    json.Key("securitySchemes").Raw(R"({"token":{"type":"http","scheme":"bearer"}})");
    json.Key("responses")
        .Raw(
            R"({"Problem":{"description":"What is wrong","content":{"application/problem+json":{"schema":{"$ref":"#/components/schemas/Problem"}}}}})");
    json.Key("schemas").BeginObject();
    json.Key("Task");
    WriteTaskSchema(json);
    for (const auto& [name, schema] : Schemas()) json.Key(name).Raw(schema);
    json.EndObject().EndObject();
}

}  // namespace

std::string OpenApiOf(const RouteTable& routes, std::string_view version) {
    std::map<std::string_view, std::vector<const Route*>> by_path;
    for (const Route& route : routes.routes()) by_path[route.path].push_back(&route);
    std::string out;
    JsonWriter json(out);
    json.BeginObject().Field("openapi", "3.1.0");
    json.Key("info").BeginObject().Field("title", "Takt").Field("version", version);
    json.Field("description", "Distributed task scheduler.").EndObject();
    json.Key("paths").BeginObject();
    for (const auto& [path, operations] : by_path) {
        json.Key(path).BeginObject();
        for (const Route* route : operations) WriteOperation(json, *route);
        json.EndObject();
    }
    json.EndObject();
    WriteComponents(json);
    json.EndObject();
    return out;
}

}  // namespace takt::internal
