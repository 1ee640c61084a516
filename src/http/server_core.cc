#include "http/server_core.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <cstring>

#include "http/connection.h"
#include "http/response_head.h"
#include "http/spawn.h"

namespace takt::internal::http {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;

// Connections taken per turn of the loop, so that a flood of new ones leaves time for the old.
constexpr int kAcceptsPerTurn = 64;
constexpr auto kBackoff = std::chrono::milliseconds(50);
constexpr auto kShedLogInterval = std::chrono::seconds(10);

// Addresses that one person can easily have many of count as one.
asio::ip::address AddressKey(const asio::ip::address& address) {
    if (address.is_v4()) return address;
    const auto v6 = address.to_v6();
    if (v6.is_v4_mapped()) return asio::ip::make_address_v4(asio::ip::v4_mapped, v6);
    auto bytes = v6.to_bytes();
    std::fill(bytes.begin() + 8, bytes.end(), 0);
    return v6.is_loopback() ? address : asio::ip::make_address_v6(bytes);
}

// A quarter of the shortest deadline, so that each is met within a quarter of itself.
Duration SweepInterval(const HttpServerOptions& options) {
    const Duration shortest =
        std::min({options.head_timeout, options.body_timeout, options.idle_timeout,
                  options.write_timeout, options.reply_timeout, options.tls_reload_interval});
    return std::clamp<Duration>(shortest / 4, std::chrono::milliseconds(5),
                                std::chrono::seconds(1));
}

}  // namespace

ServerCore::ServerCore(asio::io_context& io, HttpServerOptions options,
                       std::shared_ptr<HttpHandler> handler, std::shared_ptr<Admission> admission)
    : io_(io),
      options_(std::move(options)),
      handler_(std::move(handler)),
      admission_(std::move(admission)),
      acceptor_(io),
      sweep_timer_(io),
      backoff_timer_(io),
      turns_(std::make_shared<Turns>(io, options_.turn)),
      random_(NewRandomSeed()),
      sweep_interval_(SweepInterval(options_)) {
    HttpResponse refusal = RefusalOf(503, "too many connections");
    if (!options_.refusal) refusal.headers.emplace_back("Retry-After", "1");
    FormatHead(refusal,
               {.body_bytes = refusal.body.size(),
                .has_length = true,
                .connection = ConnectionHeader::kClose},
               overloaded_);
    overloaded_.append(refusal.body);
}

ServerCore::~ServerCore() {
    if (reserve_descriptor_ >= 0) ::close(reserve_descriptor_);
}

Result<void> ServerCore::LoadTls() {
    if (!options_.tls) return {};
    auto loaded = TlsServerContext::Load(*options_.tls);
    if (!loaded) return std::unexpected(loaded.error());
    tls_ = std::move(*loaded);
    return {};
}

Result<void> ServerCore::Open() {
    boost::system::error_code error;
    tcp::resolver resolver(io_);
    const auto found = resolver.resolve(options_.host, std::to_string(options_.port),
                                        tcp::resolver::passive, error);
    if (error || found.empty()) {
        return Fail(ErrorCode::kInvalid,
                    fmt::format("cannot listen on '{}': {}", options_.host, error.message()));
    }
    const tcp::endpoint endpoint = found.begin()->endpoint();
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(4096, error);  // The kernel caps it at net.core.somaxconn.
    if (!error) acceptor_.non_blocking(true, error);
    if (!error) port_ = acceptor_.local_endpoint(error).port();
    if (error) {
        const bool taken = error == asio::error::address_in_use;
        return Fail(taken ? ErrorCode::kUnavailable : ErrorCode::kInvalid,
                    fmt::format("cannot listen on {}:{}: {}", options_.host, options_.port,
                                error.message()));
    }
    reserve_descriptor_ = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    return {};
}

void ServerCore::Start() {
    asio::post(io_, [core = weak_from_this()] {
        if (const auto self = core.lock()) self->Sweep();
    });
}

void ServerCore::Accept(std::vector<std::weak_ptr<ServerCore>> all) {
    all_ = std::move(all);
    Spawn(io_.get_executor(), AcceptLoop(shared_from_this()), "http accept", options_.log);
}

void ServerCore::Log(HttpLogLevel level, std::string_view message) const {
    LogHttp(options_.log, level, message);
}

