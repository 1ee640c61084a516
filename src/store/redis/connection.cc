#include "store/redis/connection.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <random>
#include <utility>

namespace takt::internal::redis {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

// Short enough that a restarted server is found at once, long enough that a hundred clients of a
// dead one do no harm.
constexpr Duration kPauseMin{20};
constexpr Duration kPauseMax{1'000};

Duration Jittered(Duration pause) {
    thread_local std::minstd_rand random{std::random_device{}()};
    std::uniform_int_distribution<Duration::rep> less(0, pause.count() / 4);
    return pause - Duration(less(random));
}

bool StartsWithAny(std::string_view text, std::initializer_list<std::string_view> words) {
    return std::ranges::any_of(words,
                               [&](std::string_view word) { return text.starts_with(word); });
}

}  // namespace

template <typename Handler>
auto Connection::Guard(Handler handler) {
    return [self = shared_from_this(), tls = tls_, generation = generation_,
            handler = std::move(handler)](auto&&... args) mutable {
        if (self->generation_ == generation) handler(std::forward<decltype(args)>(args)...);
    };
}

Connection::Connection(asio::io_context& io, ConnectionSetup setup)
    : setup_(std::move(setup)),
      resolver_(io),
      socket_(io),
      connect_timer_(io),
      deadline_timer_(io) {}

Connection::~Connection() = default;

void Connection::Send(Request request) {
    Watch(request.deadline);
    for (const Bytes& part : request.parts) request.bytes += part->size();
    if (setup_.by_turns) turns_.Note(request.party, std::chrono::steady_clock::now());
    // A commit that is sent again, with its script, must not come behind the one that follows it.
    const auto place =
        request.again ? std::ranges::find(pending_, false, &Request::again) : pending_.end();
    pending_.insert(place, std::move(request));
    if (state_ == State::kIdle) Begin();
    if (state_ == State::kReady) Write();
}

void Connection::Close() {
    closing_ = true;
    auto pending = std::exchange(pending_, {});
    for (Request& request : pending) {
        request.done(std::unexpected(Failure{Failure::Kind::kCancelled, "the store was closed"}));
    }
    FinishClosing();
}

void Connection::FinishClosing() {
    if (!closing_ || (state_ == State::kReady && !in_flight_.empty())) return;
    in_flight_.clear();
    turns_.EndAll();
    Reset();
    state_ = State::kIdle;
    connect_timer_.cancel();
    deadline_timer_.cancel();
    watched_ = Deadline::max();
}

// --- Connecting --------------------------------------------------------------------------------

void Connection::Begin() {
    state_ = State::kConnecting;
    ++generation_;
    connect_timer_.expires_after(setup_.connect_timeout);
    connect_timer_.async_wait(Guard([this](error_code error) {
        if (!error && state_ == State::kConnecting) {
            BreakOff(Failure::Kind::kNotSent, "no connection within its time limit");
        }
    }));
    const asio::ip::tcp::resolver::flags flags = asio::ip::resolver_base::numeric_service;
    resolver_.async_resolve(
        setup_.endpoint.host, std::to_string(setup_.endpoint.port), flags,
        Guard([this](error_code error, const asio::ip::tcp::resolver::results_type& results) {
            if (error) return BreakOff(Failure::Kind::kNotSent, error.message());
            Resolved(results);
        }));
}

void Connection::Resolved(const asio::ip::tcp::resolver::results_type& results) {
    asio::async_connect(socket_, results,
                        Guard([this](error_code error, const asio::ip::tcp::endpoint&) {
                            if (error) return BreakOff(Failure::Kind::kNotSent, error.message());
                            Connected();
                        }));
}

void Connection::Connected() {
    error_code ignored;  // Both only make things quicker; a socket without them works.
    socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
    socket_.set_option(asio::socket_base::keep_alive(true), ignored);
    reader_.reset(redisReaderCreate());
    // Replies of some megabytes are usual here; do not give the buffer back after each.
    reader_->maxbuf = 1 << 20;
    if (!setup_.tls) return Greet();
    // The stream owns the session.
    tls_ = std::make_shared<Tls>(socket_, setup_.tls->NewSession(setup_.endpoint.host).release());
    tls_->async_handshake(asio::ssl::stream_base::client, Guard([this](error_code error) {
                              if (error) {
                                  return BreakOff(Failure::Kind::kRefused,
                                                  "TLS: " + error.message());
                              }
                              Greet();
                          }));
}

void Connection::Greet() {
    std::string text;
    std::size_t replies = 0;
    const auto add = [&](std::string command) {
        text += command;
        ++replies;
    };
    const auto& [user, password] = setup_.credentials;
    if (!user.empty()) {
        add(Resp("AUTH", user, password));
    } else if (!password.empty()) {
        add(Resp("AUTH", password));
    }
    if (setup_.database != 0) add(Resp("SELECT", setup_.database));
    if (setup_.primary_only) add(Resp("ROLE"));
    if (setup_.script) add(Resp("SCRIPT", "LOAD", *setup_.script));
    if (replies == 0) {
        Ready();
        return Read();
    }
    greeting_ = true;
    in_flight_.push_back(
        {replies, {}, Deadline::max(), [this](auto answer) { Greeted(std::move(answer)); }, false});
    writing_ = std::make_shared<const std::vector<Bytes>>(
        1, std::make_shared<const std::string>(std::move(text)));
    const auto written = [this, held = writing_](error_code error, std::size_t) {
        writing_.reset();
        if (error) return BreakOff(Failure::Kind::kNotSent, error.message());
        // The answers may be quicker than this.
        if (state_ == State::kReady) Write();
    };
    const auto buffer = asio::buffer(*writing_->front());
    if (tls_) {
        asio::async_write(*tls_, buffer, Guard(written));
    } else {
        asio::async_write(socket_, buffer, Guard(written));
    }
    Read();
}

// Called from within Deliver.
void Connection::Greeted(std::expected<Replies, Failure> replies) {
    greeting_ = false;
    if (!replies) return;  // BreakOff is at work and tells everybody.
    for (const Reply& reply : *replies) {
        const ReplyView view = reply.view();
        if (view.is_error()) {
            // A user who may run scripts but not load them: it is sent when it turns out to be missing.
            const bool script = setup_.script && &reply == &replies->back();
            if (script && view.text().starts_with("NOPERM")) continue;
            const bool passing = StartsWithAny(view.text(), {"LOADING", "MASTERDOWN", "BUSY"});
            return BreakOff(passing ? Failure::Kind::kNotSent : Failure::Kind::kRefused,
                            std::string(view.text()));
        }
        if (view.is_array() && view[0].text() != "master") {
            return BreakOff(Failure::Kind::kNotSent, "the server is not the primary");
        }
    }
    Ready();
}

void Connection::Ready() {
    state_ = State::kReady;
    pause_ = Duration(0);
    connect_timer_.cancel();
    Write();
}

// --- Failing -----------------------------------------------------------------------------------

void Connection::BreakOff(Failure::Kind kind, const std::string& detail) {
    const bool was_ready = state_ == State::kReady;
    const std::string text = Show(setup_.endpoint) + ": " + detail;
    Reset();
    state_ = State::kIdle;
    auto in_flight = std::exchange(in_flight_, {});
    turns_.EndAll();
    // A request that waits behind a connection that broke still has its own attempt to come.
    auto pending = was_ready ? std::deque<Request>() : std::exchange(pending_, {});
    if (!was_ready) Pause();
    const bool timeout = kind == Failure::Kind::kTimeout;
    for (InFlight& request : in_flight) {
        const auto lost = timeout ? Failure::Kind::kTimeout : Failure::Kind::kLost;
        request.done(std::unexpected(Failure{lost, text}));
    }
    const bool refused = kind == Failure::Kind::kRefused;
    for (Request& request : pending) {
        const auto unsent = refused ? Failure::Kind::kRefused : Failure::Kind::kNotSent;
        request.done(std::unexpected(Failure{unsent, text}));
    }
    if (closing_) return FinishClosing();
    if (state_ == State::kIdle && !pending_.empty()) Begin();
}

void Connection::Reset() {
    ++generation_;
    greeting_ = false;
    resolver_.cancel();
    error_code ignored;  // Whatever closing says, the socket is gone.
    socket_.close(ignored);
    tls_.reset();
    writing_.reset();
}

void Connection::Pause() {
    state_ = State::kPausing;
    pause_ = std::clamp(pause_ * 2, kPauseMin, kPauseMax);
    connect_timer_.expires_after(Jittered(pause_));
    connect_timer_.async_wait(Guard([this](error_code error) {
        if (error || state_ != State::kPausing) return;
        state_ = State::kIdle;
        if (!pending_.empty()) Begin();
    }));
}

// --- Sending and receiving ---------------------------------------------------------------------

void Connection::Write() {
    if (writing_ || pending_.empty() || state_ != State::kReady) return;
    std::vector<Bytes> parts = TakeToWrite();
    if (parts.empty()) return;  // They wait for their turns.
    std::vector<asio::const_buffer> buffers;
    for (const Bytes& part : parts) buffers.push_back(asio::buffer(*part));
    writing_ = std::make_shared<const std::vector<Bytes>>(std::move(parts));
    const auto written = [this, held = writing_](error_code error, std::size_t) {
        writing_.reset();
        if (error) return BreakOff(Failure::Kind::kLost, error.message());
        Write();
    };
    if (tls_) {
        asio::async_write(*tls_, buffers, Guard(written));
    } else {
        asio::async_write(socket_, buffers, Guard(written));
    }
}

std::vector<Bytes> Connection::TakeToWrite() {
    std::vector<Bytes> parts;
    const Deadline now = std::chrono::steady_clock::now();
    while (!pending_.empty()) {
        const auto next =
            setup_.by_turns ? turns_.Next(pending_, now) : std::optional<std::size_t>(0);
        if (!next) break;
        Request request = std::move(pending_[*next]);
        pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(*next));
        for (Bytes& part : request.parts) {
            if (!part->empty()) parts.push_back(std::move(part));
        }
        turns_.Begin(request.party, request.bytes);
        in_flight_.push_back({request.replies, {}, request.deadline, std::move(request.done)});
    }
    return parts;
}

