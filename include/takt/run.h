// Runs of tasks with steps, looked at: where each step stands. And past fires that are made up for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "takt/execution.h"
#include "takt/time.h"

namespace takt {

struct RunStep {
    std::string name;
    std::string status;  // pending, running, success, failed, cancelled or skipped.
    std::vector<std::string> after;
    std::uint64_t total = 0;  // Executions of it, and how many of them stand where.
    std::uint64_t success = 0;
    std::uint64_t failed = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t skipped = 0;
    std::uint64_t running = 0;
    std::uint64_t waiting = 0;
    std::string execution_id;  // If there is only one.
    std::optional<Time> started_at;
    std::optional<Time> finished_at;
    std::string reason;  // Why it was skipped, or failed as a whole.
    std::string result;  // JSON.
};

struct RunRecord {
    std::string id;
    std::string status;
    std::string ending;       // What it will be when its last step has ended; empty: not known yet.
    std::uint32_t round = 0;  // How often it was run again.
    std::vector<RunStep> steps;
};

struct BackfillOptions {
    std::optional<Time> to = {};     // Due times before this; now unless given.
    std::uint32_t parallel_max = 0;  // So many unfinished at a time; 0: 10, or 1 by its mode.
    bool dry_run = false;            // Only tells what would be run.
};

struct Backfill {
    std::optional<Execution> run;  // None: nothing is run.
    std::uint64_t count = 0;       // Due times that are made up for.
    std::uint64_t existing = 0;    // Those that have an execution already.
    std::vector<Time> due;         // The first of them.
};

}  // namespace takt
