#include "engine/lanes.h"

#include <algorithm>

#include "base/check.h"
#include "base/failpoint.h"

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

void Lane::Add(Live& live, bool back) {
    const std::size_t priority = live.row.task->priority;
    back ? waiting[priority].PutBack(live) : waiting[priority].PushBack(live);
    live.waits = Waits::kWorker;
    priorities |= 1u << priority;
}

void Lane::Remove(Live& live) {
    const std::size_t priority = live.row.task->priority;
    waiting[priority].Remove(live);
    live.waits = Waits::kNothing;
    if (waiting[priority].empty()) priorities &= ~(1u << priority);
}

void Lane::Show(Line& line) {
    const Execution& first = line.waiting.front()->row;
    lines[line.priority].Set(line, first.ready_at, first.serial);
    lines_priorities |= 1u << line.priority;
}

void Lane::Hide(Line& line) {
    lines[line.priority].Remove(line);
    if (lines[line.priority].empty()) lines_priorities &= ~(1u << line.priority);
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

Lane::Front Lane::front(Time now, Duration ageing) const {
    auto top = 31u - static_cast<unsigned>(__builtin_clz(priorities | lines_priorities));
    if (TAKT_MUTANT("engine.least_urgent_first")) {
        top = static_cast<unsigned>(__builtin_ctz(priorities | lines_priorities));
    }
    Front best{FirstOf(top), top};
    if (ageing <= Duration(0)) return best;
    best.urgency = INT64_MIN;
    for (std::size_t priority = 0; priority <= kPriorityMax; ++priority) {
        Live* first = FirstOf(priority);
        if (!first) continue;
        const Front front = FrontOf(*first, now, ageing);
        // At equal urgency the one that was more urgent from the start.
        if (front.urgency >= best.urgency) best = front;
    }
    return best;
}

Lane::Front Lane::FrontOf(Live& live, Time now, Duration ageing) {
    const std::int64_t priority = live.row.task->priority;
    if (ageing <= Duration(0)) return {&live, priority};
    return {&live, priority + std::max(now - live.row.ready_at, Duration(0)) / ageing};
}

bool Lane::MoreUrgent(const Front& a, const Front& b) {
    if (a.urgency != b.urgency) return a.urgency > b.urgency;
    return std::pair(a.live->row.ready_at, a.live->row.serial) <
           std::pair(b.live->row.ready_at, b.live->row.serial);
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
        lane->queue->lanes.push_back(lane.get());
        found = lanes_.emplace(key_, std::move(lane)).first;
        made = true;
    }
    last_ = found->second.get();
    return *last_;
}

}  // namespace takt::internal
