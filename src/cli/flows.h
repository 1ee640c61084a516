// Workflows on the command line: tasks from files, the tree of a run, backfills.
#pragma once

#include <boost/json/value.hpp>
#include <string>

#include "base/error.h"
#include "cli/client.h"

namespace takt::internal::cli {

// Creates the task that a YAML or JSON file says; "-" is standard input.
Result<int> CreateFromFile(Client& client, const std::string& file, bool json);

// The steps of a run, those that wait for others below them.
std::string StepTree(const boost::json::value& steps);

struct BackfillOptions {
    std::string task;
    std::string from;
    std::string to;
    int parallel_max = 0;
    bool dry_run = false;
    bool wait = false;
    bool json = false;
};
Result<int> RunBackfill(Client& client, const BackfillOptions& options);

}  // namespace takt::internal::cli
