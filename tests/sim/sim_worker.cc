// A worker as docs/worker_protocol.md asks for it: it keeps a result until there is a verdict on
// it, and comes back with all that it holds.
#include <algorithm>
#include <utility>

#include "sim/actors.h"
#include "sim/kinds.h"

namespace takt::internal::sim {

// A worker that hears nothing for so long looks for the leader again.
constexpr Micros kPatience = 3s;
constexpr Micros kBeat = 1s;

SimWorker::SimWorker(Cluster& cluster, int number, std::uint32_t capacity)
    : cluster_(cluster), name_("worker-" + std::to_string(number)), is_first_(number == 1) {
    offer_.id = WorkerId(Text(name_));
    offer_.capacity = capacity;
    cluster_.checker.OnWorker(name_, capacity);
    World& world = cluster.world;
    // The first serves all queues, so that somebody does.
    if (!is_first_ && world.Chance(0.3)) {
        offer_.queues.emplace_back(world.Chance(0.5) ? "default" : "bulk");
    }
    MakeOffer();
    if (!cluster.traits.strategies) return;
    offer_.weight = 1 + std::uint32_t(world.Below(10));
    load_.cpu = float(world.Below(100)) / 100;
    load_.memory = float(world.Below(100)) / 100;
    load_.connections = std::uint32_t(world.Below(6));
    cluster.checker.choices.strategies.OnLoad(name_, load_);
}

// Another process may serve something else, and carry other labels.
void SimWorker::MakeOffer() {
    if (cluster_.traits.kinds) OfferKinds(cluster_.world, is_first_, offer_);
}

void SimWorker::Start() {
    if (up_) return;
    up_ = true;
    ++instance_;
    Note("starts as instance", "", std::uint64_t(instance_));
    if (instance_ > 1 && cluster_.world.Chance(0.3)) MakeOffer();
    offer_.instance = Text(name_ + "." + std::to_string(instance_));
    process_ = std::make_shared<Process>();
    seen_ = {};
    connection_.reset();
    Connect();
    Beat();
}

void SimWorker::Crash() {
    if (!up_) return;
    Note("dies with in hand", "", held_.size());
    up_ = false;
    process_->alive = false;
    held_.clear();
    cluster_.checker.handlers.OnDeath(name_);
    if (connection_) cluster_.Cut(connection_, cluster_.world.Chance(0.7), false);
    connection_.reset();
}

void SimWorker::SayGoodbye() {
    if (!up_ || !connection_) return;
    Note("says goodbye");
    Send(Goodbye{connection_->session});
    // The process ends when its last message is on its way.
    cluster_.world.After(cluster_.network_max * 2, process_, [this] { Crash(); });
}

void SimWorker::Freeze(Micros time) {
    if (!up_) return;
    Note("is frozen for ms", "", std::uint64_t(time.count() / 1000));
    process_->frozen_until = std::max(process_->frozen_until, cluster_.world.now() + time);
}

// --- The connection -----------------------------------------------------------------------------

void SimWorker::ConnectLater() {
    connection_.reset();
    cluster_.world.After(cluster_.world.Between(50ms, 400ms), process_, [this] {
        if (!connection_) Connect();
    });
}

void SimWorker::Connect() {
    std::size_t index = cluster_.world.Below(cluster_.nodes.size());
    if (cluster_.nodes[index].get() == silent_) {
        index = (index + 1) % cluster_.nodes.size();
        silent_ = nullptr;
    }
    for (std::size_t i = 0; i < cluster_.nodes.size(); ++i) {
        if (cluster_.nodes[i]->host().name() == leader_) index = i;
    }
    leader_.clear();
    SimNode& node = *cluster_.nodes[index];
    if (!node.running()) return ConnectLater();
    Note("connects to", node.host().name());
    connection_ = std::make_shared<Connection>();
    connection_->session = ++cluster_.last_session;
    connection_->node = &node;
    connection_->worker = this;
    connection_->node_process = node.process();
    connection_->worker_process = process_;
    heard_ = cluster_.world.now();
    Greeting greeting{offer_, load_, {}, seen_.epoch, seen_.nonce};
    for (const auto& [key, held] : held_) greeting.holding.push_back(held.ref);
    cluster_.ToNode(connection_, [connection = connection_, greeting](SimNode& n) {
        n.Accept(connection, greeting);
    });
    // Results that nobody acknowledged follow at once, and questions that nobody answered.
    for (auto& [key, held] : held_) {
        if (!held.running) SendReport(held);
        if (held.running && held.waits) AskForLock(held);
    }
}

void SimWorker::OnRefused(const ConnectionPtr& connection, const std::string& leader) {
    if (connection != connection_) return;
    Note("is refused and sent to", leader);
    leader_ = leader;
    ConnectLater();
}

void SimWorker::OnWelcome(const ConnectionPtr& connection, const Term& term) {
    if (connection != connection_) return;
    if (term.epoch < seen_.epoch) {
        Note("will not follow epoch", "", term.epoch);
        cluster_.Cut(connection_, true, false);
        return ConnectLater();
    }
    seen_ = term;
}

void SimWorker::OnPong(const ConnectionPtr& connection) {
    if (connection == connection_) Hears();
}

// Thawed after its lease it begins nothing that still lies in its socket.
bool SimWorker::Hears() {
    const Steady before = std::exchange(heard_, cluster_.world.now());
    if (heard_ - before < cluster_.config.engine.worker_lease) return true;
    cluster_.Cut(connection_, true, false);
    ConnectLater();
    return false;
}

void SimWorker::OnClosed(const ConnectionPtr& connection) {
    if (connection == connection_) ConnectLater();
}

void SimWorker::Beat() {
    cluster_.world.After(kBeat, process_, [this] {
        if (connection_ && cluster_.world.now() - heard_ > kPatience) {
            silent_ = connection_->node;
            cluster_.Cut(connection_, cluster_.world.Chance(0.5), false);
            ConnectLater();
        } else if (connection_) {
            Send(Heartbeat{connection_->session, load_});
        }
        Beat();
    });
}

void SimWorker::Send(Input input) {
    if (!connection_) return;
    cluster_.ToNode(connection_, [connection = connection_, input](SimNode& node) {
        node.Hear(connection, input);
    });
}

// --- The work -----------------------------------------------------------------------------------

std::size_t SimWorker::Running() const {
    std::size_t count = 0;
    for (const auto& [key, held] : held_) count += held.running ? 1 : 0;
    return count;
}

void SimWorker::OnAssign(const ConnectionPtr& connection, const Assign& assign) {
    if (connection != connection_ || !Hears()) return;
    const Execution& row = assign.execution;
    const AttemptRef ref{row.id, row.attempt, row.token};
    if (row.epoch < seen_.epoch) return;
    const Key key = KeyOf(ref);
    Note("runs", row.id.view(), row.attempt);
    held_[key] = {.ref = ref};
    cluster_.checker.OnStart(ref, name_, Running(), offer_.capacity);
    cluster_.checker.handlers.OnStart(row, name_);
    cluster_.checker.choices.OnStart(offer_, row);
    cluster_.checker.locks.OnAssign(
        row, assign.locks, [this](const ExecutionId& id) { return cluster_.checker.Find(id); });
    if (cluster_.world.Chance(0.9)) Send(Started{connection_->session, ref});
    if (cluster_.world.Chance(0.15)) {
        held_[key].waits = true;
        held_[key].lock = Text(cluster_.world.Chance(0.5) ? kHandlersLock : kSharedLock);
        AskForLock(held_[key]);
    }
    if (cluster_.world.Chance(0.2)) WriteLater(key);
    // A handler that hangs does not even heed its timeout.
    if (cluster_.world.Chance(cluster_.handler_hangs)) return;
    const bool success = !cluster_.world.Chance(cluster_.handler_fails);
    const Micros takes = cluster_.world.Between(100us, cluster_.handler_max);
    const bool in_time = takes < assign.timeout;
    cluster_.world.After(in_time ? takes : Micros(assign.timeout), process_,
                         [this, key, success, in_time] { End(key, success && in_time); });
}

void SimWorker::AskForLock(const Held& held) {
    Note("asks for lock", held.lock.view());
    Send(AskLock{.session = connection_->session,
                 .attempt = held.ref,
                 .ask = 1,
                 .name = held.lock,
                 .wait = Duration(1'000)});
}

// It has the lock until it lets it go, or ends.
void SimWorker::OnLockVerdict(const ConnectionPtr& connection, const LockVerdict& verdict) {
    if (connection != connection_) return;
    const Key key = KeyOf(verdict.attempt);
    const auto found = held_.find(key);
    if (found == held_.end() || !found->second.running) return;
    Note(verdict.token ? "is given lock" : "is refused lock", verdict.name.view());
    found->second.waits = false;
    if (verdict.token == 0) return;
    cluster_.checker.locks.OnGiven(verdict.attempt.execution, verdict.token);
    if (cluster_.world.Chance(0.7)) DropLockLater(key);
}

void SimWorker::DropLockLater(const Key& key) {
    cluster_.world.After(cluster_.world.Between(1ms, 1s), process_, [this, key] {
        const auto found = held_.find(key);
        if (found == held_.end() || !found->second.running || !connection_) return;
        Send(DropLock{connection_->session, found->second.ref, 1});
    });
}

void SimWorker::End(const Key& key, bool success) {
    const auto found = held_.find(key);
    if (found == held_.end() || !found->second.running) return;
    Note(success ? "succeeds" : "fails", std::get<0>(key), std::get<1>(key));
    found->second.running = false;
    found->second.success = success;
    cluster_.checker.OnEnd(found->second.ref, success);
    cluster_.checker.handlers.OnEnd(found->second.ref);
    SendReport(found->second);
}

void SimWorker::SendReport(Held& held) {
    if (!connection_) return;
    SendLines(held);
    auto outcome = boost::intrusive_ptr<Outcome>(new Outcome);
    outcome->reason = held.success ? Reason::kNone : Reason::kHandlerFailed;
    // Its result tells who did it when, for whoever is given it.
    if (held.success) {
        outcome->data = Text("[\"" + held.ref.execution.text().str() + "\"," +
                             std::to_string(held.ref.attempt) + "]");
    }
    Send(Report{connection_->session, held.ref, held.success, true, outcome});
}

void SimWorker::OnStop(const ConnectionPtr& connection, const AttemptRef& attempt) {
    if (connection != connection_) return;
    const Key key = KeyOf(attempt);
    const auto found = held_.find(key);
    if (found == held_.end()) return;  // Done with it long ago, like a real one.
    if (!found->second.running) return SendReport(found->second);
    cluster_.world.After(cluster_.world.Between(1ms, 500ms), process_,
                         [this, key] { End(key, false); });
}

void SimWorker::OnVerdict(const ConnectionPtr& connection, const AttemptRef& attempt) {
    if (connection != connection_) return;
    const auto found = held_.find(KeyOf(attempt));
    if (found == held_.end() || found->second.running) return;
    cluster_.checker.OnLetGo(attempt);
    held_.erase(found);
}

}  // namespace takt::internal::sim
