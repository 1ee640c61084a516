// takt top: the scheduler at a glance, refreshed.
#include <unistd.h>

#include <cstdio>
#include <thread>

#include "cli/client.h"
#include "cli/execution_view.h"
#include "cli/fleet_view.h"
#include "cli/output.h"
#include "cli/screen.h"

namespace takt::internal::cli {
namespace {

struct TopOptions {
    ClientOptions client;
    std::string interval = "1s";
    std::size_t count = 0;  // 0: until it is quit; once when not on a terminal.
};

Result<std::string> Snapshot(Client& client) {
    const auto status = client.Get("/api/v1/scheduler/status");
    if (!status) return std::unexpected(status.error());
    const auto metrics = client.Get("/api/v1/metrics");
    if (!metrics) return std::unexpected(metrics.error());
    const auto queues = client.Get("/api/v1/queues");
    if (!queues) return std::unexpected(queues.error());
    const auto workers = client.Get("/api/v1/workers");
    if (!workers) return std::unexpected(workers.error());
    const auto busy = client.Get("/api/v1/executions?status=running,retrying,scheduled&limit=15");
    if (!busy) return std::unexpected(busy.error());

    std::string text = Paint("takt", Colour::kBold) + " " + Member(status->value, "version") + "  ";
    if (const auto* leader = FindMember(status->value, "leader"); leader && leader->is_object()) {
        text += "leader " + Member(*leader, "node_id") + ", epoch " + Member(*leader, "epoch");
    } else {
        text += Paint("no leader", Colour::kRed);
    }
    text += "  " + ShortTime(FormatTime(ReadClocks().wall)) + "\n";
    text += MetricsText(metrics->value);
    const Table queue_table = QueueTable(queues->value);
    if (!queue_table.empty()) text += "\n" + queue_table.Text();
    const Table worker_table = WorkerTable(workers->value);
    if (!worker_table.empty()) text += "\n" + worker_table.Text();
    Table executions = ExecutionTable();
    for (const auto* item : ListMember(busy->value, "items")) AddExecution(executions, *item);
    if (!executions.empty()) text += "\n" + executions.Text();
    return text;
}

// A scheduler that is away for a moment does not end the screen.
void Show(Client& client, Screen& screen) {
    const auto text = Snapshot(client);
    screen.Draw(text ? *text : Paint(text.error().detail, Colour::kRed) + "\n");
}

Result<int> Top(Client& client, const TopOptions& options) {
    const auto interval = ParseDuration(options.interval);
    if (!interval || *interval < Duration(100)) {
        return Fail(ErrorCode::kInvalid, "--interval must be a duration of at least 100ms");
    }
    if (!options.client.json && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)) {
        Screen screen;
        for (std::size_t shown = 0; options.count == 0 || shown < options.count; ++shown) {
            Show(client, screen);
            if (screen.WaitForQuit(*interval)) break;
        }
        return kOk;
    }
    const std::size_t count = options.count == 0 ? 1 : options.count;
    for (std::size_t shown = 0; shown < count; ++shown) {
        if (shown > 0) std::this_thread::sleep_for(*interval);
        if (options.client.json) {
            const auto metrics = client.Get("/api/v1/metrics");
            if (!metrics) return std::unexpected(metrics.error());
            std::printf("%s\n", metrics->body.c_str());
        } else {
            const auto text = Snapshot(client);
            if (!text) return std::unexpected(text.error());
            std::printf("%s%s", shown ? "\n" : "", text->c_str());
        }
        std::fflush(stdout);
    }
    return kOk;
}

}  // namespace

void AddTop(CLI::App& app, Context& context) {
    auto options = std::make_shared<TopOptions>();
    CLI::App* top = app.add_subcommand("top", "Shows queues, workers and what runs, live");
    options->client.formats = false;
    options->client.Add(*top);
    top->add_option("-i,--interval", options->interval, "How often")->capture_default_str();
    top->add_option("-c,--count", options->count,
                    "How many times [until q or ctrl-C; once when not on a terminal]");
    top->footer(
        "examples:\n"
        "  takt top\n"
        "  takt top --count 60 --interval 10s --json >> metrics.ndjson\n");
    top->callback([options, &context] {
        context.exit =
            WithClient(options->client, [&](Client& client) { return Top(client, *options); });
    });
}

}  // namespace takt::internal::cli
