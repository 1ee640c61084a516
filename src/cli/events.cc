// takt events: what happens, as it happens.
#include "cli/events.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <thread>

#include "base/json.h"
#include "cli/event_reader.h"
#include "cli/filter_flag.h"
#include "cli/moment_flag.h"
#include "cli/output.h"

namespace takt::internal::cli {
namespace {

constexpr Duration kEventsRetry{500};

struct EventsOptions {
    ClientOptions client;
    std::string type, task, worker, execution, since;
    bool past = false;
    bool follow = true;
    std::size_t count = 0;  // 0: until it is stopped.
};

Colour ColourOfEvent(std::string_view type) {
    if (type.ends_with("failed") || type.ends_with("offline") || type == "alert")
        return Colour::kRed;
    if (type.ends_with("completed") || type.ends_with("online")) return Colour::kGreen;
    if (type.ends_with("retrying") || type == "reset") return Colour::kYellow;
    return Colour::kNone;
}

// Prints events, each on a line.
class EventPrinter final : public EventReader {
  public:
    explicit EventPrinter(const EventsOptions& options)
        : options_(options), left_(options.count == 0 ? SIZE_MAX : options.count) {}

    bool done() const { return left_ == 0; }
    // The reader of the output is gone.
    bool broken() const { return broken_; }

  private:
    bool OnEvent(std::string_view, std::string_view data) override {
        const auto event = ParseJson(data);
        if (!event) return true;
        const bool reset = Member(*event, "type") == "reset";
        if (!reset && !options_.execution.empty() &&
            Member(*event, "execution_id") != options_.execution) {
            return true;
        }
        // Both are spelled alike, the earlier one comes first.
        if (!reset && Member(*event, "at") < options_.since) return true;
        std::string line = options_.client.json ? std::string(data) : EventLine(*event);
        line += '\n';
        broken_ = std::fwrite(line.data(), 1, line.size(), stdout) != line.size();
        if (!reset) --left_;
        return left_ > 0 && !broken_;
    }
    void OnPause() override { broken_ = std::fflush(stdout) != 0 || broken_; }

    const EventsOptions& options_;
    std::size_t left_;
    bool broken_ = false;
};

// Keeps events.
class EventKeeper final : public EventReader {
  public:
    std::vector<boost::json::value> events;

  private:
    bool OnEvent(std::string_view, std::string_view data) override {
        if (auto event = ParseJson(data)) events.push_back(std::move(*event));
        return true;
    }
};

bool MayPass(const Error& error) {
    return error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kUnknown ||
           error.code == ErrorCode::kExhausted;
}

// Goes on after a broken connection or a new leader, behind the last event that it has printed.
Result<int> Events(Client& client, const EventsOptions& options) {
    const Query query = {
        {"type", options.type}, {"task_id", options.task}, {"worker_id", options.worker}};
    const auto printer = std::make_shared<EventPrinter>(options);
    std::string told;
    // A connection that failed at the first try is a mistake in its address more often than not.
    for (bool first = true;; first = false) {
        Query asked = query;
        if (printer->last_id().empty()) {
            asked.emplace_back("past", !options.follow                          ? "only"
                                       : options.past || !options.since.empty() ? "all"
                                                                                : "");
        }
        const auto read =
            client.Stream(WithQuery("/api/v1/events", asked), printer->last_id(), printer);
        if (printer->done() || printer->broken()) return kOk;
        if (!read && (first || !MayPass(read.error()))) return std::unexpected(read.error());
        if (!options.follow) return kOk;
        const std::string why = read ? "the stream ended" : read.error().detail;
        if (why != told) std::fprintf(stderr, "takt: %s; connecting again\n", why.c_str());
        told = why;
        std::this_thread::sleep_for(kEventsRetry);
    }
}

}  // namespace

std::string EventLine(const boost::json::value& event) {
    const std::string type = Member(event, "type");
    std::string whom;
    const auto add = [&](const char* before, const std::string& value) {
        if (!value.empty()) whom += (whom.empty() ? "" : " ") + std::string(before) + value;
    };
    const std::string execution = Member(event, "execution_id");
    const std::string task = Member(event, "task_id");
    add("", execution);
    if (task != execution) add(execution.empty() ? "" : "of ", task);
    add(whom.empty() ? "" : "on ", Member(event, "worker_id"));
    if (const std::string attempt = Member(event, "attempt"); !attempt.empty() && attempt != "1") {
        add("attempt ", attempt);
    }
    std::string said = Member(event, "detail");
    if (said.empty()) said = Member(event, "message");  // An alert's.
    if (!said.empty()) whom += (whom.empty() ? "" : ": ") + said;
    const std::string time = type == "reset" ? "-" : ExactTime(Member(event, "at"));
    return fmt::format("{:<23}  {}{}  {}", time, Paint(type, ColourOfEvent(type)),
                       std::string(type.size() < 16 ? 16 - type.size() : 0, ' '), Clean(whom, 400));
}

Result<std::vector<boost::json::value>> PastEvents(Client& client, Query query) {
    const auto keeper = std::make_shared<EventKeeper>();
    query.emplace_back("past", "only");
    const auto read = client.Stream(WithQuery("/api/v1/events", query), {}, keeper);
    if (!read) return std::unexpected(read.error());
    return std::move(keeper->events);
}

void AddEvents(CLI::App& app, Context& context) {
    auto options = std::make_shared<EventsOptions>();
    CLI::App* events = app.add_subcommand("events", "Prints what happens, as it happens");
    options->client.Add(*events);
    AddFilter(*events, "--type", options->type,
              "Only these, names or groups parted by commas: task.failed,worker");
    AddFilter(*events, "--task", options->task, "Only of this task");
    AddFilter(*events, "--execution", options->execution, "Only of this execution");
    AddFilter(*events, "--worker", options->worker, "Only of this worker");
    events->add_flag("--past", options->past, "First those that the leader remembers");
    AddMoment(*events, "--since", options->since,
              "First those that the leader remembers from then on: 10m, or a time");
    events->add_flag("!--no-follow", options->follow, "Those alone, and end");
    events->add_option("-c,--count", options->count, "End after so many");
    events->footer(
        "Goes on by itself through restarts and changes of leader; `reset` says that some were\n"
        "missed.\n"
        "examples:\n"
        "  takt events --type task.failed,alert\n"
        "  takt events --past --worker host-7\n"
        "  takt events --since 10m --no-follow\n"
        "  takt events -o json | jq -c 'select(.attempt > 1)'\n");
    events->callback([options, &context] {
        context.exit =
            WithClient(options->client, [&](Client& client) { return Events(client, *options); });
    });
}

}  // namespace takt::internal::cli
