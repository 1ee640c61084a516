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
    const std::int64_t rank = ageing > Duration(0)
                                  ? (row.ready_at.time_since_epoch() - priority * ageing).count()
                                  : -priority;
    return {rank, row.ready_at, row.serial};
}

Urgency Line::urgency() const {
    return UrgencyOf(waiting.front()->row, lane->ageing);
}

void Lane::Rank() {
    empty() ? bay->ready.Remove(*this) : bay->ready.Set(*this, urgency(), 0);
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

void Lane::Show(Line& line) {
    const Execution& first = line.waiting.front()->row;
    lines[line.priority].Set(line, first.ready_at, first.serial);
    lines_priorities |= 1u << line.priority;
    Rank();
}

void Lane::Hide(Line& line) {
    lines[line.priority].Remove(line);
    if (lines[line.priority].empty()) lines_priorities &= ~(1u << line.priority);
    Rank();
}

Live* Lane::FirstOf(std::size_t priority) const {
    Live* first = waiting[priority].front();
    if ((lines_priorities >> priority & 1) == 0) return first;
    Live* other = lines[priority].next()->waiting.front();
    if (!first) return other;
    const auto age = [](const Live* live) {
        return std::pair(live->row.ready_at, live->row.serial);
    };
    return age(other) < age(first) ? other : first;
}

Live* Lane::front() const {
    auto top = 31u - static_cast<unsigned>(__builtin_clz(priorities | lines_priorities));
    if (TAKT_MUTANT("engine.least_urgent_first")) {
        top = static_cast<unsigned>(__builtin_ctz(priorities | lines_priorities));
    }
    Live* best = FirstOf(top);
    if (ageing <= Duration(0)) return best;
    // At equal urgency the one that was more urgent from the start.
    for (std::size_t priority = top; priority-- > 0;) {
        Live* first = FirstOf(priority);
        if (first && UrgencyOf(first->row, ageing).rank < UrgencyOf(best->row, ageing).rank) {
            best = first;
        }
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
        lane->queue->lanes.push_back(lane.get());
        found = lanes_.emplace(key_, std::move(lane)).first;
        made = true;
    }
    last_ = found->second.get();
    return *last_;
}

}  // namespace takt::internal
