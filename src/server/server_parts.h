// The parts of a Server, in the order of their needs, and how each is made.
#pragma once

#include <boost/asio/io_context.hpp>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "alerts/mailer.h"
#include "api/sessions.h"
#include "http/server.h"
#include "server/door.h"
#include "server/node_id_watch.h"
#include "server/realms.h"
#include "server/server.h"
#include "server/settings.h"
#include "server/work_loop.h"
#include "store/recent_cluster.h"
#include "trace/span_exporter.h"

namespace takt::internal {

struct Server::Parts {
    Config config;
    ServerSettings settings;
    NodeId id;
    std::string url;
    std::string address;
    std::string store_name;
    // In the order of their needs: each uses only what stands above it. What the node's loop holds at
    // the end may hold replies of the doors' loops.
    std::deque<boost::asio::io_context> door_loops;
    std::deque<WorkLoop> loops;  // The first is that of `default`.
    std::unique_ptr<Store> store;
    std::unique_ptr<RecentCluster> recent;
    std::shared_ptr<const Sessions> sessions;  // Null: nobody can sign in.
    std::vector<std::unique_ptr<Door>> doors;
    std::unique_ptr<SpanExporter> exporter;  // Null unless traces are on.
    Mailer mailer;
    std::unique_ptr<Presence> presence;
    std::optional<RealmGround> ground;
    std::unique_ptr<Realms> realms;
    std::unique_ptr<NodeIdWatch> node_id_watch;  // Null if nobody else can have the id.
    std::unique_ptr<HttpServer> http;
    const Time started_at = ReadClocks().wall;
    bool stopped = false;

    ~Parts() {
        if (realms) realms->Dismantle();
    }

    // Each needs those before it. kInvalid for a configuration that cannot work.
    Result<void> MakeSignIn();
    Result<void> OpenTheStore();
    Result<void> MakeDoors();
    // The port is bound before the node is made, so that the address that the node tells is known
    // even if the system chose it.
    Result<void> Listen();
    Result<void> StartSpans();
    NodeRow RowOfThis() const;
    // kConflict if another scheduler has its id and is alive.
    Result<void> ClaimId();
    // The same without waiting and without a claim.
    Result<void> CheckIdIsFree() const;
    Result<void> MakeRealms(Sink* watcher);
    Result<void> MakeApis();

  private:
    void TellDoors(const std::shared_ptr<Realm>& realm);
};

}  // namespace takt::internal
