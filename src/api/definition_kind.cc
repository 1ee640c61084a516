#include "api/definition_kind.h"

#include <algorithm>
#include <map>

#include "api/schemas.h"
#include "api/step_json.h"
#include "api/task_json.h"
#include "base/json.h"

namespace takt::internal {
namespace {

constexpr std::string_view kNamespaceSchema =
    R"({"type":"string","pattern":"^[a-z0-9][a-z0-9-]{0,62}$",)"
    R"("description":"Where it belongs; that of the command unless given."})";

std::string ConstantSchema(std::string_view name) {
    std::string text = "{\"const\":";
    AppendJsonString(text, name);
    return text + "}";
}

// Schemas that are referred to stand elsewhere than in /openapi.json.
std::string WithOwnReferences(std::string text) {
    constexpr std::string_view kFrom = "#/components/schemas/";
    constexpr std::string_view kTo = "#/$defs/";
    for (std::size_t at = text.find(kFrom); at != std::string::npos; at = text.find(kFrom, at)) {
        text.replace(at, kFrom.size(), kTo);
    }
    return text;
}

std::string DocumentSchema(const DefinitionKind& kind, std::string_view name) {
    schema::Object object = kind.schema;
    object.Add("kind", ConstantSchema(name));
    if (kind.name != "namespace") object.Add("namespace", kNamespaceSchema, false);
    return object.Text();
}

}  // namespace

const std::vector<DefinitionKind>& DefinitionKinds() {
    static const std::vector<DefinitionKind> kinds = {NamespaceDefinition(), QueueDefinition(),
                                                      TaskDefinition(), AlertRuleDefinition()};
    return kinds;
}

const DefinitionKind* FindDefinitionKind(std::string_view name) {
    const auto found = std::ranges::find(DefinitionKinds(), name, &DefinitionKind::name);
    return found == DefinitionKinds().end() ? nullptr : &*found;
}

std::string DefinitionSchema() {
    std::string text = R"({"$schema":"https://json-schema.org/draft/2020-12/schema",)"
                       R"("title":"A definition of Takt","type":"object","required":["kind"],)"
                       R"("oneOf":[)";
    for (const DefinitionKind& kind : DefinitionKinds()) {
        if (text.back() != '[') text += ',';
        text += WithOwnReferences(DocumentSchema(kind, kind.name));
        // A task with steps may be called what it is.
        if (kind.name == "task") {
            text += "," + WithOwnReferences(DocumentSchema(kind, "workflow"));
        }
    }
    text += R"(],"$defs":{"StepRequest":)" + WithOwnReferences(StepRequestSchema()) + "}}";
    return text;
}

}  // namespace takt::internal
