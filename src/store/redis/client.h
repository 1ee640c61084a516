// Client: calls to Redis, wherever the key lives. Finds the server, keeps its connections, follows
// MOVED and ASK, loads scripts that a server does not know, and turns what can go wrong into the
// store's errors.
//
// One thread of its own does all the work; answers come from there.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "base/error.h"
#include "store/redis/connection.h"
#include "store/redis/options.h"
#include "store/redis/resp.h"
#include "store/redis/topology.h"
#include "store/store.h"
#include "tls/client_context.h"

namespace takt::internal::redis {

// A Lua script, which servers know by the hash of its source.
struct Script {
    explicit Script(std::string text);
    const std::string source;
    const std::string sha;
};

// Each has connections of its own, so that a long list never holds up a commit, nor a large commit
// the renewal of the lease.
enum class Lane : std::uint8_t { kLease, kCommit, kRead };

struct Call {
    Lane lane = Lane::kRead;
    HashSlot slot = 0;
    // Doing it twice is as good as once: it is sent again if the connection breaks, and fails with
    // kUnavailable where others fail with kUnknown.
    bool repeatable = true;
    Duration timeout_max{600'000};    // Shortens the client's own time limit.
    std::uint64_t wait_replicas = 0;  // Then WAIT follows, and its reply is the last one.
    Duration wait_max{600'000};       // Shortens the time for that: its connection stands still.

    // Either a script with its keys and arguments, or whole commands.
    const Script* script = nullptr;
    RespWriter keys;
    RespWriter args;
    std::string commands;
    std::size_t replies = 1;
};

class Client {
  public:
    // kInvalid if the files for TLS cannot be used.
    static Result<std::unique_ptr<Client>> Make(const RedisOptions& options);
    ~Client();

    const RedisOptions& options() const { return options_; }

    // Runs `work` in the client's thread, later. From any thread.
    void Post(std::move_only_function<void()> work);

    // Whether as many replicas have a write as the options ask for, by the reply of its WAIT. kUnknown
    // if fewer do.
    Result<void> CheckReplicas(const Replies& replies) const;

    // As many replies as the call has commands, none of them an error. `field` of an error is
    // "store" if the server turned us away, which waiting does not change. REQUIRES: in the
    // client's thread.
    void Send(Call call, Done<Replies> done);

  private:
    struct Attempt;
    using AttemptPtr = std::shared_ptr<Attempt>;

    explicit Client(const RedisOptions& options);
    void TryAttempt(AttemptPtr attempt);
    void SendTo(const Endpoint& endpoint, AttemptPtr attempt);
    void OnFailure(AttemptPtr attempt, const Failure& failure);
    void OnAnswer(AttemptPtr attempt, const Endpoint& from, Replies replies);
    void Deliver(AttemptPtr attempt, const Endpoint& from, Replies replies);
    bool Redirected(const AttemptPtr& attempt, const Endpoint& from, std::string_view error);
    Error ErrorOf(std::string_view text, const Call& call);
    Connection& ConnectionTo(const Endpoint& endpoint, Lane lane);
    void ForgetServer(const Endpoint& endpoint);

    const RedisOptions options_;
    boost::asio::io_context io_;
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
    std::unique_ptr<TlsClientContext> tls_;
    std::shared_ptr<Topology> topology_;
    bool closing_ = false;
    std::size_t reads_ = 0;
    std::map<std::pair<Endpoint, std::size_t>, std::shared_ptr<Connection>> connections_;
    std::thread thread_;
};

}  // namespace takt::internal::redis
