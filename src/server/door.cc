#include "server/door.h"

#include <utility>

#include "api/forward.h"

namespace takt::internal {
namespace {

// As many as may watch events; see EventHub.
constexpr std::size_t kStreamsMax = 10'000;

Result<std::unique_ptr<HttpClient>> MakeDoorClient(boost::asio::io_context& loop,
                                                   HttpClientOptions options) {
    auto made = HttpClient::Create(loop, std::move(options));
    // Only the file of authorities can be wrong.
    if (!made) return Fail(made.error().code, made.error().detail, "server.tls_ca");
    return made;
}

}  // namespace

Door::Door(boost::asio::io_context& loop, Thread thread)
    : loop_(loop), own_(thread == Thread::kOwn) {
    if (own_) work_.emplace(loop_.get_executor());
}

Result<void> Door::MakeClients(const TlsClientOptions& tls) {
    auto client = MakeDoorClient(loop_, {.tls = tls});
    if (!client) return std::unexpected(client.error());
    auto streams = MakeDoorClient(loop_, {.connections_per_host_max = kStreamsMax, .tls = tls});
    if (!streams) return std::unexpected(streams.error());
    TlsClientOptions anybody = tls;
    anybody.system_too = true;
    auto outside = MakeDoorClient(loop_, {.connections_per_host_max = 4, .tls = anybody});
    if (!outside) return std::unexpected(outside.error());
    client_ = std::move(*client);
    outside_ = std::move(*outside);
    streams_ = std::move(*streams);
    return {};
}

void Door::MakeApi(ApiParts parts) {
    parts.after = [this](Duration delay, auto action) { runtime_.After(delay, std::move(action)); };
    parts.forward = ForwardOver(*client_, parts.family->reach);
    parts.stream = StreamOver(*streams_);
    api_ = Api::Make(std::move(parts));
    relay_->Set(api_);
}

void Door::Start() {
    if (own_) thread_ = std::thread([this] { loop_.run(); });
}

void Door::Stop() {
    work_.reset();
    if (own_) loop_.stop();
    if (thread_.joinable()) thread_.join();
}

}  // namespace takt::internal
