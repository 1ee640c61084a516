// Execution: one run of a task, as the scheduler knows it. A task that runs once and its only
// execution share their id.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "takt/error.h"
#include "takt/export.h"
#include "takt/name.h"
#include "takt/time.h"

namespace takt {

enum class Status : std::uint8_t {
    kPending,    // Waits: for its time, for a worker, or for its turn.
    kScheduled,  // Sent to a worker, which has not said yet that it began.
    kRunning,
    kRetrying,  // An attempt failed; waits for the time of the next one.
    kSuccess,
    kFailed,
    kCancelled,
    kSkipped,  // A fire that the execution mode or the misfire policy dropped.
};

// "pending", "success" and so on.
TAKT_EXPORT std::string_view Name(Status status);
// The names above, also completed, succeeded and canceled.
TAKT_EXPORT std::optional<Status> ParseStatus(std::string_view name);
template <>
inline constexpr bool kHasName<Status> = true;

// Whether nothing will happen to it any more.
constexpr bool IsFinal(Status status) {
    return status >= Status::kSuccess;
}

// Why an execution did not succeed, or why its last attempt did not.
struct ExecutionError {
    std::string code;  // handler_failed, timeout, worker_lost, cancelled, expired, rejected, …
    std::string message;
    std::int32_t handler_code = 0;  // What the handler returned; 0 if it said nothing.
};

// One attempt of an execution.
struct Attempt {
    std::uint32_t attempt = 0;  // Its number, from 1.
    std::string worker_id;
    std::optional<Time> started_at;   // None: it never began.
    std::optional<Time> finished_at;  // None: it goes on.
    std::string status;               // How it ended, or the execution's while it goes on.
    std::optional<ExecutionError> error;
};

// The last word of a handler on how far it is.
struct Progress {
    double fraction = 0;  // 0 to 1.
    std::string message;
    std::optional<Time> at;
};

struct Execution {
    std::string id;
    std::string task_id;
    std::string task_name;
    std::string type;
    std::string queue;
    int priority = 0;
    Status status = Status::kPending;
    std::string origin;          // once, fire (of a recurring task), trigger, step or backfill.
    std::uint32_t attempt = 0;   // The number of the last attempt; 0 before the first.
    std::uint32_t failures = 0;  // Attempts that failed.
    std::uint32_t losses = 0;    // Attempts whose worker was lost.
    std::string worker_id;       // Of the last attempt; empty before the first.
    std::string payload;         // JSON. Empty in lists.
    Time created_at{};
    Time scheduled_at{};              // When it was meant to run.
    std::optional<Time> started_at;   // The last attempt.
    std::optional<Time> finished_at;  // Set when the status is final.
    std::string result;               // JSON, what the handler gave; empty for nothing.
    std::string message;              // Said of a success; of anything else it is in `error`.
    std::optional<ExecutionError> error;

    // A part of a run: the run, its step, and which of so many parts of the step; else empty and 0.
    std::string parent_id;
    std::string step;
    std::uint32_t shard_index = 0;
    std::uint32_t shard_total = 0;

    // Of one execution that is asked for by its id; not in lists.
    std::map<std::string, std::string> metadata;
    std::vector<Attempt> attempts;  // Oldest first, with the one that goes on.
    std::optional<Progress> progress;
    std::string trace_id;  // Empty: it is not traced.

    bool finished() const { return IsFinal(status); }
};

// Which executions to list. Filters combine; an empty one does not filter.
struct ExecutionFilter {
    std::string task_id = {};
    std::vector<Status> statuses = {};
    std::string worker_id = {};
    std::string type = {};
    std::string queue = {};
    std::optional<Time> from = {};  // Created at this time or later,
    std::optional<Time> to = {};    // and before this one.
    std::string parent_id = {};     // Parts of this run.
    bool children = false;          // Parts of runs too.
    std::string search = {};        // In names, ids, metadata or errors; then without payloads.
    std::string metadata = {};      // One pair, name=value.
    std::size_t limit = 100;        // 1 to 1000 for one page.
    std::string cursor = {};        // next_cursor of the page before; empty is the first page.
};

// How many executions fit a filter.
struct ExecutionCounts {
    std::uint64_t total = 0;
    bool complete = false;  // False: there are older ones, which were not counted.
    std::optional<Time> counted_to;
    std::map<Status, std::uint64_t> by_status;
};

// A change of many executions, each by itself.
struct Sweep {
    struct Refused {
        std::string id;
        Error error;
    };
    std::size_t matched = 0;
    std::size_t changed = 0;
    std::vector<Refused> refused;
    std::string
        next_cursor;  // For the same filter again, which goes on with older ones. Empty: done.
};

// A part of an execution's log, as a worker sent it.
struct LogChunk {
    std::uint32_t attempt = 0;
    Time at{};
    std::string lines;
};

// One page of a list.
template <typename T>
struct Page {
    std::vector<T> items;
    std::string next_cursor;  // Empty: this is the last page.
};

}  // namespace takt
