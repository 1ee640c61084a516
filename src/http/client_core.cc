#include "http/client_core.h"

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <mutex>
#include <optional>

#include "http/client_call.h"
#include "http/spawn.h"

namespace takt::internal::http {
namespace {

namespace asio = boost::asio;

constexpr auto kSweepInterval = std::chrono::seconds(1);

// A connection that the server has closed, or on which it talks unasked, is readable.
bool IsQuiet(Transport& transport) {
    char byte = 0;
    const ssize_t got =
        ::recv(transport.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

}  // namespace

ClientCore::ClientCore(asio::io_context& io, HttpClientOptions options,
                       std::unique_ptr<TlsClientContext> tls)
    : io_(io), options_(std::move(options)), tls_(std::move(tls)), names_(io) {}

void ClientCore::Send(HttpCall call, HttpDone done) {
    if (closed_) return done(Fail(ErrorCode::kCancelled, "the HTTP client is closed"));
    auto url = ParseUrl(call.url);
    if (!url) return done(std::unexpected(url.error()));
    auto head = FormatRequestHead(call.method, *url, call.headers, options_.user_agent);
    if (!head) return done(std::unexpected(head.error()));
    Host& host = hosts_[url->Origin()];
    const bool wait = host.active >= options_.connections_per_host_max;
    if (wait && waiting_ >= options_.waiting_max) {
        return done(Fail(ErrorCode::kExhausted, "too many HTTP calls are waiting"));
    }
    auto made = std::make_shared<ClientCall>(shared_from_this(), std::move(call), std::move(*url),
                                             std::move(*head), std::move(done));
    made->ArmDeadline();
    if (wait) {
        ++waiting_;
        host.waiting.push_back(std::move(made));
    } else {
        Start(host, std::move(made));
    }
}

void ClientCore::Start(Host& host, std::shared_ptr<ClientCall> call) {
    ++host.active;
    calls_.insert(call.get());
    Spawn(io_.get_executor(), call->Run(call), "http call", options_.log);
}

void ClientCore::Finished(const std::shared_ptr<ClientCall>& call, const std::string& origin) {
    calls_.erase(call.get());
    Host& host = hosts_[origin];
    --host.active;
    if (!host.waiting.empty() && host.active < options_.connections_per_host_max) {
        auto next = std::move(host.waiting.front());
        host.waiting.pop_front();
        --waiting_;
        return Start(host, std::move(next));
    }
    DropIfUnused(origin);
}

void ClientCore::GiveUpWaiting(const std::shared_ptr<ClientCall>& call, const std::string& origin) {
    waiting_ -= std::erase(hosts_[origin].waiting, call);
    DropIfUnused(origin);
}

void ClientCore::DropIfUnused(const std::string& origin) {
    const auto found = hosts_.find(origin);
    const Host& host = found->second;
    if (host.active == 0 && host.waiting.empty() && host.idle.empty()) hosts_.erase(found);
}

std::shared_ptr<Transport> ClientCore::TakeIdle(const std::string& origin) {
    Host& host = hosts_[origin];
    const Steady now = SteadyClock::now();
    while (!host.idle.empty()) {
        Idle idle = std::move(host.idle.back());
        host.idle.pop_back();
        if (now - idle.since < options_.idle_timeout && IsQuiet(*idle.transport)) {
            return std::move(idle.transport);
        }
        idle.transport->Close();
    }
    return nullptr;
}

void ClientCore::GiveBack(const std::string& origin, std::shared_ptr<Transport> transport) {
    if (closed_ || options_.idle_per_host_max == 0) return transport->Close();
    const Steady now = SteadyClock::now();
    if (now - swept_ >= kSweepInterval) SweepIdle(origin, now);
    std::vector<Idle>& idle = hosts_[origin].idle;
    if (idle.size() >= options_.idle_per_host_max) return transport->Close();
    idle.push_back({std::move(transport), now});
}

// A host that is never called again would keep its connections for ever.
void ClientCore::SweepIdle(const std::string& origin, Steady now) {
    swept_ = now;
    for (auto& [name, host] : hosts_) {
        std::erase_if(host.idle,
                      [&](const Idle& idle) { return now - idle.since >= options_.idle_timeout; });
    }
    std::erase_if(hosts_, [&](const auto& entry) {
        const Host& host = entry.second;
        return entry.first != origin && host.active == 0 && host.waiting.empty() &&
               host.idle.empty();
    });
}

void ClientCore::Close() {
    closed_ = true;
    std::vector<std::shared_ptr<ClientCall>> all;
    for (ClientCall* call : calls_) all.push_back(call->shared_from_this());
    for (auto& [name, host] : hosts_) {
        all.insert(all.end(), host.waiting.begin(), host.waiting.end());
        host.idle.clear();
    }
    for (const auto& call : all) call->Fail(ErrorCode::kCancelled, "the HTTP client is closed");
}

}  // namespace takt::internal::http

namespace takt::internal {

namespace asio = boost::asio;
using http::ClientCore;

Result<std::unique_ptr<HttpClient>> HttpClient::Create(asio::io_context& io,
                                                       HttpClientOptions options) {
    auto tls = TlsClientContext::Load(options.tls);
    if (!tls) return std::unexpected(tls.error());
    return std::unique_ptr<HttpClient>(
        new HttpClient(std::make_shared<ClientCore>(io, std::move(options), std::move(*tls))));
}

HttpClient::~HttpClient() {
    Close();
}

void HttpClient::Send(HttpCall call, HttpDone done) {
    asio::post(core_->io(),
               [core = core_, call = std::move(call), done = std::move(done)]() mutable {
                   core->Send(std::move(call), std::move(done));
               });
}

void HttpClient::OpenWebSocket(WebSocketCall call, std::shared_ptr<WebSocketCallbacks> callbacks,
                               std::move_only_function<void(Error)> failed) {
    asio::post(core_->io(), [core = core_, call = std::move(call), callbacks = std::move(callbacks),
                             failed = std::move(failed)]() mutable {
        core->OpenWebSocket(std::move(call), std::move(callbacks), std::move(failed));
    });
}

void HttpClient::Close() {
    // At once: a lookup under way must not find the io_context gone.
    core_->names().Close();
    asio::post(core_->io(), [core = core_] { core->Close(); });
}

struct BlockingHttpClient::State {
    std::mutex mutex;
    asio::io_context io{1};
    std::unique_ptr<HttpClient> client;
};

BlockingHttpClient::BlockingHttpClient(std::unique_ptr<State> state) : state_(std::move(state)) {}
BlockingHttpClient::~BlockingHttpClient() = default;

Result<std::unique_ptr<BlockingHttpClient>> BlockingHttpClient::Create(HttpClientOptions options) {
    auto state = std::make_unique<State>();
    auto client = HttpClient::Create(state->io, std::move(options));
    if (!client) return std::unexpected(client.error());
    state->client = std::move(*client);
    return std::unique_ptr<BlockingHttpClient>(new BlockingHttpClient(std::move(state)));
}

Result<HttpAnswer> BlockingHttpClient::Send(HttpCall call) {
    const std::lock_guard lock(state_->mutex);
    std::optional<Result<HttpAnswer>> answer;
    state_->client->Send(std::move(call),
                         [&](Result<HttpAnswer> result) { answer = std::move(result); });
    state_->io.restart();
    while (!answer) state_->io.run_one();  // Bounded by the call's deadline.
    return std::move(*answer);
}

}  // namespace takt::internal
