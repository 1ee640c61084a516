// A YAML file as JSON, for tasks that people write by hand. JSON is YAML, so either will do.
#pragma once

#include <string>

#include "base/error.h"

namespace takt::internal::cli {

// Plain scalars are what YAML 1.2's core schema makes of them (null, true, 12, 1.50), quoted ones are
// text; numbers stay as they are written. kInvalid, with the line, for what is no YAML or has no
// JSON form.
Result<std::string> YamlToJson(const std::string& text, const std::string& name);

}  // namespace takt::internal::cli
