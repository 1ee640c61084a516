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

void SimNode::Ask(Input input, Done<Answer> done, std::uint64_t lock_token) {
    if (!running()) return done(internal::Fail(ErrorCode::kUnavailable, "connection refused"));
    // As src/api/locks.cc has it.
    const std::uint64_t epoch = lock_token >> 32;
    if (leads() && epoch > node_->status().epoch) {
        node_->NoteEpoch(epoch);
        return done(internal::Fail(ErrorCode::kUnavailable, "a later term gave a higher token"));
    }
    done = [this, process = process(), done = std::move(done)](Result<Answer> answer) mutable {
        const bool misled = process->alive && is_misled();
        done(misled ? internal::Fail(ErrorCode::kUnknown, "connection reset") : std::move(answer));
    };
    if (TAKT_MUTANT("links.answer_for_another") && host_.nodes().front()->leads()) {
        return host_.nodes().front()->node_->Ask(std::move(input), std::move(done));
    }
    node_->Ask(std::move(input), std::move(done));
}

ConnectionPtr SimNode::Find(SessionId session) const {
    const auto found = connections.find(session);
    return found == connections.end() ? nullptr : found->second;
}

// As src/links/stream_session.cc has it: a worker that has seen a later term knows better. One that saw
// another term of the same epoch has, too: the store has lost that one.
bool SimNode::IsOlderThan(const Greeting& greeting) {
    const NodeStatus status = node_->status();
    const bool lost = greeting.epoch_seen > 0 && greeting.epoch_seen == status.epoch &&
                      status.leader && greeting.nonce_seen != status.leader->nonce;
    const std::uint64_t latest = greeting.epoch_seen + (lost ? 1 : 0);
    if (latest <= status.epoch || TAKT_MUTANT("links.forget_epochs")) return false;
    node_->NoteEpoch(latest);
    return true;
}

void SimNode::Accept(const ConnectionPtr& connection, Greeting greeting) {
    if ((running() && IsOlderThan(greeting)) || !leads()) {
        std::string leader;
        if (const auto row = running() ? node_->status().leader : std::nullopt) {
            leader = row->node.text().str();
        }
        return cluster_.ToWorker(
            connection, [connection, leader](SimWorker& w) { w.OnRefused(connection, leader); });
    }
    if (TAKT_MUTANT("links.forget_hands")) greeting.holding.clear();
    cluster_.checker.handlers.OnHeard(greeting.worker.id.text().str());
    connections[connection->session] = connection;
    const LeaderRow row = node_->status().leader.value();
    cluster_.ToWorker(connection, [connection, row](SimWorker& w) {
        w.OnWelcome(connection, {row.partition, row.epoch, row.nonce});
    });
    node_->Tell(
        Attach{connection->session, greeting.worker, std::move(greeting.holding), greeting.load});
}

void SimNode::Hear(const ConnectionPtr& connection, Input input) {
    if (!running() || !connections.contains(connection->session)) return;
    if (std::holds_alternative<Heartbeat>(input)) {
        cluster_.checker.handlers.OnHeard(connection->worker->name());
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
    if (elected()) nonce_ = node_->status().leader.value().nonce;
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

void SimNode::CheckEffects(const Effects& effects) {
    std::map<std::pair<ExecutionId, std::uint32_t>, Time> decided;
    for (const Event& event : effects.events) {
        if (event.type == EventType::kTaskScheduled && !effects.assigns.empty()) {
            decided[{event.execution, event.attempt}] = event.at;
        }
    }
    Checker& checker = cluster_.checker;
    checker.policies.OnRelease(effects, [this](SessionId session) {
        const ConnectionPtr connection = Find(session);
        return connection && !connection->cut;
    });
    checker.logs.OnRelease(effects);
    for (const Assign& assign : effects.assigns) {
        const Time at = decided[{assign.execution.id, assign.execution.attempt}];
        checker.policies.OnAssign(assign, at, cluster_.config.engine);
        checker.OnAssign(assign.execution,
                         {.at = at,
                          .batch_began = effects.begun_at,
                          .ahead = host_.AheadSince(effects.begun_at)},
                         cluster_.config.engine);
    }
    for (const Verdict& verdict : effects.verdicts) {
        const bool pushed =
            push_ && cluster_.executor_checker->Has(TokenText(verdict.attempt.token));
        if (!pushed) checker.OnVerdict(verdict.attempt, verdict.accepted);
    }
}

void SimNode::Release(const Effects& effects) {
    if (!is_misled()) CheckEffects(effects);
    for (const Assign& assign : effects.assigns) {
        cluster_.world.Note(name_, "assigns", assign.execution.id.view(), assign.execution.attempt);
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
