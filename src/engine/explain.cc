// Engine::Explain: why an execution is where it is.
#include "engine/explain.h"

#include <algorithm>
#include <string>

#include "engine/engine.h"
#include "engine/run.h"

namespace takt::internal {
namespace {

// An execution in a hand, or with a time that has not come, if there is one.
std::optional<Explanation> ExplainStatus(const Execution& row, std::optional<Time> ready_at) {
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
    if (!ready_at) return std::nullopt;
    const std::string at = FormatTime(*ready_at);
    if (row.status == Status::kRetrying) {
        return Explanation{
            "retry",
            "attempt " + std::to_string(row.attempt) + " failed; the next one is at " + at,
            {{"attempt", row.attempt}, {"at", at}}};
    }
    return Explanation{"not_due", "its time is " + at, {{"at", at}}};
}

// One that has lost workers, and waits until those before it have had their time.
Explanation ExplainTrial(const Execution& row, Time at, std::size_t before) {
    return Explanation{
        "trial",
        "it has lost " + std::to_string(row.losses) +
            " workers and may be what kills them; such executions begin one after the "
            "other, this one, with " +
            std::to_string(before) + " before it, at " + FormatTime(at) + " at the earliest",
        {{"losses", row.losses}, {"at", FormatTime(at)}, {"before", before}}};
}

// The oldest execution of a run of which nothing runs; null if something does, or there is none.
const Live* FirstIfAllWait(const Run& run) {
    const Live* first = nullptr;
    for (const Live* child : run.children) {
        if (run.ending() || !IsWaiting(child->row.status)) return nullptr;
        if (!first || child->row.serial < first->row.serial) first = child;
    }
    return first;
}

// Why one of its executions waits tells more than how far the steps of such a run are.
Explanation ExplainStuck(const Text& child, const Explanation& why) {
    return Explanation{"run_waits",
                       "nothing of it runs; " + Quoted(child) + ": " + why.sentence,
                       {{"execution", child.str()}, {"why", why.sentence}}};
}

// An execution that waits for its turn, or under a limit that is reached.
Explanation ExplainHeld(const Live& live, const Hold* limit, const std::string& holder) {
    if (live.waits == Waits::kTurn) {
        const auto inside = std::ranges::find_if(live.recurring->runs,
                                                 [](const Live* run) { return run->has_turn; });
        const bool known = inside != live.recurring->runs.end();
        const Text run = known ? (*inside)->row.id.text() : Text();
        return Explanation{
            "previous_run",
            "waits for the previous run of its task to finish" + (known ? ": " + run.str() : ""),
            {{"run", run.str()}}};
    }
    if (limit && !limit->has_permit()) {
        return Explanation{"concurrency_limit",
                           "its concurrency limit of " + std::to_string(limit->permits_max) +
                               " is reached" +
                               (holder.empty() ? "" : "; '" + holder + "' holds it"),
                           {{"limit", limit->permits_max}, {"holder", holder}}};
    }
    // Others that share the key may have had the last word on it.
    const RateLimit& rate = limit ? limit->pace.limit() : live.row.task->opt().rate;
    const std::string per = FormatDuration(rate.per);
    return Explanation{
        "rate_limit",
        "its rate limit of " + std::to_string(rate.count) + " per " + per + " is reached",
        {{"count", rate.count}, {"per", per}}};
}

// An execution whose queue starts nothing.
std::optional<Explanation> ExplainClosed(const Lane& lane) {
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
    if (limits.rate.count > 0 && lane.crew().free() > 0) {
        return Explanation{"queue_rate_limit",
                           "the rate limit of queue " + Quoted(queue.name) + " is reached",
                           {{"queue", name},
                            {"count", limits.rate.count},
                            {"per", FormatDuration(limits.rate.per)}}};
    }
    return std::nullopt;
}

}  // namespace

// One of those who have a permit of the limit that the task names; empty if nobody has.
std::string Engine::PermitHolder(const Task& task) const {
    if (!IsLimited(task)) return "";
    const Text key = LimitKeyOf(task);
    const Hold* limit = holds_.FindLimit(task);
    if (limit && !limit->runs.empty()) return limit->runs.front()->row.id.text().str();
    for (const auto& [id, slot] : workers_) {
        for (const Live* live = slot->hand.front(); live; live = live->next) {
            if (live->has_permit && LimitKeyOf(*live->row.task) == key) {
                return live->row.id.text().str();
            }
        }
    }
    return "";
}

std::optional<Explanation> Engine::Explain(const ExecutionId& id, Instant now) const {
    const Live* live = FindLive(id);
    if (!live) return std::nullopt;
    if (IsRun(*live) && live->row.status == Status::kRunning) {
        const Live* first = FirstIfAllWait(*live->flow);
        const auto why = first ? Explain(first->row.id, now) : std::nullopt;
        return why ? ExplainStuck(first->row.id.text(), *why) : ExplainRun(*live->flow);
    }
    if (live->waits == Waits::kPinned) return ExplainPinned(live->row);
    const Hold* limit = holds_.FindLimit(*live->row.task);
    if (auto explained = ExplainLeftover(*live, limit)) return explained;
    if (auto explained = ExplainLocks(*live)) return explained;
    // The time that is written may be that of a clock that was wrong.
    std::optional<Time> ready_at;
    const bool timed = IsWaiting(live->row.status) && live->waits == Waits::kNothing;
    if (timed && live->armed() && due_.TimeOf(*live) > now.wall) ready_at = due_.TimeOf(*live);
    if (ready_at && trials_.IsSuspect(live->row) && live->row.ready_at <= now.wall) {
        const Trials::Line& line = trials_.line();
        const auto place = line.lower_bound(Trials::OrderOf(live->row));
        const auto before = std::size_t(std::distance(line.begin(), place));
        return ExplainTrial(live->row, trials_.PlaceAt(*ready_at, before), before);
    }
    if (auto explained = ExplainStatus(live->row, ready_at)) return explained;
    if (live->waits == Waits::kTurn || (live->waits == Waits::kLimit && limit && !limit->open)) {
        return ExplainHeld(*live, limit, PermitHolder(*live->row.task));
    }
    const Lane& lane = *live->lane;
    if (auto explained = ExplainClosed(lane)) return explained;
    return lane.crew().members().empty() ? ExplainUnserved(lane, workers_) : ExplainPool(lane);
}

}  // namespace takt::internal
