// Definitions as code: the kinds of things that files can define, each from the table of its
// resource. A definition has the fields of the resource that say how it is to be, and none of those
// that say how it stands.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/json_schema.h"
#include "base/error.h"
#include "base/json_view.h"

namespace takt::internal {

struct Services;

struct GivenDefinition {
    std::string_view name;  // The id of a task, the name of anything else.
    JsonView object;
    bool is_new = false;  // There is no such thing yet.
};

// A definition that was looked at.
struct CheckedDefinition {
    std::string shown;            // The same as an answer has it, if there is no mistake.
    std::vector<Error> mistakes;  // All of them, field by field.
};

struct DefinitionKind {
    std::string_view name;
    std::string_view identity;             // The field that tells one from another.
    std::vector<std::string_view> fields;  // Those that `shown` and the resource's answers share.
    schema::Object schema;
    CheckedDefinition (*check)(const Services& services, const GivenDefinition& given) = nullptr;
};

// In the order in which they are made: what others need comes first.
const std::vector<DefinitionKind>& DefinitionKinds();
// Null: there is no such kind.
const DefinitionKind* FindDefinitionKind(std::string_view name);

// Beside the table of each.
DefinitionKind NamespaceDefinition();
DefinitionKind QueueDefinition();
DefinitionKind TaskDefinition();
DefinitionKind AlertRuleDefinition();

// The setting that says who owns a thing that files define.
std::string OwnerKey(std::string_view kind, std::string_view name);

// The JSON Schema of one document of a file, for editors.
std::string DefinitionSchema();

}  // namespace takt::internal
