#include "cli/fleet_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <cstdio>
#include <vector>

#include "model/namespace.h"

namespace takt::internal::cli {
namespace {

std::string Joined(const boost::json::value& value, std::string_view name) {
    std::string out;
    for (const auto* item : ListMember(value, name)) {
        if (const auto* text = item->if_string()) {
            out += (out.empty() ? "" : ",") + std::string(*text);
        }
    }
    return out.empty() ? "*" : Clean(out, 40);
}

std::string LabelsText(const boost::json::value& worker) {
    const auto* labels = FindMember(worker, "labels");
    if (!labels || !labels->is_object() || labels->get_object().empty()) return "-";
    std::string out;
    for (const auto& label : labels->get_object()) {
        out += (out.empty() ? "" : ",") + std::string(label.key()) + "=" +
               Member(*labels, label.key());
    }
    return Clean(out, 60);
}

std::string Percent(double fraction) {
    return fmt::format("{:.0f}%", 100 * fraction);
}

}  // namespace

Table WorkerTable(const boost::json::value& page) {
    Table table({"ID", "STATUS", "RUNNING", "CPU", "MEMORY", "TYPES", "QUEUES", "VERSION", "SEEN"},
                {"NAME", "LABELS", "WEIGHT", "GROUP", "JOINED", "REASON"});
    for (const auto* worker : ListMember(page, "items")) {
        std::string status = Member(*worker, "status");
        // Killed a moment ago, or cut off: its lease has not run out yet.
        if (status != "offline" && Member(*worker, "connected") == "false") status = "disconnected";
        const auto* load = FindMember(*worker, "load");
        // Every process uses some memory; whoever reports none has never said.
        const bool known = load && NumberMember(*load, "memory") > 0;
        table.Add(
            {Member(*worker, "id"), Cell(status, ColourOf(status)),
             Member(*worker, "running") + "/" + Member(*worker, "capacity"),
             known ? Percent(NumberMember(*load, "cpu")) : "-",
             known ? Percent(NumberMember(*load, "memory")) : "-", Joined(*worker, "types"),
             Joined(*worker, "queues"), Clean(Member(*worker, "version"), 20),
             ShortTime(Member(*worker, "seen_at"))},
            {Clean(Member(*worker, "name"), 30), LabelsText(*worker), Member(*worker, "weight"),
             Member(*worker, "group"), ShortTime(Member(*worker, "joined_at")),
             Clean(Member(*worker, "status_reason"), 60)});
    }
    return table;
}

Table ExecutorTable(const boost::json::value& page) {
    Table table({"ID", "NAME", "STATUS", "RUNNING", "CIRCUIT", "TYPES", "URL", "SEEN", "REASON"});
    const auto or_dash = [](std::string text) { return text.empty() ? "-" : text; };
    for (const auto* executor : ListMember(page, "items")) {
        const std::string status = Member(*executor, "status");
        table.Add({Member(*executor, "id"), Clean(Member(*executor, "name"), 30),
                   Cell(status, ColourOf(status)),
                   Member(*executor, "running") + "/" + Member(*executor, "capacity"),
                   or_dash(Member(*executor, "circuit")), Joined(*executor, "types"),
                   Clean(Member(*executor, "base_url"), 60),
                   ShortTime(Member(*executor, "seen_at")),
                   or_dash(Clean(Member(*executor, "status_reason"), 60))});
    }
    return table;
}

Table QueueTable(const boost::json::value& page) {
    Table table({"QUEUE", "STATE", "WAITING", "WORKING", "FINISHED", "PER SECOND", "OLDEST",
                 "CONCURRENCY", "RATE"});
    for (const auto* queue : ListMember(page, "items")) {
        const bool paused = Member(*queue, "paused") == "true";
        const std::string oldest = Member(*queue, "oldest_wait_seconds");
        const std::string most = Member(*queue, "concurrency_max");
        const std::string speed = Member(*queue, "finished_per_second");
        const auto* rate = FindMember(*queue, "rate_limit");
        table.Add(
            {Member(*queue, "name"), paused ? Cell("paused", Colour::kYellow) : Cell("active"),
             Member(*queue, "waiting"), Member(*queue, "working"), Member(*queue, "finished"),
             speed.empty() ? "-"
                           : fmt::format("{:.1f}", NumberMember(*queue, "finished_per_second")),
             oldest.empty() ? "-" : ShortDuration(NumberMember(*queue, "oldest_wait_seconds")),
             most.empty() ? "-" : most,
             rate && rate->is_object() ? Member(*rate, "count") + " per " + Member(*rate, "per")
                                       : "-"});
    }
    return table;
}

Result<int> ShowPage(const ClientOptions& options, const Result<ClientAnswer>& page,
                     Table (*table_of)(const boost::json::value&), const char* none) {
    if (!page) return std::unexpected(page.error());
    if (PrintedAsJson(options, *page)) return kOk;
    const Table table = table_of(page->value);
    if (table.empty()) {
        std::fprintf(stderr, "%s\n", none);
    } else {
        table.Print();
    }
    return kOk;
}

Result<int> ShowChange(const ClientOptions& options, const std::string& id,
                       const Result<ClientAnswer>& answer) {
    if (!answer) return std::unexpected(answer.error());
    if (PrintedAsJson(options, *answer)) return kOk;
    const std::string status = Member(answer->value, "status");
    std::printf("%s %s\n", id.c_str(), status.empty() ? "removed" : status.c_str());
    return kOk;
}

std::string StatusText(const boost::json::value& status) {
    const std::string role = Member(status, "role");
    std::string leader = "none; an election is under way, or the store is in trouble";
    if (const std::string why = Member(status, "why_no_leader"); !why.empty()) {
        leader = "none; " + why;
    }
    if (const auto* row = FindMember(status, "leader"); row && row->is_object()) {
        leader = Member(*row, "node_id") + " at " + Member(*row, "address") + ", epoch " +
                 Member(*row, "epoch");
    }
    std::string store = "unknown";
    Colour store_colour = Colour::kNone;
    if (const auto* row = FindMember(status, "store"); row && row->is_object()) {
        store = Member(*row, "description");
        const bool reachable = Member(*row, "reachable") == "true";
        if (const std::string trouble = Member(*row, "trouble"); !reachable || !trouble.empty()) {
            store += (reachable ? ", in trouble: " : ", out of reach: ") + trouble;
            store_colour = Colour::kRed;
        }
    }
    std::string text = Fields({{"node", Member(status, "node_id")},
                               {"role", Cell(role, ColourOf(role))},
                               {"leader", Cell(leader)},
                               {"store", Cell(store, store_colour)},
                               {"version", Member(status, "version")},
                               {"up since", ShortTime(Member(status, "started_at"))}});
    const auto rows = ListMember(status, "nodes");
    // Where there is one namespace, who leads it stands above.
    const bool several = std::ranges::any_of(rows, [](const auto* node) {
        return !ListMember(*node, "leads").empty() && Joined(*node, "leads") != kDefaultNamespace;
    });
    std::vector<std::string> heads = {"NODE", "ADDRESS", "VERSION", "STARTED"};
    if (several) heads.emplace_back("LEADS");
    Table nodes(std::move(heads));
    for (const auto* node : rows) {
        std::vector<Cell> cells = {Member(*node, "node_id"), Member(*node, "address"),
                                   Member(*node, "version"),
                                   ShortTime(Member(*node, "started_at"))};
        if (several) {
            // How many there are is told before a long list is cut.
            const std::size_t count = ListMember(*node, "leads").size();
            cells.emplace_back(count == 0 ? "-"
                                          : std::to_string(count) + ": " + Joined(*node, "leads"));
        }
        nodes.Add(std::move(cells));
    }
    if (!nodes.empty()) text += "\n" + nodes.Text();
    return text;
}

std::string StrategyText(const boost::json::value& strategy) {
    std::string names;
    for (const auto* name : ListMember(strategy, "available")) {
        if (const auto* text = name->if_string()) {
            names += (names.empty() ? "" : ", ") + Clean(std::string_view(*text));
        }
    }
    return Fields({{"strategy", Member(strategy, "strategy")}, {"available", names}});
}

std::string DefaultsText(const boost::json::value& defaults) {
    const auto* object = defaults.if_object();
    const auto* retry = object ? object->if_contains("retry_policy") : nullptr;
    const boost::json::value none;
    const boost::json::value& policy = retry ? *retry : none;
    return fmt::format(
        "strategy    {}\ntimeout     {} for an attempt, unless its task says otherwise\n"
        "retries     {}, the first after {}, unless its task says otherwise\n",
        Member(defaults, "strategy"), Member(defaults, "timeout"), Member(policy, "max_retries"),
        Member(policy, "delay"));
}

std::string MetricsText(const boost::json::value& metrics) {
    return fmt::format(
        "executions  {} pending, {} scheduled, {} running, {} retrying\n"
        "ended       {} success, {} failed, {} cancelled since this scheduler started; {:.1f}/s\n"
        "workers     {} online, {} offline, {} busy\n",
        Member(metrics, "tasks_pending"), Member(metrics, "tasks_scheduled"),
        Member(metrics, "tasks_running"), Member(metrics, "tasks_retrying"),
        Member(metrics, "tasks_completed"), Member(metrics, "tasks_failed"),
        Member(metrics, "tasks_cancelled"), NumberMember(metrics, "task_throughput"),
        Member(metrics, "workers_online"), Member(metrics, "workers_offline"),
        Percent(NumberMember(metrics, "worker_utilization")));
}

}  // namespace takt::internal::cli
