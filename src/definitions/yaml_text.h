// JSON as YAML that people like to read. ReadYamlFile makes the same JSON of it again, numbers letter
// by letter.
#pragma once

#include <string>

#include "base/json_view.h"

namespace takt::internal {

// Lines, each with its newline.
std::string YamlText(const JsonView& value);

}  // namespace takt::internal
