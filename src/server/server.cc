#include "server/server.h"

#include <unistd.h>

#include <array>
#include <boost/asio/post.hpp>
#include <future>
#include <thread>
#include <utility>

#include "base/random.h"
#include "server/server_parts.h"

namespace takt::internal {
namespace {

// How long running requests may take to finish when the server stops.
constexpr std::chrono::milliseconds kDrain{2'000};
constexpr Duration kFlush{500};  // Of statistics, before the lead is given up.

std::string DefaultNodeId() {
    std::array<char, 256> host{};
    gethostname(host.data(), host.size() - 1);
    std::string id;
    for (const char c : std::string_view(host.data()).substr(0, 40)) {
        id += IsValidId(std::string_view(&c, 1)) || c == '-' || c == '.' ? c : '-';
    }
    if (id.empty() || !IsValidId(id)) id = "scheduler";
    Random random(NewRandomSeed());
    return id + "-" + SerialText(random.Next()).substr(8);
}

}  // namespace

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Server::~Server() {
    Stop();
}

Result<std::unique_ptr<Server>> Server::Start(Config config, Sink* watcher) {
    if (auto checked = CheckConfig(config); !checked) return std::unexpected(checked.error());
    auto listen = ParseListenAddress(config.server.listen, "server.listen");
    if (!listen) return std::unexpected(listen.error());
    auto node_id = NodeId::Parse(
        config.server.node_id.empty() ? DefaultNodeId() : config.server.node_id, "server.node_id");
    if (!node_id) return std::unexpected(node_id.error());

    auto parts = std::make_unique<Parts>();
    Parts& p = *parts;
    p.config = std::move(config);
    p.listen = std::move(*listen);
    p.id = std::move(*node_id);
    if (auto opened = p.OpenTheStore(); !opened) return std::unexpected(opened.error());
    p.work.emplace(p.loop.get_executor());
    if (auto made = p.MakeDoors(); !made) return std::unexpected(made.error());
    if (auto made = p.MakeClients(); !made) return std::unexpected(made.error());
    p.events = std::make_unique<EventHub>();
    p.meters = std::make_unique<Meters>(
        MetersConfig{.enabled = p.config.metrics.enabled, .interval = p.config.metrics.interval});
    p.statistics = std::make_unique<Statistics>(p.runtime, p.rows(),
                                                StatisticsConfig{.keep = p.config.statistics.keep});
    if (auto made = p.MakeAlerts(); !made) return std::unexpected(made.error());
    if (auto bound = p.Listen(); !bound) return std::unexpected(bound.error());
    if (auto made = p.MakeLinks(); !made) return std::unexpected(made.error());
    if (auto claimed = p.ClaimId(); !claimed) return std::unexpected(claimed.error());
    p.MakeNode(watcher);
    p.MakeApis();
    p.node->Start();
    for (const auto& door : p.doors) door->Start();
    p.thread = std::thread([&loop = p.loop] { loop.run(); });
    return std::unique_ptr<Server>(new Server(std::move(parts)));
}

void Server::Stop() {
    Parts& p = *parts_;
    if (std::exchange(p.stopped, true)) return;
    // The counts since the last time are written while this node still leads. A store that
    // does not answer must not hold up the stop: then it is lost, as in a crash.
    const auto flushed = std::make_shared<std::promise<void>>();
    p.statistics->Flush([flushed] { flushed->set_value(); });
    flushed->get_future().wait_for(std::min<Duration>(p.config.scheduler.stop_deadline, kFlush));
    // The node first: it answers what it was asked, gives up the lead and sends workers on their
    // way. Connections that take their time to end must not keep the next leader waiting.
    std::promise<void> node_stopped;
    p.node->Stop([&] { node_stopped.set_value(); });
    node_stopped.get_future().wait();
    std::promise<void> http_stopped;
    p.http->Stop(kDrain, [&] { http_stopped.set_value(); });
    http_stopped.get_future().wait();
    for (const auto& door : p.doors) door->Stop();
    // Work that the loop still holds may refer to the parts; it must be gone before they are.
    boost::asio::post(p.loop, [&p] { p.node.reset(); });
    p.work.reset();
    p.loop.stop();
    p.thread.join();
    p.http.reset();
    p.node.reset();
    p.node_id_watch.reset();
    // Store callbacks post to the loop: the store goes first, then whatever they posted is dropped.
    p.store.reset();
}

void Server::Call(HttpRequest request, HttpReply reply) {
    Door& door = *parts_->doors.front();
    boost::asio::post(door.loop(), [api = door.api(), request = std::move(request),
                                    reply = std::move(reply)]() mutable {
        api->Handle(std::move(request), std::move(reply));
    });
}

const std::string& Server::url() const {
    return parts_->url;
}
const std::string& Server::address() const {
    return parts_->address;
}
const std::string& Server::store_name() const {
    return parts_->store_name;
}
Node& Server::node() {
    return *parts_->node;
}
Store& Server::store() {
    return *parts_->store;
}

}  // namespace takt::internal