void Connection::Read() {
    const auto received = [this](error_code error, std::size_t size) {
        if (error) return BreakOff(Failure::Kind::kLost, error.message());
        Received(size);
    };
    if (tls_) {
        tls_->async_read_some(asio::buffer(input_), Guard(received));
    } else {
        socket_.async_read_some(asio::buffer(input_), Guard(received));
    }
}

void Connection::Received(std::size_t size) {
    const std::uint64_t generation = generation_;
    redisReaderFeed(reader_.get(), input_.data(), size);
    while (true) {
        void* raw = nullptr;
        if (redisReaderGetReply(reader_.get(), &raw) != REDIS_OK) {
            return BreakOff(Failure::Kind::kLost, std::string("not RESP: ") + reader_->errstr);
        }
        if (!raw) break;
        if (!Deliver(Reply(static_cast<redisReply*>(raw)))) {
            return BreakOff(Failure::Kind::kLost, "a reply to nothing");
        }
        if (generation_ != generation) return;  // An answer made somebody close or reset us.
    }
    Read();
}

// False if nobody waits for a reply.
bool Connection::Deliver(Reply reply) {
    if (in_flight_.empty()) return false;
    InFlight& first = in_flight_.front();
    first.replies.push_back(std::move(reply));
    if (--first.replies_left > 0) return true;
    InFlight complete = std::move(first);
    in_flight_.pop_front();
    if (complete.has_turn) turns_.EndOldest();
    complete.done(std::move(complete.replies));
    Write();  // Somebody may have waited for this turn.
    FinishClosing();
    return true;
}

