// Why no worker takes an execution, and what a worker itself is doing.
#include <algorithm>
#include <string>

#include "engine/engine.h"
#include "engine/explain.h"

namespace takt::internal {
namespace {

bool Lists(const std::vector<Text>& names, const Text& name) {
    return names.empty() || std::ranges::binary_search(names, name);
}

std::string InBrackets(const std::string& why) {
    return why.empty() ? "" : " (" + why + ")";
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

std::string Listed(const std::vector<Text>& names) {
    std::string text;
    for (const Text& name : names) text += (text.empty() ? "" : ", ") + name.str();
    return text;
}

// The demands of a lane that one worker meets.
struct Fit {
    bool type = false;
    bool queue = false;
    bool executor = false;
    bool labels = false;

    int met() const { return type + queue + executor + labels; }
};

Fit FitOf(const Worker& worker, const Lane& lane) {
    return {.type = Lists(worker.types, lane.type),
            .queue = Lists(worker.queues, lane.queue->name),
            .executor = lane.target.empty() || lane.target == worker.group ||
                        lane.target == worker.id.text(),
            .labels = std::ranges::includes(worker.labels, lane.labels)};
}

// Somebody meets each demand, and nobody all: tells of a worker that lacks just one thing.
Explanation NearMiss(const Worker& worker, const Fit& fit, const Lane& lane) {
    const std::string id = worker.id.text().str();
    const std::string who = "worker " + Quoted(worker.id.text());
    const Text& queue = lane.queue->name;
    if (!fit.queue) {
        return Explanation{
            "near_miss_queue",
            who + " could run it, but serves only " + Listed(worker.queues) +
                "; start a worker with --queues " + queue.str(),
            {{"worker", id}, {"serves", Listed(worker.queues)}, {"queue", queue.str()}}};
    }
    if (!fit.type) {
        return Explanation{"near_miss_type",
                           who + " could take it, but does not run the type " + Quoted(lane.type),
                           {{"worker", id}, {"type", lane.type.str()}}};
    }
    if (!fit.labels) {
        return Explanation{"near_miss_labels",
                           who + " could run it, but does not carry all of " + Listed(lane.labels) +
                               "; start a worker with these labels",
                           {{"worker", id}, {"labels", Listed(lane.labels)}}};
    }
    return Explanation{
        "near_miss_executor",
        who + " could run it, but is not the executor " + Quoted(lane.target) + " that it asks for",
        {{"worker", id}, {"executor", lane.target.str()}}};
}

}  // namespace

std::string Quoted(const Text& text) {
    return "'" + text.str() + "'";
}

std::string Counted(std::uint64_t count, std::string_view noun) {
    return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

Explanation ExplainUnserved(const Lane& lane,
                            const std::map<Text, std::unique_ptr<Slot>, std::less<>>& workers) {
    if (workers.empty()) {
        // A worker that left in order is forgotten: whether there ever was one nobody knows.
        return Explanation{"no_worker", "no worker is connected; start one with: takt worker"};
    }
    Fit any;
    const Worker* nearest = nullptr;
    Fit nearest_fit;
    for (const auto& [id, slot] : workers) {
        const Fit fit = FitOf(slot->row, lane);
        any.type |= fit.type;
        any.queue |= fit.queue;
        any.executor |= fit.executor;
        any.labels |= fit.labels;
        // A worker of the right type is nearer than one of the right queue.
        const bool nearer = !nearest || fit.met() > nearest_fit.met() ||
                            (fit.met() == nearest_fit.met() && fit.type && !nearest_fit.type);
        if (!nearer) continue;
        nearest = &slot->row;
        nearest_fit = fit;
    }
    const Text& queue = lane.queue->name;
    if (!any.type) {
        return Explanation{"no_worker_for_type",
                           "no worker runs tasks of the type " + Quoted(lane.type),
                           {{"type", lane.type.str()}}};
    }
    if (!any.queue) {
        return Explanation{"no_worker_for_queue",
                           "no worker serves the queue " + Quoted(queue) +
                               "; start a worker with --queues " + queue.str(),
                           {{"queue", queue.str()}}};
    }
    if (!any.executor) {
        return Explanation{"no_executor",
                           "there is no executor " + Quoted(lane.target),
                           {{"executor", lane.target.str()}}};
    }
    if (!any.labels) {
        return Explanation{
            "no_worker_with_labels",
            "no worker carries all the labels that it asks for: " + Listed(lane.labels),
            {{"labels", Listed(lane.labels)}}};
    }
    if (nearest_fit.met() == 3) return NearMiss(*nearest, nearest_fit, lane);
    return Explanation{"no_worker_for_all",
                       "no worker meets all that it asks for (type, queue, labels, executor)",
                       {{"type", lane.type.str()}, {"queue", queue.str()}}};
}

Explanation ExplainPool(const Lane& lane) {
    std::size_t taking = 0;
    std::uint64_t busy = 0;  // Of the places of those.
    std::uint64_t places = 0;
    std::size_t stopping = 0;
    const Slot* broken = nullptr;  // The executor that is tried soonest.
    for (const Slot* slot : lane.crew().members()) {
        if (slot->session == 0 || slot->row.status != WorkerStatus::kOnline) continue;
        if (!slot->load.draining) {
            ++taking;
            busy += slot->busy();
            places += slot->row.capacity;
        } else if (slot->load.tried_at == Time{}) {
            ++stopping;
        } else if (!broken || slot->load.tried_at < broken->load.tried_at) {
            broken = slot;
        }
    }
    if (taking > 0) {
        const Queue& queue = *lane.queue;
        const std::size_t others = queue.waiting > 0 ? queue.waiting - 1 : 0;
        return Explanation{
            "workers_full",
            (taking == 1 ? "the only worker that could run it is busy ("
                         : "all " + Counted(taking, "worker") + " that could run it are busy (") +
                std::to_string(busy) + " of " + Counted(places, "place") + " taken); " +
                Counted(others, "other") + (others == 1 ? " waits" : " wait") + " in queue " +
                Quoted(queue.name),
            {{"workers", taking},
             {"running", busy},
             {"capacity", places},
             {"waiting", others},
             {"queue", queue.name.str()}}};
    }
    if (broken) {
        const std::string at = FormatTime(broken->load.tried_at);
        const std::string why = broken->load.trouble.str();
        return Explanation{"circuit_open",
                           "calls to executor " + Quoted(broken->row.id.text()) + " keep failing" +
                               InBrackets(why) + "; it is tried again at " + at,
                           {{"worker", broken->row.id.text().str()}, {"at", at}, {"why", why}}};
    }
    if (stopping > 0) {
        return Explanation{"worker_stopping",
                           Counted(stopping, "worker") + " that could run it " +
                               (stopping == 1 ? "is" : "are") +
                               " stopping and taking nothing new; start another one",
                           {{"workers", stopping}}};
    }
    return Explanation{
        "workers_away",
        Counted(lane.crew().members().size(), "worker") +
            " could run it, but none is online (offline, draining or in maintenance)",
        {{"workers", lane.crew().members().size()}}};
}

// Why a worker gets nothing, or no more than it has; nothing if there is no such worker.
std::optional<Explanation> Engine::ExplainWorker(const WorkerId& id) const {
    const auto found = workers_.find(id.text());
    if (found == workers_.end()) return std::nullopt;
    const Slot& slot = *found->second;
    const std::string since = FormatTime(slot.row.seen_at);
    const std::string reason = slot.row.status_reason.str();
    const std::string because = reason.empty() ? "" : " (" + reason + ")";
    switch (slot.row.status) {
        case WorkerStatus::kOffline:
            if (slot.row.seen_at == Time{}) {
                return Explanation{"worker_unheard",
                                   "it is offline; no scheduler has heard of it since the leader "
                                   "changed" +
                                       because,
                                   {{"reason", reason}}};
            }
            return Explanation{"worker_offline",
                               "it is offline; last seen at " + since + because,
                               {{"since", since}, {"reason", reason}}};
        case WorkerStatus::kMaintenance:
            return Explanation{"worker_maintenance",
                               "it is in maintenance" + because +
                                   " and gets nothing new until an operator puts it back",
                               {{"reason", reason}}};
        case WorkerStatus::kDraining:
            return Explanation{"worker_draining",
                               "it is draining" + because + ": it finishes " +
                                   Counted(slot.hand.size(), "attempt") + " and gets nothing new",
                               {{"running", slot.hand.size()}, {"reason", reason}}};
        case WorkerStatus::kOnline:
            break;
    }
    if (slot.session == 0) {
        return Explanation{"worker_disconnected",
                           "its connection is gone; it is declared offline unless it comes back "
                           "within its lease",
                           {{"running", slot.hand.size()}}};
    }
    if (slot.load.tried_at != Time{}) {
        const std::string at = FormatTime(slot.load.tried_at);
        const std::string why = slot.load.trouble.str();
        return Explanation{
            "worker_circuit_open",
            "calls to it keep failing" + InBrackets(why) + "; it is tried again at " + at,
            {{"at", at}, {"why", why}}};
    }
    if (slot.load.draining) {
        return Explanation{"worker_leaving",
                           "it is stopping: it finishes " + Counted(slot.hand.size(), "attempt") +
                               " and takes nothing new",
                           {{"running", slot.hand.size()}}};
    }
    if (!slot.can_take) {
        return Explanation{"worker_full",
                           "it is busy: " + std::to_string(slot.busy()) + " of " +
                               std::to_string(slot.row.capacity) + " places are taken",
                           {{"running", slot.busy()}, {"capacity", slot.row.capacity}}};
    }
    return Explanation{"worker_idle",
                       "it has room (" + std::to_string(slot.busy()) + " of " +
                           std::to_string(slot.row.capacity) +
                           " places are taken), and nothing that it may run waits",
                       {{"running", slot.busy()}, {"capacity", slot.row.capacity}}};
}

}  // namespace takt::internal
