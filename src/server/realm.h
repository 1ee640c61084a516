// Realm: one namespace in this process. Its node and everything that hangs on it: links to workers,
// events, metrics, statistics, alerts.
//
// A process has one for each namespace of the directory, whether it leads it or follows. All of it
// lives on one loop; what it shares with others (the store, the exporter of spans, mail) is made for
// any thread.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "alerts/alerts.h"
#include "alerts/follower_watch.h"
#include "alerts/mailer.h"
#include "api/event_hub.h"
#include "api/services.h"
#include "config/config.h"
#include "links/push_link.h"
#include "links/scheduler_spans.h"
#include "links/stream_link.h"
#include "metrics/meters.h"
#include "model/namespace.h"
#include "node/node.h"
#include "node/presence.h"
#include "server/settings.h"
#include "server/sink_fan.h"
#include "server/work_loop.h"
#include "statistics/statistics.h"
#include "store/partition_reader.h"

namespace takt::internal {

TracePolicy TracePolicyOf(const Config& config);

// The ground that the realms of a process share. All of it outlives them.
struct RealmGround {
    const Config& config;
    const NodeId& node;
    const std::string& address;  // Where others reach this process.
    const ServerSettings& settings;
    Store& store;
    Store& recent;  // The same, for looks at the cluster: see RecentCluster.
    Presence& presence;
    Mailer& mailer;
    SpanExporter* exporter = nullptr;  // Null unless traces are on.
    std::shared_ptr<const Commons> commons;
};

class Realm : public std::enable_shared_from_this<Realm> {
  public:
    // The last to let go of it may be on any thread: it ends on its loop.
    static std::shared_ptr<Realm> Make(const RealmGround& ground, WorkLoop& loop,
                                       const NamespaceRow& row);
    ~Realm();

    // `watcher`, if not null, sees what the node releases and outlives the realm. On the loop, or
    // before it runs.
    void Start(Sink* watcher);
    // The directory says this of the namespace from now on. From any thread.
    void Apply(const NamespaceRow& row);
    // Takes the answers of executors that nobody else could be told, until then at most; writes down
    // what was counted, answers what it was asked, gives up the lead. `done` comes on the loop. From
    // any thread, once.
    void Stop(Steady answers_until, Action done);
    // Waits until the answers to calls that were open when it stopped are passed on to the next leader,
    // and no longer than until `until`. `done` comes on the loop. From any thread, after Stop.
    void AwaitCalls(Steady until, Action done);
    // Ends all parts, while others may hold this object; nobody may use them any more. On the loop,
    // or when that has ended.
    void Dismantle();

    const std::string& name() const { return name_; }
    WorkLoop& loop() { return loop_; }
    Node& node() { return *node_; }
    const PartitionReader& rows() const { return rows_; }
    // For the API of a door.
    RealmParts parts();

  private:
    Realm(const RealmGround& ground, WorkLoop& loop, const NamespaceRow& row);
    void MakeAlerts();
    void MakeLinks();
    void StopNode(Action done);

    const RealmGround& ground_;
    WorkLoop& loop_;
    Runtime& runtime_;  // Its own part of the loop.
    const std::string name_;
    const PartitionReader rows_;
    NamespaceRow row_;
    std::atomic<bool> closing_ = false;  // It is being deleted.
    // In the order of their needs.
    std::unique_ptr<EventHub> events_;
    std::unique_ptr<Meters> meters_;
    std::unique_ptr<Statistics> statistics_;
    std::unique_ptr<Delivery> delivery_;
    std::unique_ptr<Alerts> alerts_;
    std::unique_ptr<FollowerWatch> follower_watch_;
    std::unique_ptr<StreamLink> stream_;
    std::unique_ptr<PushLink> push_;
    std::unique_ptr<SchedulerSpans> spans_;  // Null unless traces are on.
    SinkFan fan_;
    std::unique_ptr<Node> node_;
    bool dismantled_ = false;
};

}  // namespace takt::internal
