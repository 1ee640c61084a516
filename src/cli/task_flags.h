// The flags that say what a task is, for takt submit, takt tasks update and takt tasks preview: one
// for each field of the API, made from the table of a task's fields.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/task_field.h"
#include "base/error.h"
#include "cli/given_fields.h"

namespace takt::internal::cli {

// A payload as given on the command line: JSON, @FILE, or - for standard input. The JSON text,
// letter by letter as it was given; kInvalid says what is wrong with it.
Result<std::string> ReadPayload(const std::string& given, bool as_text);

class TaskFlags {
  public:
    // Of a new task, where the payload may also stand alone; of a change to one, where a flag that
    // is not given changes nothing; of a schedule that is only asked about.
    enum class Purpose : std::uint8_t { kNew, kChange, kPreview };
    void Add(CLI::App& command, Purpose purpose);

    // The fields that were given. kInvalid says which flag is wrong.
    Result<GivenFields> Given() const;

  private:
    struct Flag {
        const TaskField* field;
        std::string name;  // As mistakes call it.
        std::vector<std::string> values;
    };

    void AddFlag(CLI::App& command, Purpose purpose, const TaskField& field);
    Result<std::string> ValueOf(const Flag& flag) const;

    std::vector<std::unique_ptr<Flag>> flags_;  // CLI11 keeps their addresses.
    bool text_ = false;                         // The payload is text, not JSON.
    std::vector<std::string> others_;           // --field NAME=JSON
};

}  // namespace takt::internal::cli
