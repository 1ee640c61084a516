#include "store/redis/client.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <charconv>
#include <utility>

#include "base/check.h"
#include "store/redis/scripts.h"

namespace takt::internal::redis {
namespace {

namespace asio = boost::asio;

// Two, so that one long list does not hold up a look at one execution.
constexpr std::size_t kReadConnections = 2;
constexpr int kRedirectsMax = 5;  // As many as Redis' own clients follow.
constexpr int kRetriesMax = 2;

std::string Sha1(std::string_view text) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
    unsigned size = 0;
    TAKT_CHECK(EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr));
    std::string hex;
    for (unsigned i = 0; i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
    return hex;
}

// Errors that say that nothing was done and that it may go better later. Inside scripts Redis 6
// wraps them in a text of its own, so they are looked for anywhere in it.
struct Passing {
    std::string_view word;
    std::string_view sentence;
};
constexpr Passing kPassing[] = {
    {"OOM command not allowed", "Redis is at its maxmemory; raise it"},
    {"READONLY", "the server is a replica now"},
    {"LOADING", "Redis is loading its data"},
    {"MASTERDOWN", "the replica has lost its primary"},
    {"CLUSTERDOWN", "the Redis cluster is down"},
    {"TRYAGAIN", "the partition's slot is moving to another node"},
    {"non local key", "the partition's slot is moving to another node"},
    {"NOREPLICAS", "fewer replicas than min-replicas-to-write are connected"},
    {"MISCONF", "Redis cannot write its snapshot and refuses changes"},
    {"BUSY", "Redis is busy with another script"},
};

}  // namespace

Script::Script(std::string text) : source(std::move(text)), sha(Sha1(source)) {}

struct Client::Attempt {
    Call call;
    Done<Replies> done;
    Deadline deadline;
    Bytes keys, args, commands;
    bool load = false;    // Send the script's source, the server does not know it.
    bool asking = false;  // Send ASKING first, the slot is on its way.
    std::optional<Endpoint> target;
    bool sent = false;  // At least once.
    int redirects = 0;
    int retries = 0;

    std::vector<Bytes> Parts(const RedisOptions& options, std::size_t& replies) const {
        std::string head = asking ? Resp("ASKING") : std::string();
        replies = call.replies + (asking ? 1 : 0);
        if (call.script) {
            RespWriter writer;
            writer.Begin(3 + call.keys.count() + call.args.count());
            writer.Arg(load ? "EVAL" : "EVALSHA");
            writer.Arg(load ? call.script->source : call.script->sha);
            writer.Arg(call.keys.count());
            head += writer.bytes();
        }
        std::vector<Bytes> parts = {std::make_shared<const std::string>(std::move(head)), keys,
                                    args, commands};
        if (call.wait_replicas > 0) {
            parts.push_back(std::make_shared<const std::string>(
                Resp("WAIT", call.wait_replicas,
                     std::min(options.wait_timeout, call.wait_max).count())));
            ++replies;
        }
        return parts;
    }
};

Client::Client(const RedisOptions& options)
    : options_(options), io_(1), work_(asio::make_work_guard(io_)) {}

Result<std::unique_ptr<Client>> Client::Make(const RedisOptions& options) {
    std::unique_ptr<Client> client(new Client(options));
    if (options.tls.enabled) {
        Result<std::unique_ptr<TlsClientContext>> tls =
            TlsClientContext::Load({.ca_file = options.tls.ca_file,
                                    .certificate_file = options.tls.cert_file,
                                    .key_file = options.tls.key_file,
                                    .verify = options.tls.verify});
        if (!tls) return BadStoreUrl(tls.error().detail);
        client->tls_ = std::move(*tls);
    }
    client->topology_ =
        MakeTopology(client->io_, options, client->tls_.get(),
                     [client = client.get()](const Endpoint& old) { client->ForgetServer(old); });
    client->thread_ = std::thread([&io = client->io_] { io.run(); });
    return client;
}

Client::~Client() {
    if (!thread_.joinable()) return;
    Post([this] {
        closing_ = true;
        topology_->Close();
        for (const auto& [key, connection] : connections_) connection->Close();
        work_.reset();
    });
    thread_.join();
}

