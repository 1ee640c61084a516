// SearchWords: what a list is searched for beyond what stores can filter by.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "model/execution.h"
#include "model/task.h"

namespace takt::internal {

struct SearchWords {
    std::string text;  // In small letters; empty: anything.
    std::string metadata_name;
    std::string metadata_value;
    std::string parameter_path;
    std::string parameter_value;

    bool empty() const { return text.empty() && metadata_name.empty() && parameter_path.empty(); }

    // Whether the text is in the id, name, type, queue, metadata or a value of the parameters, without
    // regard to the case of A to Z; and whether metadata and parameter are there, letter by letter.
    bool Fit(const Task& task) const;
    // Also in the worker's id, the step, and the code and the beginning of the message of its error.
    // Parameters are those that the row has: a brief one has none.
    bool Fit(const Execution& row) const;
};

// Takes `search`, `metadata` or `parameters`; false if the name is none of them. kInvalid, naming the
// parameter.
Result<bool> SetSearch(SearchWords& words, std::string_view name, std::string_view value);

}  // namespace takt::internal
