#include "cli/moment_flag.h"

#include "base/time.h"

namespace takt::internal::cli {
namespace {

// Empty, or what is wrong with it.
std::string SpellMoment(std::string& text) {
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

// A script whose variable is empty says no bound.
std::string SpellBound(std::string& text) {
    return text.empty() ? std::string() : SpellMoment(text);
}

}  // namespace

CLI::Option* AddMoment(CLI::App& command, const std::string& flags, std::string& value,
                       const std::string& help) {
    return command.add_option(flags, value, help)->transform(CLI::Validator(SpellMoment, ""));
}

CLI::Option* AddBound(CLI::App& command, const std::string& flags, std::string& value,
                      const std::string& help) {
    return command.add_option(flags, value, help)->transform(CLI::Validator(SpellBound, ""));
}

void TimeWindow::Add(CLI::App& command, const std::string& what) {
    AddBound(command, "--since,--from", since,
             what + " at this time or later: 2026-11-15T02:00:00Z, or how long ago, 1h");
    AddBound(command, "--until,--to", until, what + " before this time, or longer ago than that");
}

}  // namespace takt::internal::cli