asio::awaitable<void> ServerCore::AcceptLoop(std::shared_ptr<ServerCore> self) {
    while (!stopping_) {
        const auto [error] = co_await acceptor_.async_wait(asio::socket_base::wait_read,
                                                           asio::as_tuple(asio::use_awaitable));
        if (error) break;  // Closed by Stop.
        for (int i = 0; i < kAcceptsPerTurn && !stopping_; ++i) {
            const Accepted accepted = AcceptOne();
            if (accepted == Accepted::kNone) break;
            if (accepted == Accepted::kNoDescriptor && !ShedOne()) {
                // Not even the reserve was left. Waiting is all that remains; spinning would not
                // free a descriptor.
                backoff_timer_.expires_after(kBackoff);
                co_await backoff_timer_.async_wait(asio::as_tuple(asio::use_awaitable));
                break;
            }
        }
    }
}

ServerCore::Accepted ServerCore::AcceptOne() {
    tcp::endpoint remote;
    socklen_t size = static_cast<socklen_t>(remote.capacity());
    const int descriptor =
        ::accept4(acceptor_.native_handle(), remote.data(), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor >= 0) {
        remote.resize(size);
        Admit(descriptor, remote);
        return Accepted::kOne;
    }
    switch (errno) {
        case EAGAIN:
            return Accepted::kNone;
        case EMFILE:
        case ENFILE:
        case ENOMEM:
        case ENOBUFS:
            return Accepted::kNoDescriptor;
        default:
            return Accepted::kOne;  // That connection died in the queue; the next may not.
    }
}

// Without a free descriptor the kernel's queue fills with clients that wait for nothing. The
// reserve gives each of them a quick refusal instead.
bool ServerCore::ShedOne() {
    if (const Steady now = SteadyClock::now(); now - shed_logged_ > kShedLogInterval) {
        shed_logged_ = now;
        Log(HttpLogLevel::kError, fmt::format("out of file descriptors with {} connections; "
                                              "refusing new ones (raise ulimit -n)",
                                              connections_.size()));
    }
    if (reserve_descriptor_ < 0) {
        reserve_descriptor_ = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (reserve_descriptor_ < 0) return false;
    }
    ::close(reserve_descriptor_);
    const int descriptor =
        ::accept4(acceptor_.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor >= 0) Refuse(descriptor);
    reserve_descriptor_ = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    return reserve_descriptor_ >= 0 && descriptor >= 0;
}

// Best effort, and closes the descriptor. A TLS client would not understand it.
void ServerCore::Refuse(int descriptor) {
    ++refused_;
    if (!tls_) {
        std::array<char, 4096> unread{};
        static_cast<void>(::send(descriptor, overloaded_.data(), overloaded_.size(), MSG_NOSIGNAL));
        ::shutdown(descriptor, SHUT_WR);
        // Unread bytes would turn the close into a reset and could lose the answer.
        static_cast<void>(::recv(descriptor, unread.data(), unread.size(), 0));
    }
    ::close(descriptor);
}

// To one core after the other: connections last, so each gets its share.
void ServerCore::Admit(int descriptor, const tcp::endpoint& remote) {
    const asio::ip::address key = AddressKey(remote.address());
    if (!admission_->Enter(key)) return Refuse(descriptor);
    const auto core = all_[next_++ % all_.size()].lock();
    if (!core || core.get() == this) return Serve(descriptor, remote, key);
    asio::post(core->io(),
               [core, descriptor, remote, key] { core->Serve(descriptor, remote, key); });
}

void ServerCore::Serve(int descriptor, const tcp::endpoint& remote, const asio::ip::address& key) {
    tcp::socket socket(io_);
    boost::system::error_code error;
    if (!stopping_) socket.assign(remote.protocol(), descriptor, error);
    if (stopping_ || error) {
        if (error) {
            Log(HttpLogLevel::kError, fmt::format("cannot use a connection: {}", error.message()));
        }
        ::close(descriptor);
        return admission_->Leave(key);
    }
    const auto connection = std::make_shared<Connection>(
        shared_from_this(),
        std::make_shared<Transport>(std::move(socket), tls_ ? tls_->NewSession() : nullptr), remote,
        key);
    Add(connection.get());
    Spawn(io_.get_executor(), connection->Run(connection), "http connection", options_.log);
}

