// takt stats: what ran, how well and how long.
#include <fmt/core.h>

#include <cstdio>

#include "cli/client.h"
#include "cli/filter_flag.h"
#include "cli/moment_flag.h"
#include "cli/output.h"

namespace takt::internal::cli {
namespace {

struct StatsOptions {
    ClientOptions client;
    std::string by = "day";
    std::string task, type;
    TimeWindow ended;
    bool csv = false;
};

std::string Milliseconds(const boost::json::value& line, std::string_view part,
                         std::string_view name) {
    const auto* group = FindMember(line, part);
    const auto* value = group ? FindMember(*group, name) : nullptr;
    if (!value || !value->is_number()) return "-";
    const double ms = value->to_number<double>();
    return ms < 10'000 ? fmt::format("{:.0f}ms", ms) : fmt::format("{:.1f}s", ms / 1000);
}

Result<int> ShowStats(Client& client, const StatsOptions& options) {
    const auto page =
        client.Get(WithQuery("/api/v1/statistics", {{"by", options.by},
                                                    {"from", options.ended.since},
                                                    {"to", options.ended.until},
                                                    {"task_id", options.task},
                                                    {"type", options.type},
                                                    {"format", options.csv ? "csv" : ""}}));
    if (!page) return std::unexpected(page.error());
    if (options.csv || options.client.json) {
        std::printf("%s%s", page->body.c_str(), options.csv ? "" : "\n");
        return kOk;
    }
    Table table({"KEY", "NAME", "TOTAL", "SUCCESS", "FAILED", "CANCELLED", "SKIPPED", "MISSED",
                 "RETRIES", "RATE", "P50", "P95", "P99", "WAIT P95"});
    for (const auto* line : ListMember(page->value, "items")) {
        const auto* rate = FindMember(*line, "success_rate");
        const bool has_rate = rate && rate->is_number();
        const bool failed = NumberMember(*line, "failed") > 0;
        table.Add(
            {Clean(Member(*line, "key"), 40), Clean(Member(*line, "name"), 30),
             Member(*line, "total"), Member(*line, "success"),
             Cell(Member(*line, "failed"), failed ? Colour::kRed : Colour::kNone),
             Member(*line, "cancelled"), Member(*line, "skipped"), Member(*line, "missed"),
             Member(*line, "retries"),
             has_rate ? fmt::format("{:.1f}%", rate->to_number<double>() * 100) : "-",
             Milliseconds(*line, "duration", "p50_ms"), Milliseconds(*line, "duration", "p95_ms"),
             Milliseconds(*line, "duration", "p99_ms"), Milliseconds(*line, "wait", "p95_ms")});
    }
    if (table.empty()) {
        std::fprintf(stderr, "nothing ran in this time\n");
    } else {
        table.Print();
    }
    return kOk;
}

}  // namespace

void AddStats(CLI::App& app, Context& context) {
    auto options = std::make_shared<StatsOptions>();
    CLI::App* stats = app.add_subcommand("stats", "Statistics: counts, success rate, durations");
    options->client.Add(*stats);
    stats->add_option("--by", options->by, "day, hour, task, type or worker [day]");
    options->ended.Add(*stats, "Ended");
    AddFilter(*stats, "--task", options->task, "Of this task only, with --by day");
    AddFilter(*stats, "--type", options->type, "Of this type only, with --by day or task");
    stats->add_flag("--csv", options->csv, "For a spreadsheet");
    stats->footer(
        "Of the last week, by hour of the last day, unless --since says otherwise.\n"
        "examples:\n"
        "  takt stats\n"
        "  takt stats --since 30d --by type\n"
        "  takt stats --by task --type report\n"
        "  takt stats --by hour --csv > hours.csv\n");
    stats->callback([options, &context] {
        context.exit = WithClient(options->client,
                                  [&](Client& client) { return ShowStats(client, *options); });
    });
}

}  // namespace takt::internal::cli
