#include "worker/connector.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

namespace takt::internal {
namespace {

// A session that lasted this long was a good one: the next try need not wait for long.
constexpr Duration kGoodSession{5'000};

// Schedulers that point at each other: after so many moves in a row, wait as after a failure.
constexpr std::uint32_t kMovesMax = 3;

// Doubling further makes no difference to any backoff_max.
constexpr std::uint32_t kDoublingsMax = 20;

// A fleet that cannot reach its schedulers should not overrun whoever knows where they are.
constexpr Duration kFindAgain{5'000};

constexpr Duration kPing{10'000};

// Between tries that fail until somebody acts, as with a token that is refused: doubling from the
// first to the second.
constexpr Duration kPatientWaitMin{2'000};
constexpr Duration kPatientWaitMax{60'000};
constexpr std::string_view kTokenAdvice =
    ": the worker needs an access token with the role worker (--token, worker.token, or "
    "WorkerOptions::token)";
constexpr std::string_view kTooManyAdvice =
    ": too many wrong access tokens came from this address lately, and this worker's may be one of "
    "them; it needs one with the role worker (--token, worker.token, or WorkerOptions::token)";

std::string_view AdviceOn(const Error& error) {
    if (error.field == "Authorization") return kTokenAdvice;
    return error.field == "Retry-After" ? kTooManyAdvice : std::string_view();
}

// A namespace may still be made: that is looked for as often as for a scheduler.
std::string NotThere(const Error& error, const std::string& space) {
    if (error.field != ":path" || space.empty()) return {};
    return ": there is no namespace '" + space +
           "' (--namespace, worker.namespace, or WorkerOptions::name_space)";
}

// Bytes that the scheduler does not read; far more than one frame.
constexpr std::size_t kQueueBytesMax = 64 << 20;

}  // namespace

Duration LongestWait(const WorkerOptions& options, std::uint32_t failures, bool patient) {
    const Duration least = patient ? kPatientWaitMin : options.backoff_min;
    const Duration most = patient ? kPatientWaitMax : options.backoff_max;
    return std::min(most, Duration(least.count() << std::min(failures, kDoublingsMax)));
}

Connector::Connector(boost::asio::io_context& loop, HttpClient& client,
                     const WorkerOptions& options, Events events)
    : loop_(loop),
      client_(client),
      options_(options),
      events_(std::move(events)),
      random_(NewRandomSeed()),
      timer_(loop),
      servers_(options.servers) {
    // Any of them first: a fleet with one list should not all begin with the same server.
    next_server_ = random_.Below(servers_.size());
}

Connector::~Connector() = default;

void Connector::Start() {
    Try();
}

bool Connector::Send(std::string_view bytes) {
    return socket_ && socket_->SendBinary(bytes);
}

// Where to go next: where Moved pointed, else the next of the servers in turn. If that is where we
// come from, the one after it: a machine that lost its power does not even refuse, and to wait for
// it again would be to miss its successor's patience.
std::string Connector::TakeTarget() {
    const auto in_turn = [this] { return Target(servers_[next_server_++ % servers_.size()]); };
    std::string target = moved_to_.empty() ? in_turn() : Target(std::exchange(moved_to_, {}));
    if (target == target_) target = in_turn();
    target_ = target;
    return target;
}

std::string Connector::Target(std::string server) {
    if (!server.contains("://")) server = scheme_ + "://" + server;
    scheme_ = server.substr(0, server.find("://"));
    while (server.ends_with('/')) server.pop_back();
    // http → ws, https → wss.
    const std::string space = options_.space.empty() ? "" : "/namespaces/" + options_.space;
    return "ws" + server.substr(4) + "/api/v1" + space + "/workers/attach";
}

void Connector::Try() {
    if (finished_) return;
    const std::uint64_t number = ++number_;
    const auto mine = [this, number, sign = life_.sign()] {
        return sign.holds() && number == number_;
    };
    auto callbacks = std::make_shared<WebSocketCallbacks>();
    callbacks->options = {.message_bytes_max = options_.message_bytes_max,
                          .queue_bytes_max = kQueueBytesMax,
                          .ping_interval = kPing,
                          .close_timeout = std::chrono::seconds(1)};
    callbacks->on_open = [this, mine](std::shared_ptr<WebSocketSession> socket) {
        if (!mine()) return socket->Close(WebSocketCode::kGoingAway, "not needed any more");
        socket_ = std::move(socket);
        opened_at_ = SteadyClock::now();
        patient_ = false;
        events_.on_open();
    };
    callbacks->on_message = [this, mine](WebSocketMessage message) {
        if (mine() && socket_) events_.on_message(message);
    };
    callbacks->on_close = life_.Guard([this, number](const WebSocketClosed& closed) {
        OnClosed(number, closed.reason.empty() ? "the connection was lost" : closed.reason);
    });
    WebSocketCall call{.url = TakeTarget(), .timeout = options_.connect_timeout};
    if (!options_.token.empty()) {
        call.headers.emplace_back("Authorization", "Bearer " + options_.token);
    }
    client_.OpenWebSocket(std::move(call), std::move(callbacks), [this, mine](const Error& error) {
        if (!mine()) return;
        ++failures_;
        const std::string_view advice = AdviceOn(error);
        patient_ = !advice.empty();
        events_.on_failed(error.detail + std::string(advice) + NotThere(error, options_.space));
        FindServers();
        TryLater();
    });
}

void Connector::TryLater() {
    if (finished_) return;
    const Duration longest = LongestWait(options_, failures_, patient_);
    const auto delay = random_.Below(static_cast<std::uint64_t>(longest.count()) + 1);
    timer_.expires_after(Duration(static_cast<std::int64_t>(delay)));
    timer_.async_wait(life_.Guard([this](const boost::system::error_code& error) {
        if (!error) Try();
    }));
}

void Connector::FindServers() {
    const bool asked_lately = found_at_ != Steady{} && SteadyClock::now() - found_at_ < kFindAgain;
    if (!options_.find_servers || finding_ || asked_lately || failures_ < servers_.size()) return;
    finding_ = true;
    finder_ = std::jthread([this, life = life_.sign()] {
        auto found = options_.find_servers();
        boost::asio::post(loop_, [this, life, found = std::move(found)]() mutable {
            if (!life.holds()) return;
            finding_ = false;
            found_at_ = SteadyClock::now();
            if (!found) return events_.on_failed(found.error().detail);
            if (!found->empty()) servers_ = std::move(*found);
        });
    });
}

void Connector::OnClosed(std::uint64_t number, const std::string& why) {
    if (number != number_) return;
    if (finished_ && closed_) return std::exchange(closed_, nullptr)();
    Drop(why);
}

void Connector::Drop(const std::string& why) {
    if (!socket_) return;
    const bool good = SteadyClock::now() - opened_at_ >= kGoodSession;
    failures_ = good ? 0 : failures_ + 1;
    if (good) moves_ = 0;
    ++number_;
    std::exchange(socket_, nullptr)->Close(WebSocketCode::kNormal, "");
    events_.on_close(why);
    if (!moved_to_.empty() && ++moves_ <= kMovesMax) {
        // Not from inside a callback of the session that ends.
        return boost::asio::post(loop_, life_.Guard([this] { Try(); }));
    }
    TryLater();
}

void Connector::DropForLong(const std::string& why) {
    patient_ = true;
    Drop(why);
}

void Connector::Move(std::string_view address) {
    moved_to_ = address;
    Drop(address.empty() ? std::string(kNobodyLeads) : "another scheduler leads");
}

void Connector::Finish(std::function<void()> closed) {
    finished_ = true;
    timer_.cancel();
    if (!socket_) {
        ++number_;
        return closed();
    }
    closed_ = std::move(closed);
    std::exchange(socket_, nullptr)->Close(WebSocketCode::kNormal, "the worker stops");
}

}  // namespace takt::internal
