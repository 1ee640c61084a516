// Executions as people see them, and waiting for one to finish.
#pragma once

#include <boost/json/value.hpp>
#include <string>

#include "base/error.h"
#include "base/time.h"
#include "cli/client.h"
#include "cli/output.h"

namespace takt::internal::cli {

Table ExecutionTable();
void AddExecution(Table& table, const boost::json::value& execution);

// How long an execution, or an attempt, took; of one that goes on so far, with "…"; "-" before.
std::string ElapsedText(const boost::json::value& execution);

// All there is to say about one.
std::string ExecutionText(const boost::json::value& execution);

bool IsFinished(const boost::json::value& execution);

struct WaitFor {
    std::string execution;
    Duration timeout{0};  // 0: until it is finished.
    bool show = false;    // Tell every new state on standard error.
};

// Asks until the execution is finished, also while the scheduler is restarted. kUnavailable after
// the timeout, or when nobody has answered for a minute.
Result<ClientAnswer> WaitUntilFinished(Client& client, const WaitFor& what);

// kOk for success, else kFailed.
int ExitOfOutcome(const boost::json::value& execution);

}  // namespace takt::internal::cli
