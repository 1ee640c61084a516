// The rules of docs/worker_protocol.md that can be seen from a scheduler's side, each with its test.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "kit/report.h"
#include "kit/stage.h"

namespace takt::internal::kit {

struct WorkerRule {
    const char* name;
    const char* section;   // Of docs/worker_protocol.md.
    const char* sentence;  // What a worker that keeps it does.
    void (*test)(Stage& stage);
};

// In the order of the page.
std::vector<WorkerRule> WorkerRules();

// Parts of it.
std::span<const WorkerRule> SessionRules();
std::span<const WorkerRule> AttemptRules();
std::span<const WorkerRule> ReconnectRules();
std::span<const WorkerRule> LeavingRules();

struct WorkerKitOptions {
    std::string host = "127.0.0.1";
    std::uint16_t port = 0;
    std::string command;      // {url} is where to connect; empty: somebody else starts the worker.
    std::string output_file;  // Of the command.
    std::vector<std::string> only;  // Rules; empty is all.
    TypeNames names;
    Duration patience{30'000};  // For the first Hello of a worker.
    std::function<void(const std::string& url)> on_listening;
    std::function<void(const RuleReport&)> on_report;
};

// kInvalid, kNotFound for rules that there are not; kUnavailable if no worker comes.
Result<std::vector<RuleReport>> TestWorker(const WorkerKitOptions& options);

}  // namespace takt::internal::kit