void ServerCore::Add(Connection* connection) {
    connections_.insert(connection);
}

void ServerCore::Remove(Connection* connection, const asio::ip::address& key) {
    connections_.erase(connection);
    admission_->Leave(key);
    if (stopping_ && connections_.empty()) FinishStop();
}

std::string ServerCore::NewRequestId() {
    constexpr std::string_view kDigits = "0123456789abcdefghjkmnpqrstvwxyz";
    std::string id(12, '0');  // 60 random bits; short enough to need no allocation.
    std::uint64_t bits = random_.Next();
    for (char& c : id) {
        c = kDigits[bits & 31];
        bits >>= 5;
    }
    return id;
}

HttpResponse ServerCore::RefusalOf(int status, std::string_view reason) const {
    if (options_.refusal) return options_.refusal(status, reason);
    return HttpResponse::Text(status, std::string(reason) + "\n");
}

GzipWriter& ServerCore::gzip() {
    if (!gzip_) gzip_ = std::make_unique<GzipWriter>();
    return *gzip_;
}

bool ServerCore::HoldBody(std::size_t bytes, bool stranger) {
    const std::size_t bytes_max = options_.body_bytes_total_max;
    if (body_bytes_ + bytes > bytes_max) return false;
    if (stranger && stranger_bytes_ + bytes > bytes_max / 4) return false;
    body_bytes_ += bytes;
    if (stranger) stranger_bytes_ += bytes;
    return true;
}

void ServerCore::ReleaseBody(std::size_t bytes, bool stranger) {
    body_bytes_ -= bytes;
    if (stranger) stranger_bytes_ -= bytes;
}

void ServerCore::ArmSweep() {
    sweep_timer_.expires_after(sweep_interval_);
    sweep_timer_.async_wait([core = weak_from_this()](const boost::system::error_code& error) {
        if (error) return;
        if (const auto self = core.lock()) self->Sweep();
    });
}

// One timer for all connections: a deadline costs a request two stores instead of two heap
// operations.
void ServerCore::Sweep() {
    const Instant now = ReadClocks();
    date_ = fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT",
                        fmt::gmtime(std::chrono::system_clock::to_time_t(now.wall)));
    const bool cut = stopping_ && now.steady >= drain_until_;
    // A copy: what a connection does when its time is up may remove it.
    const std::vector<Connection*> all(connections_.begin(), connections_.end());
    for (Connection* connection : all) {
        if (!connections_.contains(connection)) continue;
        if (cut) {
            connection->Abort();
        } else {
            connection->Tick(now.steady);
        }
    }
    if (tls_ && now.steady - tls_checked_ >= options_.tls_reload_interval) ReloadTls();
    if (stopping_ && connections_.empty()) return FinishStop();
    ArmSweep();
}

void ServerCore::ReloadTls() {
    if (!tls_) return;
    tls_checked_ = SteadyClock::now();
    const auto reloaded = tls_->ReloadIfChanged();
    if (!reloaded) {
        Log(HttpLogLevel::kError,
            "TLS files changed but cannot be used, the old ones stay: " + reloaded.error().detail);
    } else if (*reloaded) {
        Log(HttpLogLevel::kInfo, "TLS certificate reloaded");
    }
}

void ServerCore::Stop(std::chrono::milliseconds drain, std::move_only_function<void()> stopped) {
    if (stopped) stopped_.push_back(std::move(stopped));
    const Steady until = SteadyClock::now() + drain;
    drain_until_ = stopping_ ? std::min(drain_until_, until) : until;
    stopping_ = true;
    boost::system::error_code ignored;  // Closed twice when Stop is called twice.
    acceptor_.close(ignored);
    backoff_timer_.cancel();
    if (connections_.empty()) return FinishStop();
    const std::vector<Connection*> all(connections_.begin(), connections_.end());
    for (Connection* connection : all) connection->Drain();
    if (until <= SteadyClock::now()) Sweep();
}

void ServerCore::Abort() {
    Stop(std::chrono::milliseconds(0), {});
}

void ServerCore::FinishStop() {
    sweep_timer_.cancel();
    for (auto& stopped : std::exchange(stopped_, {})) stopped();
}

}  // namespace takt::internal::http
