// The actors of a simulation: schedulers, workers and the connections between them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "node/node.h"
#include "node/presence.h"
#include "sim/checker.h"
#include "sim/sim_store.h"
#include "sim/traits.h"
#include "sim/world.h"

namespace takt::internal::sim {

class ExecutorChecker;
class SimHost;
class SimNode;
class SimPush;
class SimWeb;
class SimWorker;

// One connection of a worker to a scheduler. What is sent arrives in order or, once it is cut, not
// at all; either side may learn of the cut late or not until its own patience ends.
struct Connection {
    SessionId session = 0;
    SimNode* node = nullptr;
    SimWorker* worker = nullptr;
    ProcessPtr node_process;  // Of the time when it was opened.
    ProcessPtr worker_process;
    bool cut = false;
    Steady to_node{};  // When the last message so far arrives there.
    Steady to_worker{};
};
using ConnectionPtr = std::shared_ptr<Connection>;

// How a worker introduces itself.
struct Greeting {
    Worker worker;
    WorkerLoad load;
    std::vector<AttemptRef> holding;
    // The latest term that it was welcomed by.
    std::uint64_t epoch_seen = 0;
    std::uint64_t nonce_seen = 0;
};

// One namespace: its nodes, one in each scheduler process, and its workers.
struct Cluster {
    World& world;
    Checker& checker;
    NodeConfig config;
    Traits traits;
    std::vector<std::unique_ptr<SimNode>> nodes;
    std::vector<std::unique_ptr<SimWorker>> workers;
    Micros network_max = 3ms;  // Of one way.
    double handler_fails = 0;
    double handler_hangs = 0;
    Micros handler_max = 3s;
    SessionId last_session = 0;
    // Of executors, if there are some; see executors.h.
    SimWeb* web = nullptr;
    ExecutorChecker* executor_checker = nullptr;

    Partition partition() const { return config.leadership.partition; }
    // A name of this namespace's, for people who read a trace: others have the same names.
    std::string Of(const std::string& name) const {
        return partition() == 0 ? name : name + "@" + std::to_string(partition());
    }

    // Delivers to one side of a connection, after all that was sent there before.
    void ToNode(const ConnectionPtr& connection, std::function<void(SimNode&)> deliver);
    void ToWorker(const ConnectionPtr& connection, std::function<void(SimWorker&)> deliver);
    // Breaks it. Each side learns, or not.
    void Cut(const ConnectionPtr& connection, bool node_learns, bool worker_learns);
};

// A scheduler process. It has a node for each namespace, and all of these share its fate, its clocks
// and its connection to the store.
class SimHost {
  public:
    SimHost(World& world, SimDatabase& database, int number);

    // Before it starts for the first time.
    void Add(SimNode& node) { nodes_.push_back(&node); }

    void Start();
    void Crash();
    void StopInOrder();
    void Freeze(Micros time);
    // Its wall clock is wrong by that from now on.
    void SetClock(Duration offset);
    Duration wall_offset() const { return wall_offset_; }
    // By how much its clock may have been ahead of what it could trust at some moment since `began`.
    Duration AheadSince(Steady began) const;
    bool running() const { return runtime_ != nullptr; }
    // Whether it runs and can reach the store: what it leads is led.
    bool well() const;
    const std::string& name() const { return name_; }
    const std::vector<SimNode*>& nodes() const { return nodes_; }

    SimStore::Link store_link;
    ProcessPtr process = std::make_shared<Process>();

  private:
    friend class SimNode;
    void MakePresence();
    void Destroy();

    World& world_;
    SimDatabase& database_;
    const std::string name_;
    std::vector<SimNode*> nodes_;
    bool stopping_ = false;
    Duration wall_offset_{0};
    std::map<Steady, Duration> clock_set_;  // To what offset, and when.
    std::unique_ptr<SimRuntime> runtime_;
    std::unique_ptr<SimStore> store_;
    std::unique_ptr<Presence> presence_;  // Null if it has one node, which has its own.
    std::shared_ptr<const Commons> commons_;
};

class SimNode final : public Sink {
  public:
    SimNode(Cluster& cluster, SimHost& host);
    ~SimNode() override;

    void Begin();
    void Stop(Action done);
    void End();
    bool running() const { return node_ != nullptr; }
    bool leads() const { return running() && role_ == Role::kLeader; }
    // Whether it leads, or has been elected and reads what its term begins with.
    bool elected() const { return leads() || (running() && role_ == Role::kLoading); }
    const SimHost& host() const { return host_; }
    const ProcessPtr& process() const { return host_.process; }
    const NodeConfig& config() const { return cluster_.config; }

