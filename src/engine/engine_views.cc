// The engine's views; see views.h.
#include "engine/engine.h"

namespace takt::internal {
namespace {

WorkerView ViewOf(const Slot& slot) {
    return {.row = slot.row,
            .load = slot.load,
            .session = slot.session,
            .busy = slot.busy(),
            .in_hand = slot.hand.size(),
            .leaving = slot.leaving};
}

QueueView ViewOf(const Queue& queue) {
    QueueView view{.name = queue.name,
                   .limits = queue.limits,
                   .waiting = queue.waiting,
                   .working = queue.working,
                   .finished = queue.finished};
    for (const auto& [number, lane] : queue.lanes) {
        const auto add = [&](const LiveList& list, std::size_t priority, std::size_t count) {
            if (list.empty()) return;
            view.ready[priority] += count;
            const Time since = list.front()->row.ready_at;
            if (view.oldest_ready == Time{} || since < view.oldest_ready) view.oldest_ready = since;
        };
        for (std::size_t priority = 0; priority < lane->waiting.size(); ++priority) {
            add(lane->waiting[priority], priority, lane->waiting[priority].size());
        }
        // Of each line under a limit that is open one may start.
        for (const Line* line : lane->lines) {
            if (line->standing()) add(line->waiting, line->priority, 1);
        }
    }
    return view;
}

TaskView ViewOf(const Recurring& recurring) {
    TaskView view{.row = recurring.row, .runs = {}};
    for (const Live* live : recurring.runs) view.runs.push_back(&live->row);
    return view;
}

}  // namespace

std::optional<QueueView> Engine::FindQueue(const Text& name) const {
    const auto found = lanes_.queues().find(name);
    if (found == lanes_.queues().end()) return std::nullopt;
    return ViewOf(*found->second);
}

std::vector<QueueView> Engine::Queues() const {
    std::vector<QueueView> views;
    for (const auto& [name, queue] : lanes_.queues()) views.push_back(ViewOf(*queue));
    return views;
}

std::optional<WorkerView> Engine::FindWorker(const WorkerId& id) const {
    const auto found = workers_.find(id.text());
    if (found == workers_.end()) return std::nullopt;
    return ViewOf(*found->second);
}

std::vector<WorkerView> Engine::WorkersAfter(const Text& id, std::size_t count_max) const {
    std::vector<WorkerView> views;
    for (auto at = workers_.upper_bound(id); at != workers_.end(); ++at) {
        if (views.size() == count_max) break;
        views.push_back(ViewOf(*at->second));
    }
    return views;
}

std::vector<HeldView> Engine::HandOf(const WorkerId& id) const {
    std::vector<HeldView> hand;
    const auto found = workers_.find(id.text());
    if (found == workers_.end()) return hand;
    for (const Live* live = found->second->hand.front(); live; live = live->next) {
        hand.push_back({.execution = live->row,
                        .timeout = TimeoutOf(*live->row.task),
                        .locks = TokensOf(*live)});
    }
    return hand;
}

const ProgressView* Engine::FindProgress(const ExecutionId& id) const {
    const Live* live = FindLive(id);
    return live ? outputs_.FindProgress(live->row) : nullptr;
}

std::optional<TaskView> Engine::FindTask(const TaskId& id) const {
    const auto found = tasks_.find(id.text());
    if (found == tasks_.end()) return std::nullopt;
    return ViewOf(*found->second);
}

void Engine::ForEachAwaited(Time until, std::size_t count_max,
                            const std::function<void(const TaskView&)>& visit) const {
    for (const Recurring* due : fires_.FirstUntil(until, count_max)) visit(ViewOf(*due));
    // Tasks whose due times cannot be found are tried again later than they were due.
    awaited_.ForEach(until, count_max, [&](const Recurring& late) { visit(ViewOf(late)); });
}

std::vector<TaskRow> Engine::NextFires(std::size_t count_max) const {
    std::vector<TaskRow> rows;
    for (const Recurring* recurring : fires_.First(count_max)) rows.push_back(recurring->row);
    return rows;
}

}  // namespace takt::internal
