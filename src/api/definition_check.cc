// The check of definitions: tells what each would become, and all that is wrong with it. Nothing is
// changed.
#include "api/call_body.h"
#include "api/definition_body.h"
#include "api/resources.h"
#include "api/schemas.h"
#include "api/services.h"

namespace takt::internal {
namespace {

constexpr std::size_t kCheckedMax = 1000;

struct CheckItem {
    std::string kind;
    std::string name;
    std::string_view definition;  // JSON, in the body.
    bool is_new = false;
};
struct CheckBody {
    std::vector<CheckItem> items;
};

constexpr std::size_t kDefinedNameBytesMax = 200;

const RequestTable<CheckItem>& CheckItemFields() {
    static const RequestTable<CheckItem> fields = {
        {"kind", "", TakenKind(&CheckItem::kind).Required()},
        {"name", "The id of a task, the name of anything else.",
         TakenBy<CheckItem>::Text(&CheckItem::name, kDefinedNameBytesMax).Required()},
        {"new", "There is no such thing yet: one that would never fire is refused.",
         TakenBy<CheckItem>::Truth(&CheckItem::is_new)},
        {"definition", "As the file has it, without kind and namespace.",
         TakenBy<CheckItem>::Own(
             R"({"type":"object"})", "object",
             [](CheckItem& item, const JsonView& value, std::string_view name) -> Result<void> {
                 if (value.kind() != JsonView::Kind::kObject) {
                     return BadField(name, "must be an object");
                 }
                 item.definition = value.raw();
                 return {};
             })
             .Required()}};
    return fields;
}

const RequestTable<CheckBody>& CheckFields() {
    static const RequestTable<CheckBody> fields = {
        {"items", "Definitions.",
         TakenList(&CheckBody::items, CheckItemFields, kCheckedMax).Required()}};
    return fields;
}

void WriteKinds(JsonWriter& json) {
    json.BeginArray();
    for (const DefinitionKind& kind : DefinitionKinds()) {
        json.BeginObject().Field("kind", kind.name).Field("identity", kind.identity);
        json.Key("fields").BeginArray();
        for (const std::string_view field : kind.fields) json.Value(field);
        json.EndArray().EndObject();
    }
    json.EndArray();
}

void WriteChecked(JsonWriter& json, const CheckItem& item, const CheckedDefinition& checked) {
    json.BeginObject().Field("kind", std::string_view(item.kind));
    json.Field("name", std::string_view(item.name)).Key("shown");
    checked.mistakes.empty() ? json.Raw(checked.shown) : json.Null();
    json.Key("mistakes").BeginArray();
    for (const Error& mistake : checked.mistakes) {
        json.BeginObject().Field("field", std::string_view(mistake.field));
        json.Field("detail", std::string_view(mistake.detail)).EndObject();
    }
    json.EndArray().EndObject();
}

void CheckDefinitions(Call call) {
    const auto body = ReadBody(call, CheckFields());
    if (!body) return call.RefuseRequest(body.error());
    std::string answer;
    JsonWriter json(answer);
    json.BeginObject().Key("kinds");
    WriteKinds(json);
    json.Key("builtin_rules").Raw(BuiltinRuleDefinitions(call.services()));
    json.Key("items").BeginArray();
    for (const CheckItem& item : body->items) {
        const DefinitionKind& kind = *FindDefinitionKind(item.kind);
        WriteChecked(
            json, item,
            kind.check(call.services(), {item.name, JsonView(item.definition), item.is_new}));
    }
    json.EndArray().EndObject();
    call.Json(200, std::move(answer));
}

}  // namespace

void AddDefinitionSchemas(SchemaList& to) {
    const std::string kind = schema::Object()
                                 .Add("kind", schema::Text())
                                 .Add("identity", schema::Text())
                                 .Add("fields", schema::ListOf(schema::Text()))
                                 .Text();
    const std::string mistake =
        schema::Object().Add("field", schema::Text()).Add("detail", schema::Text()).Text();
    const std::string item = schema::Object()
                                 .Add("kind", schema::Text())
                                 .Add("name", schema::Text())
                                 .Add("shown", schema::OrNull(R"({"type":"object"})"))
                                 .Add("mistakes", schema::ListOf(mistake))
                                 .Text();
    to.emplace_back("DefinitionCheck", RequestSchema(CheckFields()));
    to.emplace_back("DefinitionsChecked",
                    schema::Object()
                        .Add("kinds", schema::ListOf(kind))
                        .Add("builtin_rules", schema::ListOf(R"({"type":"object"})"))
                        .Add("items", schema::ListOf(item))
                        .Text());
}

void AddDefinitionRoutes(std::vector<Route>& routes) {
    routes.push_back(
        {.method = HttpMethod::kPost,
         .path = "/api/v1/definitions/check",
         .permission = Permission::kViewer,
         .handler = CheckDefinitions,
         .tag = "definitions",
         .summary = "Tell what definitions would become, and all that is wrong with them",
         .takes = "DefinitionCheck",
         .gives = "DefinitionsChecked"});
}

}  // namespace takt::internal
