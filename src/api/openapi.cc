#include "api/openapi.h"

#include <algorithm>
#include <map>

#include "api/schemas.h"
#include "base/json.h"

namespace takt::internal {
namespace {

std::string LowerName(HttpMethod method) {
    std::string name(Name(method));
    std::ranges::transform(name, name.begin(), [](char c) { return static_cast<char>(c | 0x20); });
    return name;
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
    const auto write = [&](const RouteQuery& parameter, std::string_view in) {
        json.BeginObject().Field("name", parameter.name).Field("in", in);
        json.Field("description", parameter.about);
        json.Key("schema").Raw(R"({"type":"string"})").EndObject();
    };
    for (const RouteQuery& query : route.query) write(query, "query");
    for (const RouteQuery& header : route.headers) write(header, "header");
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

void WriteSuccess(JsonWriter& json, const Route& route, int status) {
    constexpr std::string_view kText = R"({"schema":{"type":"string"}})";
    json.Key(std::to_string(status)).BeginObject().Field("description", "Done");
    const bool has_body = status != 204 && status != 101;
    if (has_body) {
        json.Key("content").BeginObject().Key(route.gives_type);
        if (route.gives.empty()) {
            json.Raw(route.gives_type == "application/json" ? R"({"schema":{}})" : kText);
        } else {
            json.BeginObject();
            WriteReference(json, route.gives);
            json.EndObject();
        }
        if (!route.gives_text.empty()) json.Key(route.gives_text).Raw(kText);
        json.EndObject();
    }
    json.EndObject();
}

void WriteResponses(JsonWriter& json, const Route& route) {
    json.Key("responses").BeginObject();
    WriteSuccess(json, route, route.success);
    if (route.also != 0) WriteSuccess(json, route, route.also);
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
    if (route.cluster || !route.path.starts_with("/api/v1/")) {
        json.Key("servers").Raw(R"([{"url":"/"}])");
    }
    WriteParameters(json, route);
    WriteRequestBody(json, route);
    WriteResponses(json, route);
    json.EndObject();
}

void WriteComponents(JsonWriter& json) {
    json.Key("components").BeginObject();
    json.Key("securitySchemes").Raw(R"({"token":{"type":"http","scheme":"bearer"}})");
    json.Key("responses")
        .Raw(
            R"({"Problem":{"description":"What is wrong","content":{"application/problem+json":{"schema":{"$ref":"#/components/schemas/Problem"}}}}})");
    json.Key("schemas").BeginObject();
    for (const auto& [name, schema] : Schemas()) json.Key(name).Raw(schema);
    json.EndObject().EndObject();
}

}  // namespace

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

std::string OpenApiOf(const RouteTable& routes, std::string_view version) {
    std::map<std::string_view, std::vector<const Route*>> by_path;
    for (const Route& route : routes.routes()) by_path[route.path].push_back(&route);
    std::string out;
    JsonWriter json(out);
    json.BeginObject().Field("openapi", "3.1.0");
    json.Key("info").BeginObject().Field("title", "Takt").Field("version", version);
    json.Field("description", "Distributed task scheduler.").EndObject();
    // Each address once. A generated client is told the namespace as part of its server.
    json.Key("servers").Raw(
        R"([{"url":"/","description":"The namespace of the token, else default."},)"
        R"({"url":"/namespaces/{namespace}","description":"One namespace.",)"
        R"("variables":{"namespace":{"default":"default","description":"Its name."}}}])");
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
