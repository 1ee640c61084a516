#include "engine/lanes.h"

#include <algorithm>

#include "base/check.h"
#include "base/failpoint.h"
#include "engine/crew.h"

namespace takt::internal {
namespace {

bool Fits(const Lane& lane, const Task& task) {
    const TaskOptions& options = task.opt();
    return lane.runs == (task.workflow() != nullptr) && lane.type == task.type &&
           lane.queue->name == task.queue && lane.target == options.target &&
           lane.labels == options.labels;
}

}  // namespace

bool Queue::Open(Steady now) {
    return (!limits.paused || TAKT_MUTANT("engine.ignore_pauses")) &&
           (limits.working_max == 0 || TAKT_MUTANT("engine.ignore_queue_max") ||
            working < limits.working_max) &&
           pace.Ready(now);
}

void Queue::Reopen() {
    if (TAKT_MUTANT("engine.keep_queues_shut")) return;
    for (Bay* bay : bays) {
        if (!bay->shut) continue;
        bay->shut = false;
        bay->crew->Rank(*bay);
    }
}

Urgency UrgencyOf(const Execution& row, Duration ageing) {
    const std::int64_t priority = row.task->priority;
    // To have waited longer by `ageing` than another is to gain one priority on it.
    const std::int64_t rank = ageing > Duration(0) && !TAKT_MUTANT("engine.ignore_ageing")
                                  ? (row.ready_at.time_since_epoch() - priority * ageing).count()
                                  : -priority;
    return {rank, row.ready_at, row.serial};
}

Urgency Line::urgency() const {
    return UrgencyOf(waiting.front()->row, lane->ageing);
}

bool Line::standing() const {
    return sheaf->open;
}

void Line::Rank() {
    sheaf->lines.Set(*this, urgency(), 0);
    sheaf->Rank();
}

void Lane::Rank() {
    if (priorities == 0) {
        bay->ready.Remove(*this);
    } else {
        bay->ready.Set(*this, UrgencyOf(first_waiting()->row, ageing), 0);
    }
    bay->crew->Rank(*bay);
}

void Lane::Add(Live& live, bool back) {
    const std::size_t priority = live.row.task->priority;
    back ? waiting[priority].PutBack(live) : waiting[priority].PushBack(live);
    live.waits = Waits::kWorker;
    priorities |= 1u << priority;
    Rank();
}

void Lane::Remove(Live& live) {
    const std::size_t priority = live.row.task->priority;
    waiting[priority].Remove(live);
    live.waits = Waits::kNothing;
    if (waiting[priority].empty()) priorities &= ~(1u << priority);
    Rank();
}

Live* Lane::first_waiting() const {
    auto top = 31u - static_cast<unsigned>(__builtin_clz(priorities));
    if (TAKT_MUTANT("engine.least_urgent_first")) {
        top = static_cast<unsigned>(__builtin_ctz(priorities));
    }
    Live* best = waiting[top].front();
    if (ageing <= Duration(0)) return best;
    // At equal urgency the one that was more urgent from the start.
    for (std::size_t priority = top; priority-- > 0;) {
        Live* first = waiting[priority].front();
        if (first && UrgencyOf(first->row, ageing).rank < UrgencyOf(best->row, ageing).rank) {
            best = first;
        }
    }
    return best;
}

Live* Lane::front() const {
    Live* best = priorities == 0 ? nullptr : first_waiting();
    for (const Line* line : lines) {
        if (!line->standing()) continue;
        if (!best || line->urgency() < UrgencyOf(best->row, ageing)) best = line->waiting.front();
    }
    return best;
}

Queue& Lanes::QueueOf(const Text& name) {
    if (const auto found = queues_.find(name); found != queues_.end()) return *found->second;
    auto queue = std::make_unique<Queue>();
    queue->name = name;
    queue->number = ++queues_made_;
    return *queues_.emplace(name, std::move(queue)).first->second;
}

std::vector<Lane*> Lanes::AimedAt(const Text& target) const {
    std::vector<Lane*> lanes;
    const auto found = aimed_.find(target);
    if (found == aimed_.end()) return lanes;
    for (const auto& [number, lane] : found->second) lanes.push_back(lane);
    return lanes;
}

void Lanes::Erase(Lane& lane) {
    if (last_ == &lane) last_ = nullptr;
    idle_.erase(lane.idle);
    lane.queue->lanes.erase(lane.number);
    if (const auto aimed = aimed_.find(lane.target); aimed != aimed_.end()) {
        aimed->second.erase(lane.number);
        if (aimed->second.empty()) aimed_.erase(aimed);
    }
    lanes_.erase(lanes_.find(*lane.key));
}

Lane& Lanes::For(const Task& task, bool& made) {
    made = false;
    if (last_ && Fits(*last_, task)) return *last_;
    const TaskOptions& options = task.opt();
    // Lengths keep "ab" + "c" and "a" + "bc" apart.
    key_.clear();
    const auto part = [&](std::string_view text) {
        key_ += std::to_string(text.size());
        key_ += ':';
        key_ += text;
    };
    part(task.queue);
    part(task.type);
    part(options.target);
    if (task.workflow()) key_ += "steps";
    for (const auto& [name, value] : options.labels) {
        part(name);
        part(value);
    }
    auto found = lanes_.find(key_);
    if (found == lanes_.end()) {
        auto lane = std::make_unique<Lane>();
        lane->queue = &QueueOf(task.queue);
        lane->type = task.type;
        lane->target = options.target;
        lane->labels = options.labels;
        lane->runs = task.workflow() != nullptr;
        lane->number = ++made_;
        lane->ageing = ageing_;
        lane->queue->lanes.emplace(lane->number, lane.get());
        if (!lane->target.empty()) aimed_[lane->target].emplace(lane->number, lane.get());
        idle_.emplace(lane->idle = ++idled_, lane.get());
        found = lanes_.emplace(key_, std::move(lane)).first;
        found->second->key = &found->first;
        made = true;
    }
    last_ = found->second.get();
    return *last_;
}

}  // namespace takt::internal
