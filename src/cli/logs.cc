// takt logs: what an execution wrote, and what it goes on to write.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <thread>

#include "base/json.h"
#include "cli/client.h"
#include "cli/output.h"

namespace takt::internal::cli {
namespace {

constexpr std::size_t kLogPage = 500;
constexpr Duration kLogRetry{250};
// Longer than an election and a restart take.
constexpr std::chrono::seconds kLogSilenceMax{60};

struct LogsOptions {
    ClientOptions client;
    std::string id;
    bool follow = false;
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

// Prints what there is.
Result<void> PrintAll(Client& client, const LogsOptions& options) {
    std::string cursor;
    do {
        const auto page =
            client.Get(WithQuery(PathOf("executions", options.id, "log"),
                                 {{"limit", std::to_string(kLogPage)}, {"cursor", cursor}}));
        if (!page) return std::unexpected(page.error());
        for (const auto* chunk : ListMember(page->value, "items")) {
            PrintChunk(*chunk, options.client.json);
        }
        std::fflush(stdout);
        cursor = Member(page->value, "next_cursor");
    } while (!cursor.empty());
    return {};
}

// Prints the events of a log as they come.
class LogPrinter final : public HttpAnswerSink {
  public:
    explicit LogPrinter(bool json) : json_(json) {}

    bool OnHead(const HttpAnswer&) override {
        rest_.clear();
        return true;
    }
    bool OnPiece(std::string_view piece) override {
        heard = SteadyClock::now();
        rest_.append(piece);
        std::size_t begin = 0;
        for (std::size_t end = 0; (end = rest_.find("\n\n", begin)) != rest_.npos;) {
            OnEvent(std::string_view(rest_).substr(begin, end - begin));
            begin = end + 2;
        }
        rest_.erase(0, begin);
        std::fflush(stdout);
        return !ended;
    }

    std::string last_id;
    bool ended = false;
    Steady heard = SteadyClock::now();

  private:
    static std::string_view Field(std::string_view event, std::string_view name) {
        while (!event.empty()) {
            const std::size_t end = std::min(event.find('\n'), event.size());
            const std::string_view line = event.substr(0, end);
            if (line.starts_with(name)) return line.substr(name.size());
            event.remove_prefix(std::min(end + 1, event.size()));
        }
        return {};
    }

    void OnEvent(std::string_view event) {
        const std::string_view kind = Field(event, "event: ");
        if (const std::string_view id = Field(event, "id: "); !id.empty()) last_id = id;
        if (kind == "end") ended = true;
        if (kind != "lines") return;
        if (const auto chunk = ParseJson(Field(event, "data: "))) PrintChunk(*chunk, json_);
    }

    const bool json_;
    std::string rest_;  // Of an event that has not come whole.
};

// Goes on after a broken connection or a new leader, behind the last line it has printed.
Result<int> FollowLog(Client& client, const LogsOptions& options) {
    const auto printer = std::make_shared<LogPrinter>(options.client.json);
    const std::string path =
        WithQuery(PathOf("executions", options.id, "log"), {{"follow", "true"}});
    while (true) {
        const auto read = client.Stream(path, printer->last_id, printer);
        if (printer->ended) return kOk;
        const bool lasting = !read && read.error().code != ErrorCode::kUnavailable &&
                             read.error().code != ErrorCode::kUnknown;
        if (lasting || SteadyClock::now() - printer->heard > kLogSilenceMax) {
            return std::unexpected(
                read ? Error{ErrorCode::kUnavailable, "the log ends before its execution", {}}
                     : read.error());
        }
        std::this_thread::sleep_for(kLogRetry);
    }
}

Result<int> Logs(Client& client, const LogsOptions& options) {
    if (options.follow) return FollowLog(client, options);
    // An unknown id has an empty log; say that it is unknown.
    const auto execution = client.Get(PathOf("executions", options.id));
    if (!execution) return std::unexpected(HintAtTask(client, options.id, execution.error()));
    const auto printed = PrintAll(client, options);
    if (!printed) return std::unexpected(printed.error());
    return kOk;
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
