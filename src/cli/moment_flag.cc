#include "cli/moment_flag.h"

#include "base/time.h"
#include "cli/filter_flag.h"

namespace takt::internal::cli {
namespace {

// Empty, or what is wrong with it.
std::string SpellMoment(std::string& text) {
    if (text.empty()) return RefuseEmpty(text);
    if (const auto time = ParseTime(text)) {
        text = FormatTime(*time);
        return {};
    }
    if (const auto ago = ParseDuration(text)) {
        text = FormatTime(ReadClocks().wall - *ago);
        return {};
    }
    return "'" + text +
           "' is neither a time such as 2026-11-15T02:00:00Z nor how long ago, such as 1h";
}

}  // namespace

CLI::Option* AddMoment(CLI::App& command, const std::string& flags, std::string& value,
                       const std::string& help) {
    return command.add_option(flags, value, help)->transform(CLI::Validator(SpellMoment, ""));
}

void TimeWindow::Add(CLI::App& command, const std::string& what) {
    AddMoment(command, "--since,--from", since,
              what + " at this time or later: 2026-11-15T02:00:00Z, or how long ago, 1h");
    AddMoment(command, "--until,--to", until, what + " before this time, or longer ago than that");
}

}  // namespace takt::internal::cli
