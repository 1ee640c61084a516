// A flag that narrows what a command is about: alike in every command that takes one.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace takt::internal::cli {

// Empty is what a script's variable is that nobody set. It was meant to narrow, and left out it
// would do the opposite: `retry --status failed --type ""` would run all that failed.
inline std::string RefuseEmpty(std::string& text) {
    return text.empty() ? "must not be empty" : std::string();
}

inline CLI::Option* AddFilter(CLI::App& command, const std::string& flags, std::string& value,
                              const std::string& help) {
    return command.add_option(flags, value, help)->check(CLI::Validator(RefuseEmpty, ""));
}

}  // namespace takt::internal::cli
