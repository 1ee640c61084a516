#include "definitions/definition_file.h"

#include <utility>

#include "base/id.h"
#include "base/json.h"

namespace takt::internal {
namespace {

// A task with steps may be called so.
constexpr std::string_view kWorkflow = "workflow";

std::string Listed(const KindIdentities& kinds) {
    std::string text(kWorkflow);
    for (const auto& [kind, identity] : kinds) text += ", " + kind;
    return text;
}

}  // namespace

std::string PlacedMistake::Text() const {
    const bool named = field.empty() || detail.find(field) != std::string::npos;
    return file + ":" + std::to_string(line) + ": " + (named ? "" : field + ": ") + detail;
}

PlacedMistake WrittenDefinition::Mistake(std::string field, std::string detail) const {
    return {.file = file,
            .line = document.LineOf(field),
            .field = std::move(field),
            .detail = std::move(detail)};
}

std::string WithoutMembers(const JsonView& object, const std::set<std::string>& names) {
    std::string text = "{";
    JsonView::Members members(object);
    while (members.Next()) {
        if (names.contains(std::string(members.key()))) continue;
        if (text.size() > 1) text += ',';
        AppendJsonString(text, members.key());
        text += ':';
        text += members.value().raw();
    }
    return text + "}";
}

void DefinitionReader::Read(const std::string& name, const std::string& text) {
    YamlFile file = ReadYamlFile(text);
    for (FileMistake& mistake : file.mistakes) {
        read_.mistakes.push_back({name, mistake.line, {}, std::move(mistake.detail)});
    }
    for (YamlDocument& document : file.documents) ReadDocument(name, std::move(document));
}

bool DefinitionReader::Blame(const WrittenDefinition& definition, std::string field,
                             std::string detail) {
    read_.mistakes.push_back(definition.Mistake(std::move(field), std::move(detail)));
    return false;
}

// The kind, the namespace and the name. False: there is a mistake in them.
bool DefinitionReader::ReadKey(WrittenDefinition& definition) {
    const JsonView object(definition.document.json);
    std::string kind = TextOf(object, "kind");
    if (kind.empty()) return Blame(definition, "kind", "kind is missing: one of " + Listed(kinds_));
    const bool workflow = kind == kWorkflow;
    if (workflow) kind = "task";
    const auto known = kinds_.find(kind);
    if (known == kinds_.end()) {
        return Blame(definition, "kind",
                     "there is no kind '" + kind + "'; it is one of " + Listed(kinds_));
    }
    if (workflow && !MemberOf(object, "steps")) {
        return Blame(definition, "steps", "steps is missing: a workflow is a task with steps");
    }
    definition.key = {.kind = kind, .space = space_, .name = TextOf(object, known->second)};
    // The name of a task will mostly do as its id.
    if (definition.key.name.empty() && kind == "task") {
        definition.key.name = TextOf(object, "name");
    }
    if (!IsValidId(definition.key.name)) {
        return Blame(definition, known->second,
                     known->second + " is missing, or not 1 to 64 of A-Z a-z 0-9 . _ ~ -");
    }
    if (kind == "namespace") definition.key.space.clear();
    const auto space = MemberOf(object, "namespace");
    if (!space) return true;
    if (kind == "namespace") {
        return Blame(definition, "namespace", "namespace is not for a namespace itself");
    }
    definition.key.space = TextOf(object, "namespace");
    return !definition.key.space.empty() ||
           Blame(definition, "namespace", "namespace must be the name of one");
}

void DefinitionReader::ReadDocument(const std::string& file, YamlDocument document) {
    WrittenDefinition definition{.file = file, .document = std::move(document)};
    const JsonView object(definition.document.json);
    if (object.kind() != JsonView::Kind::kObject) {
        Blame(definition, {}, "a definition must have names and values, the first of them kind");
        return;
    }
    if (!ReadKey(definition)) return;
    const std::string place = file + ":" + std::to_string(definition.document.line);
    const auto [first, unique] = places_.emplace(definition.key, place);
    if (!unique) {
        Blame(definition, {},
              definition.key.kind + " '" + definition.key.name +
                  "' is defined twice; the other is " + first->second);
        return;
    }
    definition.json = WithoutMembers(object, {"kind", "namespace"});
    if (definition.key.kind == "task" && !MemberOf(object, "id")) {
        std::string id = "{\"id\":";
        AppendJsonString(id, definition.key.name);
        definition.json.replace(0, 1, id + (definition.json.size() > 2 ? "," : ""));
    }
    read_.definitions.push_back(std::move(definition));
}

}  // namespace takt::internal
