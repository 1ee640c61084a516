// Connector: keeps one WebSocket to the leading scheduler, wherever that is.
//
// Tries the given servers in turn, goes where Moved points, and asks where they are if all seem to
// be gone. Between tries it waits with full jitter: random in [0, d), d doubling from backoff_min
// to backoff_max, so that a thousand workers do not come back in step after a scheduler died.
//
// On the thread of its loop only.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/life.h"
#include "base/random.h"
#include "http/client.h"
#include "worker/options.h"

namespace takt::internal {

// How long to wait at most before the next try, after so many failures in a row. A worker whose
// token is refused, or whose id another one has, is patient: somebody has to act first.
Duration LongestWait(const WorkerOptions& options, std::uint32_t failures, bool patient);

// The reason of a session that ended since no scheduler is known to lead.
constexpr std::string_view kNobodyLeads = "nobody leads";

class Connector {
  public:
    struct Events {
        std::function<void()> on_open;  // The session is there; Hello is to be said.
        std::function<void(WebSocketMessage)> on_message;
        std::function<void(const std::string& why)> on_close;   // After on_open; will try again.
        std::function<void(const std::string& why)> on_failed;  // A try failed; will try again.
    };

    Connector(boost::asio::io_context& loop, HttpClient& client, const WorkerOptions& options,
              Events events);
    ~Connector();

    void Start();

    // False when there is no session, or it takes no more.
    bool Send(std::string_view bytes);
    std::size_t queued_bytes() const { return socket_ ? socket_->queued_bytes() : 0; }
    bool open() const { return socket_ != nullptr; }

    // The leader is at `address`, a URL or host:port; empty is unknown. Ends the session.
    void Move(std::string_view address);
    // Ends the session and tries again.
    void Drop(const std::string& why);
    // The same, and tries as seldom as with a token that is refused.
    void DropForLong(const std::string& why);
    // Sends what is queued, ends the session and does not try again. `closed` comes when the
    // connection is gone, at once if there is none.
    void Finish(std::function<void()> closed);

  private:
    void TryLater();
    void Try();
    void FindServers();
    void OnClosed(std::uint64_t number, const std::string& why);
    std::string TakeTarget();
    std::string Target(std::string server);

    boost::asio::io_context& loop_;
    HttpClient& client_;
    const WorkerOptions& options_;
    const Events events_;
    Random random_;
    boost::asio::steady_timer timer_;
    std::shared_ptr<WebSocketSession> socket_;
    std::uint64_t number_ = 0;  // Of the current try; tells late callbacks of earlier ones.
    std::vector<std::string> servers_;
    std::size_t next_server_ = 0;
    bool finding_ = false;
    Steady found_at_{};
    std::string scheme_ = "http";  // Of the server tried last.
    std::string target_;           // Tried last.
    std::string moved_to_;
    std::uint32_t moves_ = 0;     // In a row, without a session that lasted.
    std::uint32_t failures_ = 0;  // In a row.
    bool patient_ = false;        // The last of them will not pass by itself: somebody must act.
    Steady opened_at_{};
    bool finished_ = false;
    std::function<void()> closed_;
    Life life_;
    std::jthread finder_;  // Of find_servers; awaited before all else goes.
};

}  // namespace takt::internal