void Connection::Watch(Deadline deadline) {
    if (deadline >= watched_) return;
    watched_ = deadline;
    deadline_timer_.expires_at(deadline);
    // Not guarded: deadlines hold across connections.
    deadline_timer_.async_wait([self = shared_from_this()](error_code error) {
        if (!error) self->Expire();
    });
}

void Connection::Expire() {
    watched_ = Deadline::max();
    const Deadline now = std::chrono::steady_clock::now();
    std::deque<Request> late;
    std::deque<Request> still;
    for (Request& request : pending_) {
        (request.deadline <= now ? late : still).push_back(std::move(request));
    }
    pending_ = std::move(still);
    // Replies come in order, so one that does not come holds up all after it.
    const bool stalled = std::ranges::any_of(
        in_flight_, [&](const InFlight& request) { return request.deadline <= now; });
    Deadline next = Deadline::max();
    for (const Request& request : pending_) next = std::min(next, request.deadline);
    if (!stalled) {
        for (const InFlight& request : in_flight_) next = std::min(next, request.deadline);
    }
    if (next != Deadline::max()) Watch(next);
    for (Request& request : late) {
        request.done(std::unexpected(
            Failure{Failure::Kind::kNotSent,
                    Show(setup_.endpoint) + ": could not be sent within its time limit"}));
    }
    if (stalled && !in_flight_.empty()) BreakOff(Failure::Kind::kTimeout, "no answer in time");
}

}  // namespace takt::internal::redis
