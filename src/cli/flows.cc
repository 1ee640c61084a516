#include "cli/flows.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <thread>

#include "base/json.h"
#include "cli/execution_view.h"
#include "cli/given_file.h"
#include "cli/output.h"
#include "cli/task_flags.h"
#include "definitions/yaml_json.h"

namespace takt::internal::cli {
namespace {

// How often a progress bar is drawn anew.
constexpr std::chrono::milliseconds kLook{500};
constexpr std::size_t kBarWidth = 30;

std::string CountsOf(const boost::json::value& step) {
    const auto* counts = FindMember(step, "executions");
    if (!counts) return "";
    const double done = NumberMember(*counts, "success") + NumberMember(*counts, "failed") +
                        NumberMember(*counts, "cancelled") + NumberMember(*counts, "skipped");
    return std::to_string(static_cast<long>(done)) + "/" + Member(*counts, "total");
}

std::string NamesOf(const boost::json::value& step) {
    std::string names;
    for (const auto* name : ListMember(step, "after")) {
        if (const auto* text = name->if_string()) {
            names += (names.empty() ? "after " : ", ") + std::string(std::string_view(*text));
        }
    }
    return names;
}

// By the name of a step, how many others follow each other before it.
std::map<std::string, std::size_t> DepthsOf(const std::vector<const boost::json::value*>& steps) {
    std::map<std::string, std::size_t> depths;
    // Each pass finds those whose last one before them is known: no more passes than steps.
    for (std::size_t pass = 0; pass < steps.size() && depths.size() < steps.size(); ++pass) {
        for (const auto* step : steps) {
            std::size_t depth = 0;
            bool known = true;
            for (const auto* before : ListMember(*step, "after")) {
                const auto found = depths.find(std::string(std::string_view(*before->if_string())));
                known = known && found != depths.end();
                if (found != depths.end()) depth = std::max(depth, found->second + 1);
            }
            if (known) depths[Member(*step, "name")] = depth;
        }
    }
    return depths;
}

// How far a backfill is, on one line of a terminal.
void DrawBar(const boost::json::value& steps) {
    const auto items = ListMember(steps, "items");
    if (items.empty()) return;
    const auto* counts = FindMember(*items[0], "executions");
    if (!counts) return;
    const double total = std::max(1.0, NumberMember(*counts, "total"));
    const double failed = NumberMember(*counts, "failed") + NumberMember(*counts, "cancelled");
    const double done = NumberMember(*counts, "success") + failed;
    const auto filled = static_cast<std::size_t>(done / total * double(kBarWidth));
    std::fprintf(stderr, "\r[%s%s] %.0f of %.0f, %.0f failed, %.0f running ",
                 std::string(filled, '#').c_str(), std::string(kBarWidth - filled, '.').c_str(),
                 done, total, failed, NumberMember(*counts, "running"));
    std::fflush(stderr);
}

Result<int> Watch(Client& client, const std::string& run, bool json) {
    for (;;) {
        const auto steps = client.Get(PathOf("executions", run, "steps"));
        if (!steps) return std::unexpected(steps.error());
        if (!json) DrawBar(steps->value);
        const std::string status = Member(steps->value, "status");
        if (status != "pending" && status != "running") {
            if (!json) std::fprintf(stderr, "\n%s %s\n", run.c_str(), status.c_str());
            return status == "success" ? kOk : kFailed;
        }
        std::this_thread::sleep_for(kLook);
    }
}

void PrintDue(const boost::json::value& backfill, const BackfillOptions& options) {
    std::printf("%s: %s due times without an execution, %s that have one", options.task.c_str(),
                Member(backfill, "count").c_str(), Member(backfill, "existing").c_str());
    const std::string to_come = Member(backfill, "to_come");
    std::printf(to_come == "0" ? "\n" : ", %s that its schedule is catching up with\n",
                to_come.c_str());
    if (!options.dry_run) return;
    for (const auto* due : ListMember(backfill, "due")) {
        if (const auto* time = due->if_string()) {
            std::printf("  %s UTC\n", ExactTime(std::string_view(*time)).c_str());
        }
    }
    std::printf(
        "nothing was run; executions that retention has deleted are not known and count as "
        "missing\n");
}

Result<int> Validate(Client& client, const FileOptions& options, const std::string& task) {
    const auto answer = client.Post("/api/v1/tasks/validate", task);
    if (!answer) return std::unexpected(answer.error());
    const bool valid = Member(answer->value, "valid") == "true";
    if (options.json) {
        std::printf("%s\n", answer->body.c_str());
        return valid ? kOk : kUsage;
    }
    for (const auto* mistake : ListMember(answer->value, "errors")) {
        const std::string path = Member(*mistake, "path");
        std::fprintf(stderr, "%s%s%s\n", path.c_str(), path.empty() ? "" : ": ",
                     Clean(Member(*mistake, "message"), 1000).c_str());
    }
    if (!valid) {
        std::fprintf(stderr, "%s would be refused; nothing was created\n", options.file.c_str());
        return kUsage;
    }
    const auto depths = DepthsOf(ListMember(answer->value, "steps"));
    Table table({"STEP", "TYPE", "WHEN", ""});
    for (const auto* step : ListMember(answer->value, "steps")) {
        const std::string name = Member(*step, "name");
        const std::string named = Member(*step, "task");
        table.Add({std::string(2 * depths.at(name), ' ') + Clean(name, 60),
                   named.empty() ? Clean(Member(*step, "type"), 40) : "task " + named,
                   Member(*step, "when"), Clean(NamesOf(*step), 80)});
    }
    if (!table.empty()) table.Print();
    std::printf("%s is fine; nothing was created\n", options.file.c_str());
    return kOk;
}

}  // namespace

Result<int> CreateFromFile(Client& client, const FileOptions& options) {
    const auto text = ReadGivenFile(options.file);
    if (!text) return std::unexpected(text.error());
    const auto body = YamlToJson(*text, options.file);
    if (!body) return std::unexpected(body.error());
    if (options.dry_run) return Validate(client, options, *body);
    const auto made = client.Post("/api/v1/tasks", *body);
    if (!made) return std::unexpected(made.error());
    if (options.json) {
        std::printf("%s\n", made->body.c_str());
    } else {
        std::printf("%s %s\n", Member(made->value, "id").c_str(),
                    made->status == 200 ? "was there already" : "created");
    }
    return kOk;
}

std::string StepTree(const boost::json::value& steps) {
    const auto items = ListMember(steps, "items");
    auto depths = DepthsOf(items);
    Table table({"STEP", "STATUS", "DONE", "STARTED", "TOOK", ""});
    for (const auto* item : items) {
        const std::string status = Member(*item, "status");
        const std::string reason = Member(*item, "reason");
        table.Add(
            {std::string(2 * depths[Member(*item, "name")], ' ') + Clean(Member(*item, "name"), 60),
             Cell(status, ColourOf(status)), CountsOf(*item),
             ShortTime(Member(*item, "started_at")),
             TimeBetween(Member(*item, "started_at"), Member(*item, "finished_at")),
             Clean(reason.empty() ? NamesOf(*item) : reason, 80)});
    }
    std::string head = Member(steps, "id") + " " + Member(steps, "status");
    if (const std::string ending = Member(steps, "ending");
        !ending.empty() && Member(steps, "status") == "running") {
        head += ", ending as " + ending;
    }
    return head + "\n" + table.Text();
}

Result<int> RunBackfill(Client& client, const BackfillOptions& options) {
    GivenFields body;
    body.SetText("from", options.due.since);
    if (!options.due.until.empty()) body.SetText("to", options.due.until);
    if (options.parallel_max > 0) body.Set("parallel_max", std::to_string(options.parallel_max));
    if (options.dry_run) body.Set("dry_run", "true");
    const auto answer = client.Post(PathOf("tasks", options.task, "backfill"), body.Body());
    if (!answer) return std::unexpected(answer.error());
    if (options.json) {
        std::printf("%s\n", answer->body.c_str());
    } else {
        PrintDue(answer->value, options);
    }
    const auto* run = FindMember(answer->value, "run");
    if (!run || run->is_null()) return kOk;
    const std::string id = Member(*run, "id");
    if (!options.json) std::printf("run %s\n", id.c_str());
    return options.wait ? Watch(client, id, options.json) : Result<int>(kOk);
}

}  // namespace takt::internal::cli
