// The parts of a Server, in the order of their needs, and how each is made.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "alerts/alerts.h"
#include "alerts/follower_watch.h"
#include "api/event_hub.h"
#include "http/client.h"
#include "http/server.h"
#include "links/push_link.h"
#include "links/scheduler_spans.h"
#include "links/stream_link.h"
#include "metrics/meters.h"
#include "node/asio_runtime.h"
#include "server/door.h"
#include "server/listen_address.h"
#include "server/node_id_watch.h"
#include "server/server.h"
#include "server/sink_fan.h"

namespace takt::internal {

struct Server::Parts {
    Config config;
    ListenAddress listen;
    NodeId id;
    std::string url;
    std::string address;
    std::string store_name;
    Partition partition = kDefaultPartition;  // The namespace that this server's node serves.
    // In the order of their needs: each uses only what stands above it. What the node's loop holds at
    // the end may hold replies of the doors' loops.
    std::deque<boost::asio::io_context> door_loops;
    boost::asio::io_context loop{1};
    std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> work;
    AsioRuntime runtime{loop};
    std::unique_ptr<Store> store;
    std::vector<std::unique_ptr<Door>> doors;
    std::unique_ptr<EventHub> events;
    std::unique_ptr<SpanExporter> exporter;  // Null unless traces are on.
    std::unique_ptr<Meters> meters;
    std::unique_ptr<Statistics> statistics;
    std::unique_ptr<HttpClient> webhooks;
    Mailer mailer;
    std::unique_ptr<Delivery> delivery;
    std::unique_ptr<Alerts> alerts;
    std::unique_ptr<FollowerWatch> follower_watch;
    std::unique_ptr<StreamLink> stream;
    std::unique_ptr<HttpClient> executors;  // To executors,
    std::unique_ptr<HttpClient> health;     // and for their health.
    std::unique_ptr<PushLink> push;
    std::unique_ptr<SchedulerSpans> spans;  // Null unless traces are on.
    SinkFan fan;
    std::unique_ptr<Node> node;
    std::unique_ptr<NodeIdWatch> node_id_watch;  // Null if nobody else can use the store.
    std::unique_ptr<HttpServer> http;
    std::thread thread;
    bool stopped = false;

    // The rows that the parts of the node's namespace read. REQUIRES: the store is open.
    PartitionReader rows() const { return {*store, partition}; }

    // Each needs those before it. kInvalid for a configuration that cannot work.
    Result<void> OpenTheStore();
    Result<void> MakeDoors();
    Result<void> MakeClients();
    Result<void> MakeAlerts();
    // The port is bound before the node is made, so that the address that the node tells is known
    // even if the system chose it.
    Result<void> Listen();
    Result<void> MakeLinks();
    // kConflict if another scheduler has its id and is alive.
    Result<void> ClaimId();
    void MakeNode(Sink* watcher);
    void MakeApis();

  private:
    bool loopback() const;
};

}  // namespace takt::internal