    // Someone asks over the network, who was once given `lock_token`. The answer may get lost with
    // the process.
    void Ask(Input input, Done<Answer> done, std::uint64_t lock_token = 0);
    // How often the store it uses has failed over.
    std::uint64_t failovers() const { return host_.database_.failovers(); }

    // A worker's connection arrives: accepted if this node leads.
    void Accept(const ConnectionPtr& connection, Greeting greeting);
    void Hear(const ConnectionPtr& connection, Input input);
    void Lose(const ConnectionPtr& connection);

    void Release(const Effects& effects) override;
    void OnRole(Role role) override;
    std::vector<SettingPut> LeaveWord(Parting why) override;
    void OnHandOverFailed() override;

    // Its link to executors. Null if there are none, or while it does not run.
    SimPush* push() const { return push_.get(); }

    std::map<SessionId, ConnectionPtr> connections;

  private:
    ConnectionPtr Find(SessionId session) const;
    // Whether it goes on by what the store has lost, and has not noticed. What it says is no promise.
    bool is_misled() const { return host_.database_.HasLost(nonce_); }
    bool IsOlderThan(const Greeting& greeting);
    void CheckEffects(const Effects& effects);
    void AwaitCalls(Steady until, Action done);

    Cluster& cluster_;
    SimHost& host_;
    const std::string name_;
    Role role_ = Role::kFollower;
    std::uint64_t nonce_ = 0;  // Of its last term.
    std::unique_ptr<SimPush> push_;
    std::unique_ptr<Node> node_;
};

class SimWorker {
  public:
    SimWorker(Cluster& cluster, int number, std::uint32_t capacity);

    void Start();
    void Crash();
    void SayGoodbye();
    void Freeze(Micros time);
    bool running() const { return up_; }
    const std::string& name() const { return name_; }
    const ConnectionPtr& connection() const { return connection_; }

    // The scheduler's words.
    void OnRefused(const ConnectionPtr& connection, const std::string& leader);
    void OnWelcome(const ConnectionPtr& connection, const Term& term);
    void OnAssign(const ConnectionPtr& connection, const Assign& assign);
    void OnStop(const ConnectionPtr& connection, const AttemptRef& attempt);
    void OnVerdict(const ConnectionPtr& connection, const AttemptRef& attempt);
    void OnLockVerdict(const ConnectionPtr& connection, const LockVerdict& verdict);
    void OnPong(const ConnectionPtr& connection);
    void OnClosed(const ConnectionPtr& connection);

  private:
    struct Held {
        AttemptRef ref;
        bool running = true;
        bool success = false;
        bool waits = false;  // Its handler has asked for a lock, and was not answered.
        Text lock;
        std::uint64_t lines = 0;  // That it wrote, and those that were not sent yet.
        std::vector<std::pair<std::uint64_t, std::string>> lines_due;
    };
    // Number and token: a store that has lost an attempt gives its number again.
    using Key = std::tuple<std::string, std::uint32_t, Token>;
    static Key KeyOf(const AttemptRef& ref) {
        return {ref.execution.text().str(), ref.attempt, ref.token};
    }

    void Connect();
    void ConnectLater();
    void Beat();
    void MakeOffer();
    void Send(Input input);
    void End(const Key& key, bool success);
    void SendReport(Held& held);
    void WriteLater(const Key& key);
    void SendLines(Held& held);
    bool Hears();  // Something came; false if too late, and the connection is given up.
    void AskForLock(const Held& held);
    void DropLockLater(const Key& key);
    std::size_t Running() const;
    void Note(std::string_view what, std::string_view about = {}, std::uint64_t number = 0) {
        cluster_.world.Note(cluster_.Of(name_), what, about, number);
    }

    Cluster& cluster_;
    const std::string name_;
    const bool is_first_;
    Worker offer_;     // What it says of itself.
    WorkerLoad load_;  // That it tells with each sign of life.
    bool up_ = false;
    int instance_ = 0;
    ProcessPtr process_ = std::make_shared<Process>();
    ConnectionPtr connection_;
    Steady heard_{};
    Term seen_;                        // The latest that welcomed this process.
    std::string leader_;               // As it was last told; empty if nobody knew.
    const SimNode* silent_ = nullptr;  // The last that did not answer: another is asked first.
    std::map<Key, Held> held_;
};

}  // namespace takt::internal::sim
