// The flags that say what a task is, for takt submit and takt tasks update.
#pragma once

#include <CLI/CLI.hpp>
#include <boost/json/object.hpp>
#include <string>
#include <vector>

#include "base/error.h"

namespace takt::internal::cli {

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

    // What was given, as fields of POST and PATCH /api/v1/tasks. kInvalid says which flag is wrong.
    Result<boost::json::object> ToJson() const;
};

}  // namespace takt::internal::cli
