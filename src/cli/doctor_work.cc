#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "cli/doctor.h"
#include "cli/output.h"

namespace takt::internal::cli {
namespace {

bool ListFits(const boost::json::value& worker, std::string_view list, const std::string& name) {
    const auto names = ListMember(worker, list);
    return names.empty() || std::ranges::any_of(names, [&](const boost::json::value* one) {
               return one->is_string() && (one->get_string() == name || one->get_string() == "*");
           });
}

bool HasLabels(const boost::json::value& worker, const boost::json::value& task) {
    const auto* wanted = FindMember(task, "labels");
    const auto* labels = FindMember(worker, "labels");
    if (!wanted || !wanted->is_object()) return true;
    return std::ranges::all_of(wanted->get_object(), [&](const auto& label) {
        const auto* has = labels ? FindMember(*labels, label.key()) : nullptr;
        return has && *has == label.value();
    });
}

// The fleet of a namespace, and its executors, which are workers that are called.
using Fleet = std::vector<const boost::json::value*>;

bool SomebodyRuns(const Fleet& fleet, const boost::json::value& task) {
    const std::string queue = Member(task, "queue");
    const std::string executor = Member(task, "executor");
    return std::ranges::any_of(fleet, [&](const boost::json::value* worker) {
        if (Member(*worker, "status") == "offline") return false;
        if (!executor.empty() && Member(*worker, "group") != executor) return false;
        return ListFits(*worker, "types", Member(task, "type")) &&
               ListFits(*worker, "queues", queue.empty() ? "default" : queue) &&
               HasLabels(*worker, task);
    });
}

// The first type of it that nobody runs; of a workflow, of its steps.
std::string UnrunnableType(const Fleet& fleet, const boost::json::value& task) {
    const auto steps = ListMember(task, "steps");
    for (const auto* step : steps) {
        const bool called = !Member(*step, "type").empty();
        if (called && !SomebodyRuns(fleet, *step)) return Member(*step, "type");
    }
    return steps.empty() && !SomebodyRuns(fleet, task) ? Member(task, "type") : std::string();
}

Result<void> CheckTasks(Client& client, const Fleet& fleet, Checkup& checkup) {
    std::string cursor;
    std::size_t seen = 0;
    std::size_t stuck = 0;
    do {
        const auto page =
            client.Get(WithQuery("/api/v1/tasks", {{"limit", "1000"}, {"cursor", cursor}}));
        if (!page) return std::unexpected(page.error());
        for (const auto* task : ListMember(page->value, "items")) {
            if (Member(*task, "enabled") == "false") continue;
            ++seen;
            const std::string type = UnrunnableType(fleet, *task);
            if (type.empty() || ++stuck > kCheckupLines) continue;
            checkup.Warn("tasks",
                         Member(*task, "id") + ": no worker could run its type '" + type + "'",
                         "takt describe task " + Member(*task, "id"));
        }
        cursor = Member(page->value, "next_cursor");
    } while (!cursor.empty());
    if (stuck > kCheckupLines) {
        checkup.Warn("tasks", fmt::format("{} more that nobody could run", stuck - kCheckupLines),
                     "start workers with their types");
    }
    if (stuck == 0) {
        checkup.Ok("tasks", fmt::format("recurring ones that some worker could run: {}", seen));
    }
    return {};
}

Result<void> CheckQueues(Client& client, Checkup& checkup) {
    const auto queues = client.Get("/api/v1/queues");
    if (!queues) return std::unexpected(queues.error());
    std::size_t well = 0;
    for (const auto* queue : ListMember(queues->value, "items")) {
        const std::string name = Member(*queue, "name");
        if (NumberMember(*queue, "waiting") == 0 || Member(*queue, "paused") == "true") {
            ++well;
            continue;
        }
        const auto why = client.Get(PathOf("queues", name, "explain"));
        if (!why) return std::unexpected(why.error());
        if (Member(why->value, "code") != "queue_unserved") {
            ++well;
            continue;
        }
        checkup.Bad("queues", name + ": " + Member(why->value, "explanation"),
                    "start a worker for it, or takt describe queue " + name);
    }
    checkup.Ok("queues", fmt::format("served, paused or empty: {}", well));
    return {};
}

Result<void> CheckExecutors(Client& client, Checkup& checkup) {
    const auto executors = client.Get("/api/v1/executors");
    if (!executors) return std::unexpected(executors.error());
    for (const auto* executor : ListMember(executors->value, "items")) {
        if (Member(*executor, "circuit") != "open") continue;
        const auto* health = executor->as_object().if_contains("health");
        checkup.Bad("executors",
                    Member(*executor, "id") + ": calls to it keep failing: " +
                        (health ? Member(*health, "last_failure") : std::string()),
                    "takt describe executor " + Member(*executor, "id"));
    }
    return {};
}

}  // namespace

Result<void> CheckFleet(Client& client, Checkup& checkup) {
    const auto workers = client.Get("/api/v1/workers");
    if (!workers) return std::unexpected(workers.error());
    const Fleet fleet = ListMember(workers->value, "items");
    const auto online = std::ranges::count_if(fleet, [](const boost::json::value* worker) {
        return Member(*worker, "status") != "offline";
    });
    const auto offline = std::ssize(fleet) - online;
    const std::string said = fmt::format("{} online, {} offline", online, offline);
    if (online == 0) {
        checkup.Bad("workers", said, "start one: takt worker --server URL");
    } else if (offline > 0) {
        checkup.Warn("workers", said,
                     "takt workers lists them; takt workers remove ID forgets one");
    } else {
        checkup.Ok("workers", said);
    }
    if (auto checked = CheckExecutors(client, checkup); !checked) return checked;
    if (auto checked = CheckQueues(client, checkup); !checked) return checked;
    return CheckTasks(client, fleet, checkup);
}

Result<void> CheckAlerts(Client& client, Checkup& checkup) {
    const auto alerts = client.Get("/api/v1/alerts?state=firing");
    if (!alerts) return std::unexpected(alerts.error());
    const auto firing = ListMember(alerts->value, "items");
    for (std::size_t i = 0; i < std::min(firing.size(), kCheckupLines); ++i) {
        checkup.Warn("alerts", Member(*firing[i], "rule") + ": " + Member(*firing[i], "message"),
                     "takt alerts");
    }
    if (firing.empty()) checkup.Ok("alerts", "none is firing");
    return {};
}

}  // namespace takt::internal::cli