void Client::Post(std::move_only_function<void()> work) {
    asio::post(io_, std::move(work));
}

Result<void> Client::CheckReplicas(const Replies& replies) const {
    const std::uint64_t wanted = options_.wait_replicas;
    if (wanted == 0) return {};
    const std::uint64_t have = replies.back().view().number().value_or(0);
    if (have >= wanted) return {};
    return Fail(
        ErrorCode::kUnknown,
        fmt::format("{} of {} replicas have it; it is lost if the primary is", have, wanted));
}

void Client::Send(Call call, Done<Replies> done) {
    auto attempt = std::make_shared<Attempt>();
    attempt->done = std::move(done);
    attempt->deadline =
        std::chrono::steady_clock::now() + std::min(options_.timeout, call.timeout_max);
    attempt->keys = std::make_shared<const std::string>(std::move(call.keys).Take());
    attempt->args = std::make_shared<const std::string>(std::move(call.args).Take());
    attempt->commands = std::make_shared<const std::string>(std::move(call.commands));
    attempt->call = std::move(call);
    TryAttempt(std::move(attempt));
}

void Client::TryAttempt(AttemptPtr attempt) {
    if (closing_) {
        return attempt->done(Fail(ErrorCode::kCancelled, "the store was closed"));
    }
    if (attempt->target) return SendTo(*attempt->target, attempt);
    topology_->Locate(attempt->call.slot, attempt->deadline,
                      [this, attempt](std::expected<Endpoint, Failure> endpoint) {
                          if (!endpoint) return OnFailure(attempt, endpoint.error());
                          SendTo(*endpoint, attempt);
                      });
}

void Client::SendTo(const Endpoint& endpoint, AttemptPtr attempt) {
    if (closing_) return attempt->done(Fail(ErrorCode::kCancelled, "the store was closed"));
    std::size_t replies = 0;
    std::vector<Bytes> parts = attempt->Parts(options_, replies);
    ConnectionTo(endpoint, attempt->call.lane)
        .Send({.parts = std::move(parts),
               .replies = replies,
               .deadline = attempt->deadline,
               .done =
                   [this, attempt, endpoint](std::expected<Replies, Failure> answer) {
                       if (!answer) return OnFailure(attempt, answer.error());
                       OnAnswer(attempt, endpoint, std::move(*answer));
                   },
               .party = attempt->call.slot,
               .again = std::exchange(attempt->sent, true)});
}

void Client::OnFailure(AttemptPtr attempt, const Failure& failure) {
    using Kind = Failure::Kind;
    if (failure.kind == Kind::kCancelled) {
        if (closing_) return attempt->done(Fail(ErrorCode::kCancelled, failure.detail));
        return TryAttempt(std::move(attempt));  // It waited for a connection that we forgot.
    }
    topology_->Suspect();
    const bool elsewhere =
        failure.kind == Kind::kNotSent && options_.deployment != Deployment::kSingle;
    const bool again = elsewhere || (failure.kind == Kind::kLost && attempt->call.repeatable);
    const bool time_left = std::chrono::steady_clock::now() < attempt->deadline;
    if (again && time_left && !closing_ && attempt->retries < kRetriesMax) {
        ++attempt->retries;
        attempt->target.reset();
        attempt->asking = false;
        return TryAttempt(std::move(attempt));
    }
    const bool sent = failure.kind == Kind::kLost || failure.kind == Kind::kTimeout;
    if (sent && !attempt->call.repeatable) {
        return attempt->done(Fail(ErrorCode::kUnknown, "redis " + failure.detail));
    }
    attempt->done(Fail(ErrorCode::kUnavailable, "redis " + failure.detail,
                       failure.kind == Kind::kRefused ? "store" : ""));
}

void Client::OnAnswer(AttemptPtr attempt, const Endpoint& from, Replies replies) {
    if (std::exchange(attempt->asking, false)) replies.erase(replies.begin());
    attempt->target.reset();
    const auto error =
        std::ranges::find_if(replies, [](const Reply& reply) { return reply.view().is_error(); });
    if (error == replies.end()) return Deliver(std::move(attempt), from, std::move(replies));
    const std::string_view text = error->view().text();
    if (Redirected(attempt, from, text)) return TryAttempt(std::move(attempt));
    if (text.starts_with("READONLY") || text.find("-READONLY") != std::string_view::npos) {
        ForgetServer(from);
    }
    attempt->done(std::unexpected(ErrorOf(text, attempt->call)));
}

