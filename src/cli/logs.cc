// takt logs: what an execution wrote, and what it goes on to write.
#include <cstdio>
#include <thread>

#include "base/json.h"
#include "cli/client.h"
#include "cli/execution_view.h"
#include "cli/output.h"

namespace takt::internal::cli {
namespace {

constexpr std::size_t kPage = 500;
constexpr Duration kPoll{250};
// Longer than an election and a restart take.
constexpr std::chrono::seconds kSilenceMax{60};

struct LogsOptions {
    ClientOptions client;
    std::string id;
    bool follow = false;
};

// Where reading goes on. Only full pages have a cursor, so what was shown of the last one is
// counted.
struct Position {
    std::string cursor;
    std::size_t shown = 0;
};

void PrintChunk(const boost::json::value& chunk, bool json) {
    if (json) {
        std::string text;
        AppendJson(text, chunk);
        std::printf("%s\n", text.c_str());
        return;
    }
    // Lines as they were written: a log's colours are its owner's.
    const auto* lines = FindMember(chunk, "lines");
    if (!lines || !lines->is_string()) return;
    std::fwrite(lines->get_string().data(), 1, lines->get_string().size(), stdout);
}

// Prints what is new.
Result<void> ReadOn(Client& client, const LogsOptions& options, Position& position) {
    while (true) {
        const auto page =
            client.Get(WithQuery(PathOf("executions", options.id, "log"),
                                 {{"limit", std::to_string(kPage)}, {"cursor", position.cursor}}));
        if (!page) return std::unexpected(page.error());
        const auto items = ListMember(page->value, "items");
        for (std::size_t i = position.shown; i < items.size(); ++i) {
            PrintChunk(*items[i], options.client.json);
        }
        position.shown = items.size();
        std::fflush(stdout);
        const std::string next = Member(page->value, "next_cursor");
        if (next.empty()) return {};
        position = {next, 0};
    }
}

Result<int> Logs(Client& client, const LogsOptions& options) {
    // An unknown id has an empty log; say that it is unknown.
    auto execution = client.Get(PathOf("executions", options.id));
    if (!execution) return std::unexpected(execution.error());
    Position position;
    Steady heard = SteadyClock::now();
    while (true) {
        const bool finished = execution && IsFinished(execution->value);
        Result<void> read = ReadOn(client, options, position);
        if (read) {
            heard = SteadyClock::now();
            if (finished || !options.follow) return kOk;
        } else if (!options.follow || read.error().code != ErrorCode::kUnavailable ||
                   SteadyClock::now() - heard > kSilenceMax) {
            return std::unexpected(read.error());
        }
        std::this_thread::sleep_for(kPoll);
        // Asked before the log is read again: what it wrote at its end is not missed.
        execution = client.Get(PathOf("executions", options.id));
    }
}

}  // namespace

void AddLogs(CLI::App& app, Context& context) {
    auto options = std::make_shared<LogsOptions>();
    CLI::App* logs = app.add_subcommand("logs", "Prints what an execution wrote");
    options->client.Add(*logs);
    logs->add_option("id", options->id, "Execution")->required();
    logs->add_flag("-f,--follow", options->follow, "Go on until it is finished");
    logs->footer(
        "examples:\n"
        "  takt logs remind-7\n"
        "  takt logs remind-7 -f\n");
    logs->callback([options, &context] {
        context.exit =
            WithClient(options->client, [&](Client& client) { return Logs(client, *options); });
    });
}

}  // namespace takt::internal::cli
