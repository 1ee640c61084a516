#include "base/failpoint.h"
#include "sim/actors.h"
#include "sim/sim_push.h"

#include <algorithm>
#include <utility>

namespace takt::internal::sim {

// A process that stops waits so long for the answers to its calls.
constexpr Micros kCallsWait = 2s;
constexpr Micros kCallsLook = 50ms;

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

SimNode::SimNode(Cluster& cluster, SimHost& host)
    : cluster_(cluster), host_(host), name_(cluster.Of(host.name())) {
    host.Add(*this);
}

SimNode::~SimNode() = default;

void SimNode::Begin() {
    NodeConfig config = cluster_.config;
    config.leadership.node = NodeId(Text(host_.name()));
    config.commons = host_.commons_;
    if (cluster_.web) {
        config.leadership.address = Text("http://" + SimPush::HostOf(host_.name()));
        push_ = std::make_unique<SimPush>(cluster_, host_.name(), *host_.runtime_, *host_.store_,
                                          host_.process);
    }
    node_ = std::make_unique<Node>(*host_.runtime_, *host_.store_, config,
                                   SeedOf(cluster_.world.Below(UINT64_MAX)), this,
                                   host_.presence_.get());
    if (push_) push_->Bind(*node_);
    node_->Start();
}

void SimNode::Stop(Action done) {
    if (!push_) return node_->Stop(std::move(done));
    node_->Stop([this, done = std::move(done)]() mutable {
        AwaitCalls(cluster_.world.now() + kCallsWait, std::move(done));
    });
}

void SimNode::AwaitCalls(Steady until, Action done) {
    if (!push_->link().keeps_calls() || cluster_.world.now() >= until) return done();
    cluster_.world.After(kCallsLook, process(), [this, until, done = std::move(done)]() mutable {
        AwaitCalls(until, std::move(done));
    });
}

// REQUIRES: its process is gone.
void SimNode::End() {
    node_.reset();
    push_.reset();
    role_ = Role::kFollower;
    // The operating system closes what the process had open; the other side may not hear of it.
    for (const auto& [session, connection] : std::exchange(connections, {})) {
        cluster_.Cut(connection, false, cluster_.world.Chance(0.8));
    }
}

void SimNode::Ask(Input input, Done<Answer> done) {
    if (!running()) return done(internal::Fail(ErrorCode::kUnavailable, "connection refused"));
    if (TAKT_MUTANT("links.answer_for_another") && host_.nodes().front()->leads()) {
        return host_.nodes().front()->node_->Ask(std::move(input), std::move(done));
    }
    node_->Ask(std::move(input), std::move(done));
}

ConnectionPtr SimNode::Find(SessionId session) const {
    const auto found = connections.find(session);
    return found == connections.end() ? nullptr : found->second;
}

void SimNode::Accept(const ConnectionPtr& connection, const Worker& worker,
                     std::vector<AttemptRef> holding) {
    if (!leads()) {
        std::string leader;
        if (const auto row = running() ? node_->status().leader : std::nullopt) {
            leader = row->node.text().str();
        }
        return cluster_.ToWorker(
            connection, [connection, leader](SimWorker& w) { w.OnRefused(connection, leader); });
    }
    if (TAKT_MUTANT("links.forget_hands")) holding.clear();
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
    if (push_) push_->OnRole(role);
    if (role == Role::kLeader) return;
    // Sent on their way behind all that they were told before.
    for (const auto& [session, connection] : std::exchange(connections, {})) {
        if (connection->cut) continue;
        cluster_.ToWorker(connection, [connection](SimWorker& worker) {
            connection->cut = true;
            worker.OnClosed(connection);
        });
    }
}

void SimNode::Release(const Effects& effects) {
    std::map<std::pair<ExecutionId, std::uint32_t>, Time> decided;
    for (const Event& event : effects.events) {
        if (event.type == EventType::kTaskScheduled && !effects.assigns.empty()) {
            decided[{event.execution, event.attempt}] = event.at;
        }
    }
    cluster_.checker.policies.OnRelease(effects, [this](SessionId session) {
        const ConnectionPtr connection = Find(session);
        return connection && !connection->cut;
    });
    for (const Assign& assign : effects.assigns) {
        const Time at = decided[{assign.execution.id, assign.execution.attempt}];
        cluster_.checker.policies.OnAssign(assign, at, cluster_.config.engine);
        cluster_.world.Note(name_, "assigns", assign.execution.id.view(), assign.execution.attempt);
        cluster_.checker.OnAssign(assign.execution, {.at = at,
                                                     .batch_began = effects.begun_at,
                                                     .ahead = host_.AheadSince(effects.begun_at)});
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
        const bool pushed =
            push_ && cluster_.executor_checker->Has(TokenText(verdict.attempt.token));
        if (!pushed) cluster_.checker.OnVerdict(verdict.attempt, verdict.accepted);
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
    if (push_) push_->link().Release(effects);
}

std::vector<SettingPut> SimNode::LeaveWord(Parting why) {
    return push_ ? push_->link().LeaveWord(why) : std::vector<SettingPut>();
}

void SimNode::OnHandOverFailed() {
    if (push_) push_->link().OnHandOverFailed();
}

}  // namespace takt::internal::sim
