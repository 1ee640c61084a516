// YAML files as JSON, for what people write by hand. JSON is YAML, so either will do.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace takt::internal {

// Plain scalars are what YAML 1.2's core schema makes of them (null, true, 12, 1.50), quoted ones are
// text; numbers stay as they are written. kInvalid, with the line, for what is no YAML or has no
// JSON form.
Result<std::string> YamlToJson(const std::string& text, const std::string& name);

// One document of a file that may have several.
struct YamlDocument {
    std::string json;
    int line = 0;
    std::map<std::string, int> lines;  // By place: "steps[2].name".

    // Of the place, or of what is nearest around it.
    int LineOf(std::string_view place) const;
};

struct FileMistake {
    int line = 0;
    std::string detail;
};

// All documents of a file, those without anything in them left out; a list at the top is as many.
struct YamlFile {
    std::vector<YamlDocument> documents;
    std::vector<FileMistake> mistakes;
};
YamlFile ReadYamlFile(const std::string& text);

}  // namespace takt::internal
