// Workflows on the command line: tasks from files, the tree of a run, backfills.
#pragma once

#include <boost/json/value.hpp>
#include <string>

#include "base/error.h"
#include "cli/client.h"
#include "cli/moment_flag.h"

namespace takt::internal::cli {

struct FileOptions {
    std::string file;  // YAML or JSON; "-" is standard input.
    bool dry_run = false;
    bool json = false;
};
// Creates the task that a file says, or only tells what is wrong with it and shows its steps.
Result<int> CreateFromFile(Client& client, const FileOptions& options);

// The steps of a run, those that wait for others below them.
std::string StepTree(const boost::json::value& steps);

struct BackfillOptions {
    std::string task;
    TimeWindow due;
    int parallel_max = 0;
    bool dry_run = false;
    bool wait = false;
    bool json = false;
};
Result<int> RunBackfill(Client& client, const BackfillOptions& options);

}  // namespace takt::internal::cli
