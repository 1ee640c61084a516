// Limits: how many at once, how many in a time, how many of a kind.
//
// An execution passes up to two gates before its lane: its task's (sequential mode: one at a time,
// kept until it is finished) and a named one (concurrency and rate, kept while an attempt goes on).
// Its queue may be closed too; then it waits in its lane.
#include <utility>

#include "base/check.h"
#include "engine/engine.h"

namespace takt::internal {
namespace {

// Without a key of its own a limit is for the task; one-off tasks share it by their name. Keys that
// users send have no control characters, so these never meet theirs.
Text GateKeyOf(const Task& task) {
    const TaskOptions& options = task.opt();
    if (!options.concurrency_key.empty()) return options.concurrency_key;
    return task.recurring() ? Text("\x01task/" + task.id.text().str())
                            : Text("\x01name/" + task.name.str());
}

bool Limited(const TaskOptions& options) {
    return options.concurrency_max > 0 || options.rate.count > 0;
}

}  // namespace

// Whether the execution may go on to its lane. If not, it waits in front of the gate that is shut.
bool Engine::Enter(Live& live) {
    while (Gate* gate = GateHolding(live)) {
        if (!gate->waiting.empty() || !gate->Open(now_.steady)) {
            gate->waiting.PushBack(live);
            live.held = true;
            if (gate->pace.limited() && !gate->pace.Ready(now_.steady)) {
                gate_paces_.Set(*gate, gate->pace.ReadyAt(), gate->order);
            }
            return false;
        }
        Pass(live, *gate);
    }
    return true;
}

// The gate that the execution has to pass next; null if there is none.
Gate* Engine::GateHolding(Live& live) {
    if (live.recurring && !live.took_turn && !live.forced) return live.recurring->turns.get();
    return live.took_room ? nullptr : NamedGateOf(*live.row.task);
}

// The named gate of the task if there is one already; null otherwise.
Gate* Engine::FindGate(const Task& task) const {
    const auto found = gates_.find(GateKeyOf(task));
    return found == gates_.end() ? nullptr : found->second.get();
}

void Engine::Pass(Live& live, Gate& gate) {
    ++gate.inside;
    gate.pace.Spend();
    (gate.key.empty() ? live.took_turn : live.took_room) = true;
}

Gate* Engine::NamedGateOf(const Task& task) {
    if (!Limited(task.opt())) return nullptr;
    const Text key = GateKeyOf(task);
    auto& gate = gates_[key];
    if (!gate) {
        gate = std::make_unique<Gate>();
        gate->key = key;
        gate->order = ++gates_made_;
    }
    Say(*gate, task);
    return gate.get();
}

// The latest word on the limits counts, whoever passes or leaves later: whoever raises a limit
// wants it raised for those who wait, too.
void Engine::Say(Gate& gate, const Task& task) {
    if (task.updated_at < gate.said_at) return;
    const TaskOptions& options = task.opt();
    gate.said_at = task.updated_at;
    if (gate.inside_max == options.concurrency_max && gate.pace.limit() == options.rate) return;
    gate.inside_max = options.concurrency_max;
    gate.pace.Set(options.rate, now_.steady);
    if (!gate.waiting.empty()) gate_paces_.Set(gate, now_.steady, gate.order);
}

// A recurring task was put, or a new leader found it: its limits count for those of its runs that
// wait by an older word, also if it has none any more. Nobody without a limit has a word on a key
// that others may share.
void Engine::SayLimits(const Task& task) {
    if (gates_.empty() || (!Limited(task.opt()) && !task.opt().concurrency_key.empty())) return;
    if (Gate* gate = FindGate(task)) Say(*gate, task);
}

// Whoever waits is let through at the end of the step, when all else is settled.
void Engine::LeaveGate(Gate& gate) {
    TAKT_CHECK(gate.inside > 0);
    --gate.inside;
    if (!gate.waiting.empty()) {
        gate_paces_.Set(gate, now_.steady, gate.order);
    } else if (gate.inside == 0 && !gate.key.empty() && !gate.pace.limited()) {
        gate_paces_.Remove(gate);
        gates_.erase(Text(gate.key));
    }
}

// Lets through whoever waits, as far as the gate allows.
void Engine::OpenGate(Gate& gate) {
    gate_paces_.Remove(gate);
    while (!gate.waiting.empty() && gate.Open(now_.steady)) {
        if (draft_.Tired()) return gate_paces_.Set(gate, now_.steady, gate.order);
        Live& live = *gate.waiting.front();
        gate.waiting.Remove(live);
        live.held = false;
        const bool last = gate.waiting.empty();
        Pass(live, gate);
        MakeReady(live);
        // One whose time is over ends at once, and a gate that nobody needs any more ends with it.
        if (last) return;
    }
    if (!gate.waiting.empty() && gate.pace.limited() && !gate.pace.Ready(now_.steady)) {
        gate_paces_.Set(gate, gate.pace.ReadyAt(), gate.order);
    }
}

// Gives what waits in a queue that is open to workers that have room.
void Engine::StartFromQueue(Queue& queue) {
    queue_paces_.Remove(queue);
    while (queue.Open(now_.steady)) {
        Lane* best = nullptr;
        Lane::Front front;
        for (Lane* lane : queue.lanes) {
            if (lane->empty() || lane->free == 0) continue;
            const Lane::Front other = lane->front(now_.wall, config_.ageing);
            if (best && !Lane::MoreUrgent(other, front)) continue;
            best = lane;
            front = other;
        }
        if (!best) return;
        if (draft_.Tired()) return queue_paces_.Set(queue, now_.steady, queue.number);
        if (EndIfExpired(*front.live)) continue;
        GiveTo(*front.live, chooser_.Choose(front.live->row, *best));
    }
    if (queue.pace.limited() && !queue.pace.Ready(now_.steady)) {
        queue_paces_.Set(queue, queue.pace.ReadyAt(), queue.number);
    }
}

// Forgets the gates that nobody is in or waits for and whose pace is at rest.
void Engine::CleanGates() {
    std::erase_if(gates_, [&](auto& entry) {
        Gate& gate = *entry.second;
        if (gate.inside > 0 || !gate.waiting.empty() || !gate.pace.Full(now_.steady)) return false;
        gate_paces_.Remove(gate);
        return true;
    });
}

}  // namespace takt::internal
