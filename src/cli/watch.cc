#include "cli/watch.h"

#include <unistd.h>

#include <cstdio>
#include <optional>
#include <string>
#include <thread>

#include "cli/cli.h"
#include "cli/formats.h"
#include "cli/output.h"
#include "cli/screen.h"

namespace takt::internal::cli {
namespace {

// A list costs the scheduler as much as a page of the console, which asks as often.
constexpr Duration kWatchEvery{1'000};

struct Shown {
    std::string text;
    std::optional<Error> error;
};

Shown ShowOnce(const std::function<Result<int>()>& show) {
    Shown shown;
    const auto keep = [&](std::string_view piece) {
        shown.text += piece;
        return true;
    };
    {
        // A hint belongs to what is shown, and is shown as seldom.
        OutputRedirect redirect(keep, true);
        if (const auto done = show(); !done) shown.error = done.error();
    }
    return shown;
}

bool IsPassing(const Error& error) {
    return error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kUnknown ||
           error.code == ErrorCode::kExhausted;
}

int WatchOnScreen(const std::function<Result<int>()>& show, bool yaml) {
    std::optional<Error> ended;
    {
        Screen screen;
        do {
            Shown shown = ShowOnce(show);
            if (shown.error && !IsPassing(*shown.error)) {
                ended = std::move(shown.error);
                break;
            }
            if (yaml) {
                YamlLines lines;
                shown.text = lines.Convert(shown.text) + lines.End();
            }
            if (shown.error) shown.text += Paint(shown.error->detail, Colour::kRed) + "\n";
            screen.Draw(shown.text);
        } while (!screen.WaitForQuit(kWatchEvery));
    }
    if (!ended) return kOk;
    PrintError(*ended);
    return ExitOf(*ended);
}

}  // namespace

int WatchOutput(const std::function<Result<int>()>& show) {
    const auto ended = EndYaml();  // Here the whole is made YAML, not each line as it is printed.
    if (!ended) {
        PrintError(ended.error());
        return ExitOf(ended.error());
    }
    const bool yaml = *ended;
    if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)) return WatchOnScreen(show, yaml);
    YamlLines lines;
    std::string last;
    std::string last_error;
    for (;; std::this_thread::sleep_for(kWatchEvery)) {
        const Shown shown = ShowOnce(show);
        if (shown.error && (!IsPassing(*shown.error) || shown.error->detail != last_error)) {
            PrintError(*shown.error);
        }
        if (shown.error && !IsPassing(*shown.error)) return ExitOf(*shown.error);
        last_error = shown.error ? shown.error->detail : std::string();
        if (shown.error || shown.text == last) continue;
        const std::string text = yaml ? lines.Convert(shown.text) + lines.End() : shown.text;
        // A pipe whose reader is gone ends it; SIGPIPE is ignored.
        if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() ||
            std::fflush(stdout) != 0) {
            return kOk;
        }
        last = shown.text;
    }
}

}  // namespace takt::internal::cli
