// WaitFlags: --wait and --wait-timeout, alike in every command that can wait for an execution.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "base/error.h"
#include "base/time.h"

namespace takt::internal::cli {

struct WaitFlags {
    bool wait = false;
    std::string timeout;  // Empty: never.

    void Add(CLI::App& command);
    // 0: until it is finished.
    Result<Duration> Timeout() const;
};

}  // namespace takt::internal::cli
