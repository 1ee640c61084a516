// Engine::Explain: why an execution is where it is.
#include "engine/explain.h"

#include <algorithm>
#include <string>

#include "engine/engine.h"

namespace takt::internal {
namespace {

using Workers = std::map<Text, std::unique_ptr<Slot>, std::less<>>;

std::string Quoted(const Text& text) {
    return "'" + text.str() + "'";
}

// "disk=ssd, region=eu"
std::string Listed(const Pairs& pairs) {
    std::string text;
    for (const auto& [name, value] : pairs) {
        if (!text.empty()) text += ", ";
        text += name.str() + "=" + value.str();
    }
    return text;
}

// Why nobody serves the lane: names the first demand that no worker meets.
Explanation NobodyServes(const Lane& lane, const Workers& workers) {
    if (workers.empty()) return Explanation{"no_worker", "no worker has ever connected"};
    const auto any = [&](auto fits) {
        return std::ranges::any_of(workers,
                                   [&](const auto& entry) { return fits(entry.second->row); });
    };
    const auto lists = [](const std::vector<Text>& names, const Text& name) {
        return names.empty() || std::ranges::binary_search(names, name);
    };
    if (!any([&](const Worker& worker) { return lists(worker.types, lane.type); })) {
        return Explanation{"no_worker_for_type",
                           "no worker runs tasks of the type " + Quoted(lane.type),
                           {{"type", lane.type.str()}}};
    }
    const Text& queue = lane.queue->name;
    if (!any([&](const Worker& worker) { return lists(worker.queues, queue); })) {
        return Explanation{"no_worker_for_queue",
                           "no worker serves the queue " + Quoted(queue),
                           {{"queue", queue.str()}}};
    }
    if (!lane.target.empty() && !any([&](const Worker& worker) {
            return lane.target == worker.group || lane.target == worker.id.text();
        })) {
        return Explanation{"no_executor",
                           "there is no executor " + Quoted(lane.target),
                           {{"executor", lane.target.str()}}};
    }
    if (!any([&](const Worker& worker) {
            return std::ranges::includes(worker.labels, lane.labels);
        })) {
        return Explanation{"no_worker_with_labels",
                           "no worker carries all the labels that it asks for",
                           {{"labels", Listed(lane.labels)}}};
    }
    return Explanation{"no_worker_for_all",
                       "no worker meets all that it asks for (type, queue, labels, executor)",
                       {{"type", lane.type.str()}, {"queue", queue.str()}}};
}

// What is in a hand, or has a time that has not come.
std::optional<Explanation> ExplainStatus(const Execution& row, Time now) {
    const Text& worker = row.worker.text();
    if (row.status == Status::kScheduled) {
        return Explanation{
            "sent",
            "sent to worker " + Quoted(worker) + ", which has not said that it began",
            {{"worker", worker.str()}}};
    }
    if (row.status == Status::kRunning) {
        const std::string since = FormatTime(row.started_at);
        return Explanation{"running",
                           "runs on worker " + Quoted(worker) + " since " + since,
                           {{"worker", worker.str()}, {"since", since}}};
    }
    const std::string at = FormatTime(row.ready_at);
    if (row.status == Status::kRetrying) {
        return Explanation{
            "retry",
            "attempt " + std::to_string(row.attempt) + " failed; the next one is at " + at,
            {{"attempt", row.attempt}, {"at", at}}};
    }
    if (row.ready_at > now) return Explanation{"not_due", "its time is " + at, {{"at", at}}};
    return std::nullopt;
}

// What waits for its turn, or under a limit that is reached.
Explanation ExplainHeld(const Live& live, const Hold* limit) {
    if (live.waits == Waits::kTurn) {
        return Explanation{"previous_run", "waits for the previous run of its task to finish"};
    }
    if (limit && !limit->has_permit()) {
        return Explanation{
            "concurrency_limit",
            "its concurrency limit of " + std::to_string(limit->permits_max) + " is reached",
            {{"limit", limit->permits_max}}};
    }
    // Others that share the key may have had the last word on it.
    const RateLimit& rate = limit ? limit->pace.limit() : live.row.task->opt().rate;
    const std::string per = FormatDuration(rate.per);
    return Explanation{
        "rate_limit",
        "its rate limit of " + std::to_string(rate.count) + " per " + per + " is reached",
        {{"count", rate.count}, {"per", per}}};
}

// What the queue itself keeps from starting.
std::optional<Explanation> ExplainQueue(const Lane& lane) {
    const Queue& queue = *lane.queue;
    const QueueLimits& limits = queue.limits;
    const std::string name = queue.name.str();
    if (limits.paused) {
        return Explanation{
            "queue_paused", "queue " + Quoted(queue.name) + " is paused", {{"queue", name}}};
    }
    if (limits.working_max > 0 && queue.working >= limits.working_max) {
        return Explanation{"queue_limit",
                           "queue " + Quoted(queue.name) + " runs as many as it may (" +
                               std::to_string(limits.working_max) + ")",
                           {{"queue", name}, {"limit", limits.working_max}}};
    }
    if (limits.rate.count > 0 && lane.free > 0) {
        return Explanation{"queue_rate_limit",
                           "the rate limit of queue " + Quoted(queue.name) + " is reached",
                           {{"queue", name},
                            {"count", limits.rate.count},
                            {"per", FormatDuration(limits.rate.per)}}};
    }
    return std::nullopt;
}

// Some workers serve the lane, and none of them takes it.
Explanation ExplainPool(const Lane& lane) {
    const std::size_t online = std::size_t(std::ranges::count_if(lane.pool, [](const Slot* slot) {
        return slot->session != 0 && slot->row.status == WorkerStatus::kOnline;
    }));
    if (online == 0) {
        return Explanation{"workers_away",
                           std::to_string(lane.pool.size()) +
                               " workers could run it, but none is online (offline, "
                               "draining or in maintenance)",
                           {{"workers", lane.pool.size()}}};
    }
    const Queue& queue = *lane.queue;
    const std::size_t others = queue.waiting - 1;
    return Explanation{"workers_full",
                       "all " + std::to_string(online) + " workers that could run it are busy; " +
                           std::to_string(others) + " others wait in queue " + Quoted(queue.name),
                       {{"workers", online}, {"waiting", others}, {"queue", queue.name.str()}}};
}

}  // namespace

std::optional<Explanation> Engine::Explain(const ExecutionId& id, Instant now) const {
    const Live* live = FindLive(id);
    if (!live) return std::nullopt;
    if (auto explained = ExplainStatus(live->row, now.wall)) return explained;
    const Hold* limit = holds_.FindLimit(*live->row.task);
    if (live->waits == Waits::kTurn || (live->waits == Waits::kLimit && limit && !limit->open)) {
        return ExplainHeld(*live, limit);
    }
    const Lane& lane = *live->lane;
    if (auto explained = ExplainQueue(lane)) return explained;
    return lane.pool.empty() ? NobodyServes(lane, workers_) : ExplainPool(lane);
}

}  // namespace takt::internal
