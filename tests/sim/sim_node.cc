#include "sim/actors.h"

#include <algorithm>
#include <utility>

namespace takt::internal::sim {

void Cluster::ToNode(const ConnectionPtr& connection, std::function<void(SimNode&)> deliver) {
    connection->to_node =
        std::max(connection->to_node, world.now() + world.Between(50us, network_max));
    world.After(connection->to_node - world.now(), connection->node_process,
                [connection, deliver = std::move(deliver)] {
                    if (!connection->cut) deliver(*connection->node);
                });
}

void Cluster::ToWorker(const ConnectionPtr& connection, std::function<void(SimWorker&)> deliver) {
    connection->to_worker =
        std::max(connection->to_worker, world.now() + world.Between(50us, network_max));
    world.After(connection->to_worker - world.now(), connection->worker_process,
                [connection, deliver = std::move(deliver)] {
                    if (!connection->cut) deliver(*connection->worker);
                });
}

void Cluster::Cut(const ConnectionPtr& connection, bool node_learns, bool worker_learns) {
    if (connection->cut) return;
    connection->cut = true;
    if (node_learns) {
        world.After(world.Between(50us, network_max), connection->node_process,
                    [connection] { connection->node->Lose(connection); });
    }
    if (worker_learns) {
        world.After(world.Between(50us, network_max), connection->worker_process,
                    [connection] { connection->worker->OnClosed(connection); });
    }
}

SimNode::SimNode(Cluster& cluster, int number)
    : cluster_(cluster), name_("node-" + std::to_string(number)) {}

void SimNode::Start() {
    if (running()) return;
    cluster_.world.Note(name_, "starts");
    process = std::make_shared<Process>();
    runtime_ = std::make_unique<SimRuntime>(cluster_.world, process, wall_offset_);
    store_ = std::make_unique<SimStore>(cluster_.database, process, store_link, *runtime_,
                                        cluster_.config.engine);
    NodeConfig config = cluster_.config;
    config.leadership.node = NodeId(Text(name_));
    node_ = std::make_unique<Node>(*runtime_, *store_, config,
                                   SeedOf(cluster_.world.Below(UINT64_MAX)), this);
    node_->Start();
}

void SimNode::Destroy() {
    process->alive = false;
    node_.reset();
    store_.reset();
    runtime_.reset();
    role_ = Role::kFollower;
    // The operating system closes what the process had open; the other side may not hear of it.
    for (const auto& [session, connection] : std::exchange(connections, {})) {
        cluster_.Cut(connection, false, cluster_.world.Chance(0.8));
    }
}

void SimNode::Crash() {
    if (!running()) return;
    cluster_.world.Note(name_, "crashes");
    Destroy();
}

void SimNode::StopInOrder() {
    if (!running()) return;
    cluster_.world.Note(name_, "stops");
    node_->Stop([this, process = process] {
        cluster_.world.After(Micros(0), nullptr, [this, process] {
            if (process->alive) Destroy();
        });
    });
}

void SimNode::Freeze(Micros time) {
    if (!running()) return;
    cluster_.world.Note(name_, "is frozen for ms", "", std::uint64_t(time.count() / 1000));
    process->frozen_until = cluster_.world.now() + time;
}

void SimNode::SetClock(Duration offset) {
    cluster_.world.Note(name_, "has its clock set");
    clock_set_[cluster_.world.now()] = offset;
    wall_offset_ = offset;
}

// By how much its clock may have been ahead of what it could trust at some moment since `began`: one
// that was set ahead by a minute or more counts for nothing before it has stayed there for an hour.
Duration SimNode::AheadSince(Steady began) const {
    Duration lowest = wall_offset_;
    Duration highest = wall_offset_;
    Duration before{0};
    for (const auto& [at, offset] : clock_set_) {
        // Each offset lasted until the next: the one before counts up to this moment.
        if (at >= began - std::chrono::hours(1)) lowest = std::min({lowest, before, offset});
        if (at >= began) highest = std::max({highest, before, offset});
        before = offset;
    }
    const Duration ahead = highest - lowest;
    return ahead < std::chrono::minutes(1) ? Duration(0) : ahead;
}

void SimNode::Ask(Input input, Done<Answer> done) {
    if (!running()) return done(internal::Fail(ErrorCode::kUnavailable, "connection refused"));
    node_->Ask(std::move(input), std::move(done));
}

ConnectionPtr SimNode::Find(SessionId session) const {
    const auto found = connections.find(session);
    return found == connections.end() ? nullptr : found->second;
}

void SimNode::Accept(const ConnectionPtr& connection, const Worker& worker,
                     std::vector<AttemptRef> holding) {
    if (!leads()) {
        return cluster_.ToWorker(connection,
                                 [connection](SimWorker& w) { w.OnRefused(connection); });
    }
    connections[connection->session] = connection;
    node_->Tell(Attach{connection->session, worker, std::move(holding)});
}

void SimNode::Hear(const ConnectionPtr& connection, Input input) {
    if (!running() || !connections.contains(connection->session)) return;
    if (std::holds_alternative<Heartbeat>(input)) {
        cluster_.ToWorker(connection, [connection](SimWorker& w) { w.OnPong(connection); });
    }
    node_->Tell(std::move(input));
}

void SimNode::Lose(const ConnectionPtr& connection) {
    if (connections.erase(connection->session) == 0 || !running()) return;
    node_->Tell(Detach{connection->session});
}

void SimNode::OnRole(Role role) {
    cluster_.world.Note(name_, Name(role));
    role_ = role;
    if (role == Role::kLeader) return;
    for (const auto& [session, connection] : std::exchange(connections, {})) {
        cluster_.Cut(connection, false, true);
    }
}

void SimNode::Release(const Effects& effects) {
    std::map<std::pair<ExecutionId, std::uint32_t>, Time> decided;
    for (const Event& event : effects.events) {
        if (event.type == EventType::kTaskScheduled) {
            decided[{event.execution, event.attempt}] = event.at;
        }
    }
    for (const Assign& assign : effects.assigns) {
        cluster_.world.Note(name_, "assigns", assign.execution.id.view(), assign.execution.attempt);
        cluster_.checker.OnAssign(assign.execution,
                                  {.at = decided[{assign.execution.id, assign.execution.attempt}],
                                   .batch_began = effects.begun_at,
                                   .ahead = AheadSince(effects.begun_at)});
        const ConnectionPtr connection = Find(assign.session);
        if (!connection) continue;
        cluster_.ToWorker(connection,
                          [connection, assign](SimWorker& w) { w.OnAssign(connection, assign); });
    }
    for (const StopAttempt& stop : effects.stops) {
        const ConnectionPtr connection = Find(stop.session);
        if (!connection) continue;
        cluster_.ToWorker(connection, [connection, ref = stop.attempt](SimWorker& w) {
            w.OnStop(connection, ref);
        });
    }
    for (const Verdict& verdict : effects.verdicts) {
        cluster_.checker.OnVerdict(verdict.attempt, verdict.accepted);
        const ConnectionPtr connection = Find(verdict.session);
        if (!connection) continue;
        cluster_.ToWorker(connection, [connection, ref = verdict.attempt](SimWorker& w) {
            w.OnVerdict(connection, ref);
        });
    }
    for (const LockVerdict& verdict : effects.lock_verdicts) {
        const ConnectionPtr connection = Find(verdict.session);
        if (!connection) continue;
        cluster_.ToWorker(connection, [connection, verdict](SimWorker& w) {
            w.OnLockVerdict(connection, verdict);
        });
    }
    for (const CloseSession& close : effects.closes) {
        const ConnectionPtr connection = Find(close.session);
        if (!connection) continue;
        connections.erase(close.session);
        cluster_.Cut(connection, false, true);
    }
}

}  // namespace takt::internal::sim
