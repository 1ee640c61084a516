// A flag whose value is a time, or how long ago: alike in every command that takes one.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace takt::internal::cli {

// "--since,--from": `value` becomes the time as the API spells it, "2026-11-15T02:00:00.000Z"; it
// stays empty if the flag is not given, and only then. "1h" is an hour before the command began.
CLI::Option* AddMoment(CLI::App& command, const std::string& flags, std::string& value,
                       const std::string& help);

// --since, or --from, and --until, or --to. `what` is what happened then: "Created".
struct TimeWindow {
    std::string since, until;

    void Add(CLI::App& command, const std::string& what);
};

}  // namespace takt::internal::cli
