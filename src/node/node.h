// Node: one scheduler. Carries out what its engine decides.
//
//   inbox → Engine.Step(input, now) → batch → store.Commit → effects
//
// One node of a cluster leads and has an engine; the others follow and refuse what only a leader
// can do. Replies, dispatches and events are released after every commit that they depend on. When
// the term ends, the engine and everything it decided since the last commit are forgotten; so it is
// when the store takes no commit for longer than the leader's ttl.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/engine.h"
#include "node/committer.h"
#include "node/commons.h"
#include "node/home.h"
#include "node/inbox.h"
#include "node/leadership.h"
#include "node/loader.h"
#include "node/presence.h"
#include "node/runtime.h"
#include "node/sink.h"
#include "store/store.h"

namespace takt::internal {

struct NodeConfig {
    LeadershipConfig leadership;
    EngineConfig engine;
    CommitterConfig committer;
    Text version;
    // Of the process, if it has several nodes; null: one of its own.
    std::shared_ptr<const Commons> commons;
    // New requests are refused when so many batches wait for the store, and so many changes in
    // them: where batches are small, many of them are soon written.
    std::size_t backlog_max = 64;
    std::size_t backlog_changes_max = 50'000;
    Duration stop_deadline{5'000};  // How long a stop waits for the store.
    // A turn of the loop takes inputs for so long; others need it too, the lease above all.
    Duration turn{5};
    // A wall clock may jump at any time, and timers run on the steady one: looked at this often.
    Duration look_again{1'000};
};

// A node's word on itself. A copy; read it at leisure.
struct NodeStatus {
    NodeId node;
    Role role = Role::kFollower;
    std::uint64_t epoch = 0;
    std::optional<LeaderRow> leader;
    std::uint64_t elections = 0;
    std::uint64_t commits = 0;
    std::uint64_t changes = 0;
    std::string
        trouble;  // Why the store cannot be written to or give the lead; empty while it can.
    // A loss of the store, of what this process had written to it or read there, for a day; empty:
    // there is none.
    std::string lost;
    Time started_at{};
};

class Node {
  public:
    // The runtime and the store must outlive the node, the sink too if there is one.
    // Without a `presence` it has one of its own; one that several nodes share outlives them.
    Node(Runtime& runtime, Store& store, NodeConfig config, const RandomSeed& seed, Sink* sink,
         Presence* presence = nullptr);

    // REQUIRES: stopped, or never started; on the runtime's thread.
    ~Node();

    // Begins to campaign for the lead.
    void Start();

    // Refuses new requests, waits for the commits under way, gives up the lead. `done` is called on
    // the node's thread. From any thread, once.
    void Stop(Action done);

    // From any thread: asks the leader something. `done` is called on the node's thread.
    // kUnavailable: this node does not lead, or cannot take it now; nothing happened.
    // kUnknown: the term ended before the answer was safe; ask the next leader, with the same id.
    void Ask(Input input, Done<Answer> done);

    // From any thread: a worker said something. Dropped while this node does not lead; the worker
    // says it again to the next leader.
    void Tell(Input input);
    void Tell(std::vector<Input> inputs);

    // From any thread: looks into the engine, on the node's thread. Null if this node does not
    // lead.
    void Look(std::move_only_function<void(const Engine*)> look);

    // The namespace that it leads or follows. From any thread.
    Partition partition() const { return config_.leadership.partition; }

    // From any thread: this engine, and those of later terms, decide by these values from now on.
    void SetEngineConfig(Configure values);

    // From any thread: as of a moment ago.
    NodeStatus status() const;
    // Whether that role is kLeader. Every request asks for it: nothing is copied.
    bool leads() const { return leads_.load(std::memory_order_relaxed); }

    // From any thread: a worker has seen this epoch; a later term must be above it, and one that is
    // below begins anew.
    void NoteEpoch(std::uint64_t epoch);

    // Gives the lead to another node, in order: takes nothing new, and resigns once all that was
    // decided is written and answered. On the node's thread; does nothing unless it leads.
    void HandOver(const NodeId& to);

  private:
    void DrainInbox();
    bool CheckTrust();
    std::string WhyNotNow() const;
    bool TakeInput(Inbox::Item& item);
    void StepEngine(Input&& input);
    void EndTurn();
    void ArmTimer();

    void OnElected(const Term& term);
    void OnDeposed(const std::string& why);
    void BeginTerm(std::unique_ptr<Engine> engine, Serial last_serial);
    void NoteLoss(Serial last_serial);
    void NoteLostTerm(std::uint64_t had, std::uint64_t has);
    void SayLoss(std::string loss);
    void EndTerm(const std::string& why);
    void Release(const Effects& effects);
    Flow<> LookUp(std::vector<ExecutionId> ids);
    void SetRole(Role role);
    void Publish();
    void PublishLater();
    void FinishStop();
    void EndStop();
    void FinishHandOver();
    void CancelHandOver();
    // Stores what the sinks leave for the next leader; whether it is. If not, Release comes again.
    bool LeaveWord(Parting why);
    std::unique_ptr<Presence> MakePresence();
    void TellConfig();

    Runtime& runtime_;
    Store& store_;
    const NodeConfig config_;
    EngineConfig engine_config_;  // Of the next engine.
    Sink* const sink_;
    Random random_;
    const Time started_at_;
    const std::unique_ptr<Presence> own_presence_;  // Null if it shares one.
    Presence& presence_;
    const std::shared_ptr<const Commons> commons_;
    Leadership leadership_;
    Inbox inbox_;

    // All below on the runtime's thread.
    Role role_ = Role::kFollower;
    std::unique_ptr<Loader>
        loader_;  // While its term's beginning is being read, or waits for that.
    LoadTurns::Place load_place_;
    std::unique_ptr<Engine> engine_;  // While this node leads.
    std::unique_ptr<Committer> committer_;
    Serial stored_serial_ = 0;   // The highest that the store has taken from this process.
    std::size_t live_left_ = 0;  // Executions when the last term ended.
    std::string lost_;           // See NodeStatus.
    Steady lost_at_{};
    std::unordered_map<RequestId, Done<Answer>> asked_;
    SharedBound::Share asked_share_;
    SharedBound::Share backlog_share_;  // Of the bytes that wait for the store.
    SharedBound::Share live_share_;     // Of the executions in memory.
    RequestId last_request_ = 0;
    Steady stepped_at_{};  // When the engine last took an input.
    std::uint64_t timer_ = 0;
    std::uint64_t stop_timer_ = 0;
    std::uint64_t publish_timer_ = 0;
    Action stopped_;
    std::optional<Configure> configure_;  // The engine has not been told.
    bool stopping_ = false;
    bool resigning_ = false;  // All that a stop waits for is that the lead is given back.
    NodeId heir_;             // To whom the lead is being handed over; empty: to nobody.
    bool parted_ = false;     // What the sinks leave for the heir is written, or being written.
    std::uint64_t hand_over_timer_ = 0;

    mutable std::mutex status_mutex_;
    NodeStatus status_;
    std::atomic<bool> leads_ = false;

    Home home_;  // Its terms are those of the leadership.
};

}  // namespace takt::internal
