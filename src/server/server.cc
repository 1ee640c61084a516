#include "server/server.h"

#include <unistd.h>

#include <array>
#include <boost/asio/post.hpp>
#include <future>
#include <thread>
#include <utility>

#include "base/mistakes.h"
#include "base/random.h"
#include "server/server_parts.h"

namespace takt::internal {
namespace {

// How long running requests may take to finish when the server stops.
constexpr std::chrono::milliseconds kDrain{2'000};
// A store that answers is told that the node leaves, however long the rest took.
constexpr std::chrono::milliseconds kLeaveLeast{500};

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
    Mistakes mistakes;
    mistakes.AddIfAny(CheckConfig(config));
    auto settings = ReadServerSettings(config);
    if (!settings) mistakes.Add(settings.error());
    if (auto good = mistakes.ToResult(); !good) return std::unexpected(good.error());

    auto parts = std::make_unique<Parts>();
    Parts& p = *parts;
    p.config = std::move(config);
    p.settings = std::move(*settings);
    p.id = p.settings.node_id ? *p.settings.node_id : NodeId(DefaultNodeId());
    if (auto made = p.MakeSignIn(); !made) return std::unexpected(made.error());
    if (auto opened = p.OpenTheStore(); !opened) return std::unexpected(opened.error());
    while (p.loops.size() < p.config.scheduler.loops) p.loops.emplace_back();
    if (auto made = p.MakeDoors(); !made) return std::unexpected(made.error());
    if (auto bound = p.Listen(); !bound) return std::unexpected(bound.error());
    if (auto started = p.StartSpans(); !started) return std::unexpected(started.error());
    if (auto claimed = p.ClaimId(); !claimed) return std::unexpected(claimed.error());
    if (auto made = p.MakeRealms(watcher); !made) return std::unexpected(made.error());
    if (auto made = p.MakeApis(); !made) return std::unexpected(made.error());
    for (const auto& door : p.doors) door->Start();
    p.loops.front().Start();
    p.presence->Start();
    p.realms->Follow();
    return std::unique_ptr<Server>(new Server(std::move(parts)));
}

Result<void> Server::CheckKeys(const Config& config) {
    const auto settings = ReadServerSettings(config);
    if (!settings) return std::unexpected(settings.error());
    return {};
}

void Server::Stop() {
    Parts& p = *parts_;
    if (std::exchange(p.stopped, true)) return;
    const Steady until = SteadyClock::now() + p.config.scheduler.stop_deadline;
    // The nodes first: they answer what they were asked, give up the lead and send workers on their
    // way. Connections that take their time to end must not keep the next leader waiting.
    p.recent->AskAlways();
    std::promise<void> realms_stopped;
    p.realms->Stop(until - std::min(kDrain, p.config.scheduler.stop_deadline / 2),
                   [&] { realms_stopped.set_value(); });
    realms_stopped.get_future().wait();
    // Nobody comes any more. Calls to executors that are open are kept as long as a stop may take: the
    // next leader leaves them to this node while that is announced.
    std::promise<void> http_stopped;
    p.http->Stop(kDrain, [&] { http_stopped.set_value(); });
    std::promise<void> calls_ended;
    p.realms->AwaitCalls(until, [&] { calls_ended.set_value(); });
    calls_ended.get_future().wait();
    // A store that does not answer must not hold up the stop: then the node goes with its ttl.
    const auto left = std::make_shared<std::promise<void>>();
    p.presence->Leave([left] { left->set_value(); });
    left->get_future().wait_until(std::max(until, SteadyClock::now() + kLeaveLeast));
    http_stopped.get_future().wait();
    for (const auto& door : p.doors) door->Stop();
    for (WorkLoop& loop : p.loops) loop.Stop();
    p.http.reset();
    p.node_id_watch.reset();
    // Handlers that the loops still hold may hold realms, which must not refer to parts that are gone.
    p.realms->Dismantle();
    p.presence.reset();
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
    return parts_->realms->home().node();
}
Store& Server::store() {
    return *parts_->store;
}

}  // namespace takt::internal
