// Why a recurring task does not run, and why what waits in a queue does not start.
#include <algorithm>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/explain.h"

namespace takt::internal {
namespace {

// The run that has waited longest; null if none waits.
const Live* OldestWaiting(const Recurring& recurring) {
    const Live* oldest = nullptr;
    for (const Live* run : recurring.runs) {
        if (!IsWaiting(run->row.status)) continue;
        if (!oldest || run->row.serial < oldest->row.serial) oldest = run;
    }
    return oldest;
}

// Why it does not fire any more, or not now; nothing if it has a next due time.
std::optional<Explanation> ExplainSilence(const Recurring& recurring) {
    const FireState& state = recurring.row.state;
    const Recurrence& recurrence = *recurring.row.task->opt().recurrence;
    if (state.paused) {
        const std::string since = FormatTime(state.paused_at);
        return Explanation{"task_paused",
                           "it is paused since " + since + "; resume it, and it fires again",
                           {{"since", since}}};
    }
    if (recurring.told) {
        return Explanation{"task_unplanned",
                           "its due times cannot be found; the scheduler's log says why"};
    }
    if (state.next_at != Time{}) return std::nullopt;
    if (recurrence.fires_max != 0 && state.fires >= recurrence.fires_max) {
        return Explanation{
            "task_used_up",
            "it has fired " + Counted(state.fires, "time") + ", as often as its fires_max allows",
            {{"count", state.fires}}};
    }
    if (recurrence.every_after_end > Duration(0) && !recurring.runs.empty()) {
        const Text& run = recurring.runs.front()->row.id.text();
        const std::string delay = FormatDuration(recurrence.every_after_end);
        return Explanation{"task_after_run",
                           "it runs again " + delay + " after its run " + Quoted(run) + " ended",
                           {{"run", run.str()}, {"delay", delay}}};
    }
    return Explanation{"task_over", "no due time is left: its end has passed"};
}

// As many as anybody mends at once.
constexpr std::size_t kUnservedMax = 3;

// All of them, for they need a person, who would find the next only when the first is mended.
// REQUIRES: there is one.
Explanation ExplainUnservedLanes(const std::vector<const Lane*>& lanes,
                                 const std::map<Text, std::unique_ptr<Slot>, std::less<>>& workers,
                                 std::uint64_t waiting) {
    std::string sentence;
    for (std::size_t i = 0; i < std::min(lanes.size(), kUnservedMax); ++i) {
        sentence += (i == 0 ? "what waits for type " : "; what waits for type ") +
                    Quoted(lanes[i]->type) +
                    " has no worker: " + ExplainUnserved(*lanes[i], workers).sentence;
    }
    if (lanes.size() > kUnservedMax) {
        sentence += "; and " + std::to_string(lanes.size() - kUnservedMax) + " more";
    }
    return Explanation{
        "queue_unserved",
        std::move(sentence),
        {{"type", lanes.front()->type.str()}, {"others", lanes.size() - 1}, {"waiting", waiting}}};
}

}  // namespace

std::optional<Explanation> Engine::ExplainTask(const TaskId& id, Instant now) const {
    const auto found = tasks_.find(id.text());
    if (found == tasks_.end()) return std::nullopt;
    const Recurring& recurring = *found->second;
    if (const Live* waiting = OldestWaiting(recurring)) {
        const Text& run = waiting->row.id.text();
        const auto why = Explain(waiting->row.id, now);
        return Explanation{"task_run_waits",
                           "its run " + Quoted(run) + " waits: " + (why ? why->sentence : ""),
                           {{"run", run.str()}}};
    }
    if (auto silence = ExplainSilence(recurring)) return silence;
    const FireState& state = recurring.row.state;
    const std::string at = FormatTime(state.next_at);
    if (state.last_at == Time{}) {
        return Explanation{
            "task_first", "it has not fired yet; the first time is " + at, {{"at", at}}};
    }
    const std::string since = FormatTime(state.last_at);
    return Explanation{"task_next",
                       "it fires next at " + at + "; the last due time was " + since,
                       {{"at", at}, {"since", since}}};
}

std::optional<Explanation> Engine::ExplainQueue(const Text& name) const {
    const auto found = lanes_.queues().find(name);
    if (found == lanes_.queues().end()) return std::nullopt;
    const Queue& queue = *found->second;
    if (queue.limits.paused) {
        return Explanation{"queue_is_paused",
                           "it is paused; " + Counted(queue.waiting, "execution") +
                               (queue.waiting == 1 ? " waits" : " wait"),
                           {{"waiting", queue.waiting}}};
    }
    if (queue.waiting == 0) {
        return Explanation{"queue_empty",
                           "nothing waits in it; " + std::to_string(queue.working) + " at work",
                           {{"working", queue.working}}};
    }
    if (queue.limits.working_max > 0 && queue.working >= queue.limits.working_max) {
        return Explanation{"queue_at_limit",
                           "it runs as many as it may (" + std::to_string(queue.working) + "); " +
                               Counted(queue.waiting, "execution") + " to come",
                           {{"limit", queue.limits.working_max}, {"waiting", queue.waiting}}};
    }
    // Lanes in which something is ready: those without workers first, they need a person.
    std::vector<const Lane*> unserved;
    const Lane* served = nullptr;
    for (const auto& [number, lane] : queue.lanes) {
        if (lane->empty()) continue;
        if (lane->crew().members().empty()) {
            unserved.push_back(lane);
        } else {
            served = lane;
        }
    }
    if (!unserved.empty()) return ExplainUnservedLanes(unserved, workers_, queue.waiting);
    if (!served) {
        return Explanation{"queue_not_ready",
                           Counted(queue.waiting, "execution") + " in it " +
                               (queue.waiting == 1 ? "waits" : "wait") +
                               " for a time, a turn or a limit; explain one of them",
                           {{"waiting", queue.waiting}}};
    }
    if (served->crew().free() > 0 && queue.limits.rate.count > 0) {
        const std::string per = FormatDuration(queue.limits.rate.per);
        return Explanation{
            "queue_at_rate",
            "it starts as many as it may (" + std::to_string(queue.limits.rate.count) + " per " +
                per + "); " + Counted(queue.waiting, "execution") + " to come",
            {{"count", queue.limits.rate.count}, {"per", per}, {"waiting", queue.waiting}}};
    }
    return Explanation{"queue_busy",
                       Counted(queue.waiting, "execution") +
                           (queue.waiting == 1 ? " waits" : " wait") +
                           " for workers: " + ExplainPool(*served).sentence,
                       {{"waiting", queue.waiting}, {"working", queue.working}}};
}

}  // namespace takt::internal
