#include "engine/lanes.h"

#include "base/check.h"

namespace takt {
namespace {

bool Fits(const Lane& lane, const Task& task) {
    const TaskOptions& options = task.opt();
    return lane.type == task.type && lane.queue->name == task.queue &&
           lane.executor == options.executor && lane.labels == options.labels;
}

}  // namespace

void Lane::Add(Live& live) {
    const std::size_t priority = live.row.task->priority;
    waiting[priority].PushBack(live);
    priorities |= 1u << priority;
}

void Lane::Remove(Live& live) {
    const std::size_t priority = live.row.task->priority;
    waiting[priority].Remove(live);
    if (waiting[priority].empty()) priorities &= ~(1u << priority);
}

Queue& Lanes::QueueOf(const Text& name) {
    if (const auto found = queues_.find(name); found != queues_.end()) return *found->second;
    auto queue = std::make_unique<Queue>();
    queue->name = name;
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
    part(options.executor);
    for (const auto& [name, value] : options.labels) {
        part(name);
        part(value);
    }
    auto found = lanes_.find(key_);
    if (found == lanes_.end()) {
        auto lane = std::make_unique<Lane>();
        lane->queue = &QueueOf(task.queue);
        lane->type = task.type;
        lane->executor = options.executor;
        lane->labels = options.labels;
        lane->number = ++made_;
        found = lanes_.emplace(key_, std::move(lane)).first;
        made = true;
    }
    last_ = found->second.get();
    return *last_;
}

}  // namespace takt
