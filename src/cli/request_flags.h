// RequestFlags: a flag for each field of a request, made from the table that the API reads it by. Tasks
// have more to say of theirs: task_flags.h.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/field_view.h"
#include "cli/given_fields.h"

namespace takt::internal::cli {

class RequestFlags {
  public:
    // Fields that a command asks for in its own way, or by other names too.
    struct Exceptions {
        std::vector<std::string_view> without;
        std::vector<std::pair<std::string_view, std::string>> also;  // Field: "--rate"
    };
    void Add(CLI::App& command, std::vector<FieldView> fields, const Exceptions& exceptions = {});

    // The fields that were given; "none" is null where that is taken.
    GivenFields Given() const;
    std::string Names() const;  // "--concurrency-max, --rate-limit", for mistakes.

  private:
    struct Flag {
        FieldView field;
        std::vector<std::string> values;
    };
    std::vector<std::unique_ptr<Flag>> flags_;  // CLI11 keeps their addresses.
};

}  // namespace takt::internal::cli
