#include "api/resource_table.h"

namespace takt::internal {

std::string PageHead() {
    return "| field | in | value | |\n|---|---|---|---|\n";
}

std::string PageLine::Text() const {
    const std::string_view in = !taken ? "answers" : !given ? "requests" : "both";
    std::string line = "| `" + std::string(name) + "` | " + std::string(in) + " | ";
    if (required) line += "required: ";
    return line + std::string(words) + " | " + std::string(about) + " |\n";
}

}  // namespace takt::internal
