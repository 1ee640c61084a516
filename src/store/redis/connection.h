// Connection: one pipelined connection to one Redis server, over TCP or TLS.
//
// Connects when it has something to send, again and again with growing pauses, and answers every
// request exactly once, by its deadline at the latest. Belongs to the thread of its io_context: all
// calls, and all answers, happen there.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "store/redis/options.h"
#include "store/redis/resp.h"
#include "store/redis/turns.h"
#include "tls/client_context.h"

namespace takt::internal::redis {

using Deadline = std::chrono::steady_clock::time_point;
using Bytes = std::shared_ptr<const std::string>;

// Why there is no reply.
struct Failure {
    enum class Kind : std::uint8_t {
        kNotSent,    // No byte of it reached the server.
        kLost,       // The connection broke; the server may have got it.
        kTimeout,    // As kLost, because the answer did not come in time.
        kRefused,    // The server does not let us in: password, user, database, certificate.
        kCancelled,  // The connection was closed by its owner before it was sent.
    };
    Kind kind;
    std::string detail;
};

struct Request {
    std::vector<Bytes> parts;  // Their bytes, one after the other, are `replies` commands.
    std::size_t replies = 1;
    Deadline deadline;
    std::move_only_function<void(std::expected<Replies, Failure>)> done;
    Turns::Party party = 0;  // Whose it is, where parties take turns.
    bool again = false;      // Sent before and not done: goes before those that were not sent yet.
    std::size_t bytes = 0;   // Of its parts; Send counts them.
};

struct ConnectionSetup {
    Endpoint endpoint;
    Credentials credentials;
    unsigned database = 0;
    bool primary_only = false;  // A replica is no good: the connection fails.
    Duration connect_timeout{2'000};
    TlsClientContext* tls = nullptr;  // Null is plain TCP.
    bool by_turns = false;            // Parties take turns (turns.h); else all goes at once.
    // A script that the server is given before the first request, so that none of a row of requests
    // that call it comes back for want of it and lets the next overtake it. Null is none.
    const std::string* script = nullptr;
};

class Connection : public std::enable_shared_from_this<Connection> {
  public:
    Connection(boost::asio::io_context& io, ConnectionSetup setup);
    ~Connection();

    // How many may wait is bounded by the users: the node's pipeline of commits, its few lease
    // calls, and the reads that the API serves at once.
    void Send(Request request);

    // A command that was not sent ends with kCancelled, one that was is still waited for. REQUIRES:
    // no Send afterwards.
    void Close();

    const Endpoint& endpoint() const { return setup_.endpoint; }

  private:
    enum class State : std::uint8_t { kIdle, kPausing, kConnecting, kReady };
    using Socket = boost::asio::ip::tcp::socket;
    using Tls = boost::asio::ssl::stream<Socket&>;
    struct ReaderFree {
        void operator()(redisReader* reader) const { redisReaderFree(reader); }
    };
    struct InFlight {
        std::size_t replies_left;
        Replies replies;
        Deadline deadline;
        std::move_only_function<void(std::expected<Replies, Failure>)> done;
        bool has_turn = true;  // All but the greeting.
    };

    // Each callback of an earlier connection finds a higher generation and does nothing.
    template <typename Handler>
    auto Guard(Handler handler);

    void Begin();
    void Resolved(const boost::asio::ip::tcp::resolver::results_type& results);
    void Connected();
    void Greet();
    void Greeted(std::expected<Replies, Failure> replies);
    void Ready();
    void BreakOff(Failure::Kind kind, const std::string& detail);
    void Reset();
    void Pause();

    void Write();
    // Takes the requests out of pending_ that may be written now, and notes them as in flight.
    std::vector<Bytes> TakeToWrite();
    void Read();
    void Received(std::size_t size);
    bool Deliver(Reply reply);
    void Watch(Deadline deadline);
    void Expire();
    void FinishClosing();

    const ConnectionSetup setup_;
    State state_ = State::kIdle;
    bool closing_ = false;
    bool greeting_ = false;
    std::uint64_t generation_ = 0;
    Duration pause_{0};

    boost::asio::ip::tcp::resolver resolver_;
    Socket socket_;
    std::shared_ptr<Tls> tls_;  // Also held by what is under way on it, which uses it to the end.
    boost::asio::steady_timer connect_timer_;  // Ends an attempt to connect, and pauses after it.
    boost::asio::steady_timer deadline_timer_;
    Deadline watched_ = Deadline::max();

    std::deque<Request> pending_;
    std::deque<InFlight> in_flight_;
    Turns turns_;
    // The bytes that are being written. Also held by the write itself, which over TLS goes on for a
    // while after Reset has forgotten it here.
    std::shared_ptr<const std::vector<Bytes>> writing_;
    std::unique_ptr<redisReader, ReaderFree> reader_;
    std::array<char, 64 * 1024> input_;
};

}  // namespace takt::internal::redis
