#include "cli/wait_flags.h"

namespace takt::internal::cli {

void WaitFlags::Add(CLI::App& command) {
    CLI::Option* flag = command.add_flag(
        "--wait", wait, "Wait until it is finished; the exit code tells whether it succeeded");
    command.add_option("--wait-timeout", timeout, "Give up waiting after [never]")->needs(flag);
}

Result<Duration> WaitFlags::Timeout() const {
    if (timeout.empty()) return Duration(0);
    const auto parsed = ParseDuration(timeout);
    if (!parsed) return Fail(ErrorCode::kInvalid, "--wait-timeout: " + parsed.error().detail);
    // 0 would be for ever; whoever says it does not want to wait at all.
    if (*parsed <= Duration(0)) {
        return Fail(ErrorCode::kInvalid, "--wait-timeout must be more than 0");
    }
    return *parsed;
}

}  // namespace takt::internal::cli
