// The flags that say what a task is, for takt submit and takt tasks update.
#pragma once

#include <CLI/CLI.hpp>
#include <boost/json/object.hpp>
#include <string>
#include <vector>

#include "base/error.h"

namespace takt::internal::cli {

// A payload as given on the command line: JSON, @FILE, or - for standard input. kInvalid says what
// is wrong with it.
Result<boost::json::value> ReadPayload(const std::string& given, bool as_text);

struct TaskFlags {
    std::string name, queue, priority, cron, every, timezone, retries, timeout, executor;
    std::string payload;  // As given, @FILE, or - for standard input.
    bool text = false;    // The payload is text, not JSON.
    std::vector<std::string> labels;
    std::vector<std::string> fields;

    // For a new task the payload may also stand alone, and the help tells what is so by default;
    // where one is changed, a flag that is not given changes nothing.
    enum class Purpose : std::uint8_t { kNew, kChange };
    void Add(CLI::App& command, Purpose purpose);

    // Only --field, with this help.
    void AddFields(CLI::App& command, const std::string& names, const std::string& help);

    // What was given, as fields of POST and PATCH /api/v1/tasks. kInvalid says which flag is wrong.
    Result<boost::json::object> ToJson() const;
};

}  // namespace takt::internal::cli
