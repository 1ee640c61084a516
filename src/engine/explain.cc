// Engine::Explain: why an execution is where it is.
#include "engine/explain.h"

#include <algorithm>
#include <string>

#include "engine/engine.h"

namespace takt::internal {
namespace {

std::string Quoted(const Text& text) {
    return "'" + text.str() + "'";
}

// Why nobody serves the lane: names the first demand that no worker meets.
Explanation NobodyServes(const Lane& lane,
                         const std::map<Text, std::unique_ptr<Slot>, std::less<>>& workers) {
    if (workers.empty()) return {"no_worker", "no worker has ever connected"};
    const auto any = [&](auto fits) {
        return std::ranges::any_of(workers,
                                   [&](const auto& entry) { return fits(entry.second->row); });
    };
    const auto lists = [](const std::vector<Text>& names, const Text& name) {
        return names.empty() || std::ranges::binary_search(names, name);
    };
    if (!any([&](const Worker& worker) { return lists(worker.types, lane.type); })) {
        return {"no_worker_for_type", "no worker runs tasks of the type " + Quoted(lane.type)};
    }
    if (!any([&](const Worker& worker) { return lists(worker.queues, lane.queue->name); })) {
        return {"no_worker_for_queue", "no worker serves the queue " + Quoted(lane.queue->name)};
    }
    if (!lane.executor.empty() && !any([&](const Worker& worker) {
            return lane.executor == worker.group || lane.executor == worker.id.text();
        })) {
        return {"no_executor", "there is no executor " + Quoted(lane.executor)};
    }
    if (!any([&](const Worker& worker) {
            return std::ranges::includes(worker.labels, lane.labels);
        })) {
        return {"no_worker_with_labels", "no worker carries all the labels that it asks for"};
    }
    return {"no_worker", "no worker meets all that it asks for (type, queue, labels, executor)"};
}

}  // namespace

std::optional<Explanation> Engine::Explain(const ExecutionId& id, Instant now) const {
    Live* live = FindLive(id);
    if (!live) return std::nullopt;
    const Execution& row = live->row;
    const Lane& lane = *live->lane;
    Queue& queue = *lane.queue;
    if (row.status == Status::kScheduled) {
        return Explanation{"sent", "sent to worker " + Quoted(row.worker.text()) +
                                       ", which has not said that it began"};
    }
    if (row.status == Status::kRunning) {
        return Explanation{"running", "runs on worker " + Quoted(row.worker.text()) + " since " +
                                          FormatTime(row.started_at)};
    }
    if (row.status == Status::kRetrying) {
        return Explanation{"retry", "attempt " + std::to_string(row.attempt) +
                                        " failed; the next one is at " + FormatTime(row.ready_at)};
    }
    if (row.ready_at > now.wall) {
        return Explanation{"not_due", "its time is " + FormatTime(row.ready_at)};
    }
    if (live->held) {
        if (live->recurring && !live->took_turn && !live->forced) {
            return Explanation{"previous_run", "waits for the previous run of its task to finish"};
        }
        const TaskOptions& options = row.task->opt();
        const Gate* gate = FindGate(*row.task);
        if (gate && gate->inside_max > 0 && gate->inside >= gate->inside_max) {
            return Explanation{
                "concurrency_limit",
                "its concurrency limit of " + std::to_string(gate->inside_max) + " is reached"};
        }
        return Explanation{"rate_limit", "its rate limit of " + std::to_string(options.rate.count) +
                                             " per " + FormatDuration(options.rate.per) +
                                             " is reached"};
    }
    if (queue.limits.paused) {
        return Explanation{"queue_paused", "queue " + Quoted(queue.name) + " is paused"};
    }
    if (queue.limits.working_max > 0 && queue.working >= queue.limits.working_max) {
        return Explanation{"queue_limit", "queue " + Quoted(queue.name) +
                                              " runs as many as it may (" +
                                              std::to_string(queue.limits.working_max) + ")"};
    }
    if (queue.limits.rate.count > 0 && lane.free > 0) {
        return Explanation{"queue_rate_limit",
                           "the rate limit of queue " + Quoted(queue.name) + " is reached"};
    }
    if (lane.pool.empty()) return NobodyServes(lane, workers_);
    const auto online = std::ranges::count_if(lane.pool, [](const Slot* slot) {
        return slot->session != 0 && slot->row.status == WorkerStatus::kOnline;
    });
    if (online == 0) {
        return Explanation{"workers_away",
                           std::to_string(lane.pool.size()) +
                               " workers could run it, but none is online (offline, "
                               "draining or in maintenance)"};
    }
    return Explanation{"workers_full", "all " + std::to_string(online) +
                                           " workers that could run it are busy; " +
                                           std::to_string(queue.waiting - 1) +
                                           " others wait in queue " + Quoted(queue.name)};
}

}  // namespace takt::internal
