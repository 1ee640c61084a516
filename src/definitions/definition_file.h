// Definitions as files have them: documents of YAML or JSON, each with a kind, perhaps a namespace,
// and the fields of its resource.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "definitions/plan.h"
#include "definitions/yaml_json.h"

namespace takt::internal {

// A mistake, where it was made.
struct PlacedMistake {
    std::string file;
    int line = 0;
    std::string field;   // Empty: of the document as a whole.
    std::string detail;  // One sentence.

    std::string Text() const;  // "tasks.yaml:12: …", with the field in it.
};

struct WrittenDefinition {
    ThingKey key;
    std::string json;  // Without kind and namespace, with what tells it from others.
    std::string file;
    YamlDocument document;

    PlacedMistake Mistake(std::string field, std::string detail) const;
};

struct WrittenDefinitions {
    std::vector<WrittenDefinition> definitions;
    std::vector<PlacedMistake> mistakes;
};

// By kind: the field that tells one from another.
using KindIdentities = std::map<std::string, std::string, std::less<>>;

class DefinitionReader {
  public:
    // `space` is the namespace of those that name none.
    DefinitionReader(KindIdentities kinds, std::string space)
        : kinds_(std::move(kinds)), space_(std::move(space)) {}

    // A file, which is told by `name` where it has mistakes.
    void Read(const std::string& name, const std::string& text);

    WrittenDefinitions Take() { return std::move(read_); }

  private:
    void ReadDocument(const std::string& file, YamlDocument document);
    bool ReadKey(WrittenDefinition& definition);
    bool Blame(const WrittenDefinition& definition, std::string field, std::string detail);

    const KindIdentities kinds_;
    const std::string space_;
    std::map<ThingKey, std::string> places_;  // Where each was defined first.
    WrittenDefinitions read_;
};

// The object without these members.
std::string WithoutMembers(const JsonView& object, const std::set<std::string>& names);

}  // namespace takt::internal
