// takt logs: what an execution wrote, and what it goes on to write.
#include "cli/logs.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <thread>

#include "base/json.h"
#include "cli/event_reader.h"
#include "cli/moment_flag.h"
#include "cli/output.h"

namespace takt::internal::cli {
namespace {

constexpr std::size_t kLogPage = 500;
constexpr Duration kLogRetry{250};
// Longer than an election and a restart take.
constexpr std::chrono::seconds kLogSilenceMax{60};

struct LogsOptions {
    ClientOptions client;
    std::string id, since;
    bool follow = false;
    std::int64_t tail = -1;  // Lines; -1: all.
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

// Both are spelled alike, the earlier one comes first.
bool IsSince(const boost::json::value& chunk, const std::string& since) {
    return Member(chunk, "at") >= since;
}

// Passes every chunk that there is to `take`.
template <typename Take>
Result<void> ReadChunks(Client& client, const std::string& id, Take take) {
    std::string cursor;
    do {
        const auto page =
            client.Get(WithQuery(PathOf("executions", id, "log"),
                                 {{"limit", std::to_string(kLogPage)}, {"cursor", cursor}}));
        if (!page) return std::unexpected(page.error());
        for (const auto* chunk : ListMember(page->value, "items")) take(*chunk);
        cursor = Member(page->value, "next_cursor");
    } while (!cursor.empty());
    return {};
}

// Cuts lines off the front until at most `lines` are left.
void KeepLines(std::string& text, std::size_t lines) {
    // The end of the last line begins no other.
    std::size_t at = text.size() - (text.ends_with('\n') ? 1 : 0);
    for (std::size_t seen = 0; at > 0; --at) {
        if (text[at - 1] == '\n' && ++seen == lines) break;
    }
    text.erase(0, lines == 0 ? text.size() : at);
}

// Prints the chunks of a log as they come.
class LogPrinter final : public EventReader {
  public:
    explicit LogPrinter(bool json) : json_(json) {}
    bool ended() const { return ended_; }

  private:
    bool OnEvent(std::string_view kind, std::string_view data) override {
        ended_ = ended_ || kind == "end";
        if (kind != "lines") return !ended_;
        if (const auto chunk = ParseJson(data)) PrintChunk(*chunk, json_);
        return true;
    }
    void OnPause() override { std::fflush(stdout); }

    const bool json_;
    bool ended_ = false;
};

// Goes on after a broken connection or a new leader, behind the last line it has printed.
Result<int> FollowLog(Client& client, const LogsOptions& options, const std::string& last_id) {
    const auto printer = std::make_shared<LogPrinter>(options.client.json);
    printer->set_last_id(last_id);
    const std::string path =
        WithQuery(PathOf("executions", options.id, "log"), {{"follow", "true"}});
    while (true) {
        const auto read = client.Stream(path, printer->last_id(), printer);
        if (printer->ended()) return kOk;
        const bool lasting = !read && read.error().code != ErrorCode::kUnavailable &&
                             read.error().code != ErrorCode::kUnknown;
        if (lasting || SteadyClock::now() - printer->heard() > kLogSilenceMax) {
            return std::unexpected(
                read ? Error{ErrorCode::kUnavailable, "the log ends before its execution", {}}
                     : HintAtTask(client, options.id, read.error()));
        }
        std::this_thread::sleep_for(kLogRetry);
    }
}

Result<int> Logs(Client& client, const LogsOptions& options) {
    const bool all = options.tail < 0;
    if (!all && options.client.json) {
        return Fail(ErrorCode::kInvalid, "--tail counts lines, and --json prints chunks of them");
    }
    if (options.follow && all && options.since.empty()) return FollowLog(client, options, {});
    // An unknown id has an empty log; say that it is unknown.
    const auto execution = client.Get(PathOf("executions", options.id));
    if (!execution) return std::unexpected(HintAtTask(client, options.id, execution.error()));
    std::string last_id;
    if (all) {
        const auto read = ReadChunks(client, options.id, [&](const boost::json::value& chunk) {
            last_id = Member(chunk, "id");
            if (IsSince(chunk, options.since)) PrintChunk(chunk, options.client.json);
        });
        if (!read) return std::unexpected(read.error());
    } else {
        const auto tail =
            ReadLogTail(client, options.id, static_cast<std::size_t>(options.tail), options.since);
        if (!tail) return std::unexpected(tail.error());
        std::fwrite(tail->text.data(), 1, tail->text.size(), stdout);
        last_id = tail->last_id;
    }
    std::fflush(stdout);
    return options.follow ? FollowLog(client, options, last_id) : Result<int>(kOk);
}

}  // namespace

Result<LogTail> ReadLogTail(Client& client, const std::string& execution, std::size_t lines,
                            const std::string& since) {
    LogTail tail;
    const auto read = ReadChunks(client, execution, [&](const boost::json::value& chunk) {
        tail.last_id = Member(chunk, "id");
        const auto* text = FindMember(chunk, "lines");
        if (!text || !text->is_string() || !IsSince(chunk, since)) return;
        tail.text += std::string_view(text->get_string());
        KeepLines(tail.text, lines);
    });
    if (!read) return std::unexpected(read.error());
    return tail;
}

void AddLogs(CLI::App& app, Context& context) {
    auto options = std::make_shared<LogsOptions>();
    CLI::App* logs = app.add_subcommand("logs", "Prints what an execution wrote");
    options->client.formats = false;  // Lines are lines.
    options->client.Add(*logs);
    logs->add_option("id", options->id, "Execution")->required();
    logs->add_flag("-f,--follow", options->follow, "Go on until it is finished");
    logs->add_option("--tail", options->tail, "Only the last so many lines of what there is")
        ->check(CLI::Range(0, 1'000'000));
    AddMoment(*logs, "--since", options->since,
              "Only what came at this time or later: 10m, or a time");
    logs->footer(
        "examples:\n"
        "  takt logs remind-7\n"
        "  takt logs remind-7 --since 5m\n"
        "  takt logs remind-7 -f --tail 20\n");
    logs->callback([options, &context] {
        context.exit =
            WithClient(options->client, [&](Client& client) { return Logs(client, *options); });
    });
}

}  // namespace takt::internal::cli