// A commit to a server that is being replaced is not acknowledged: it may be gone with that.
void Client::Deliver(AttemptPtr attempt, const Endpoint& from, Replies replies) {
    if (attempt->call.lane != Lane::kCommit) return attempt->done(std::move(replies));
    topology_->Confirm(from, attempt->deadline,
                       [this, attempt, from, replies = std::move(replies)](bool lasting) mutable {
                           if (lasting) return attempt->done(std::move(replies));
                           OnFailure(attempt,
                                     {Failure::Kind::kLost, Show(from) + ": a failover has begun"});
                       });
}

// Whether it is worth another try, elsewhere or with the script's source.
bool Client::Redirected(const AttemptPtr& attempt, const Endpoint& from, std::string_view error) {
    if (++attempt->redirects > kRedirectsMax) return false;
    if (error.starts_with("NOSCRIPT") && attempt->call.script) {
        attempt->load = true;
        attempt->target = from;
        return true;
    }
    const bool moved = error.starts_with("MOVED ");
    if (!moved && !error.starts_with("ASK ")) return false;
    const std::size_t colon = error.rfind(':');
    const std::size_t space = error.rfind(' ');
    if (colon == std::string_view::npos || space > colon) return false;
    Endpoint to{.host = std::string(error.substr(space + 1, colon - space - 1)), .port = 0};
    if (to.host.empty()) to.host = from.host;
    const std::string_view port = error.substr(colon + 1);
    if (std::from_chars(port.data(), port.data() + port.size(), to.port).ec != std::errc()) {
        return false;
    }
    if (moved) {
        topology_->Moved(attempt->call.slot, to);
    } else {
        attempt->asking = true;
    }
    attempt->target = std::move(to);
    return true;
}

Error Client::ErrorOf(std::string_view text, const Call& call) {
    for (const Passing& passing : kPassing) {
        if (text.find(passing.word) == std::string_view::npos) continue;
        topology_->Suspect();
        return {ErrorCode::kUnavailable, fmt::format("{} ({})", passing.sentence, text), {}};
    }
    if (text.starts_with("NOPERM") || text.starts_with("NOAUTH") || text.starts_with("WRONGPASS")) {
        return {ErrorCode::kUnavailable, fmt::format("Redis does not let us: {}", text), "store"};
    }
    // A script that failed half way: only the very same call may follow.
    const ErrorCode code = call.repeatable ? ErrorCode::kUnavailable : ErrorCode::kUnknown;
    return {code, fmt::format("Redis answered: {}", text), {}};
}

Connection& Client::ConnectionTo(const Endpoint& endpoint, Lane lane) {
    std::size_t index = static_cast<std::size_t>(lane);
    if (lane == Lane::kRead) index += ++reads_ % kReadConnections;
    auto& connection = connections_[{endpoint, index}];
    if (!connection) {
        connection = std::make_shared<Connection>(
            io_, ConnectionSetup{.endpoint = endpoint,
                                 .credentials = options_.credentials,
                                 .database = options_.database,
                                 .primary_only = options_.deployment == Deployment::kSentinel,
                                 .connect_timeout = options_.connect_timeout,
                                 .tls = tls_.get(),
                                 .by_turns = lane == Lane::kCommit,
                                 .script = lane == Lane::kCommit ? &kCommit.source : nullptr});
    }
    return *connection;
}

// The connections of a server that stopped being the primary: its name may lead to another now.
void Client::ForgetServer(const Endpoint& endpoint) {
    std::vector<std::shared_ptr<Connection>> old;
    for (auto it = connections_.begin(); it != connections_.end();) {
        if (it->first.first != endpoint) {
            ++it;
            continue;
        }
        old.push_back(it->second);
        it = connections_.erase(it);
    }
    for (const auto& connection : old) connection->Close();
}

}  // namespace takt::internal::redis
