#include "cli/bench_sessions.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <optional>
#include <thread>
#include <vector>

#include "base/time.h"
#include "cli/bench_submit.h"
#include "http/client.h"
#include "takt/version.h"
#include "worker.pb.h"

namespace takt::internal::cli {
namespace {

// Handshakes under way: more would overflow a listening socket's queue.
constexpr std::size_t kOpeningMax = 16;
constexpr Duration kOpenTimeout{60'000};
// A frame holds up to `capacity` payloads.
constexpr std::size_t kMessageBytesMax = 256 << 20;

[[noreturn]] void GiveUp(const std::string& why) {
    std::fprintf(stderr, "takt: a worker session of this measurement broke: %s\n", why.c_str());
    std::_Exit(1);
}

}  // namespace

// Everything but the constructor and Stop on the io thread.
struct BenchSessions::State {
    State(BenchSessionsOptions given, BenchLedger& kept)
        : options(std::move(given)), ledger(kept), links(options.sessions) {}

    BenchSessionsOptions options;
    BenchLedger& ledger;
    boost::asio::io_context io{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work{
        io.get_executor()};
    boost::asio::steady_timer beat{io};
    std::unique_ptr<HttpClient> http;
    std::vector<std::shared_ptr<WebSocketSession>> links;
    std::size_t opened = 0;  // Handshakes begun.
    std::size_t attached = 0;
    Duration heartbeat{1'000};
    std::promise<void> all_attached;
    bool stopping = false;
    worker::v1::SchedulerFrame in;
    worker::v1::WorkerFrame out;
    std::string bytes;
    std::thread thread;

    void OpenNext();
    void OnOpen(std::size_t index, std::shared_ptr<WebSocketSession> link);
    void OnMessage(std::size_t index, std::string_view message);
    void Send(std::size_t index);
    void BeatAll();
    void Stop();
};

void BenchSessions::State::OpenNext() {
    if (opened == options.sessions) return;
    const std::size_t index = opened++;
    WebSocketCall call;
    // http://… becomes ws://…, https://… becomes wss://….
    call.url = "ws" + options.server.substr(4) + "/api/v1" +
               (options.space.empty() ? "" : "/namespaces/" + options.space) + "/workers/attach";
    call.timeout = kOpenTimeout;
    if (!options.token.empty())
        call.headers.push_back({"Authorization", "Bearer " + options.token});
    auto callbacks = std::make_shared<WebSocketCallbacks>();
    callbacks->options.message_bytes_max = kMessageBytesMax;
    callbacks->options.queue_bytes_max = kMessageBytesMax;
    callbacks->on_open = [this, index](std::shared_ptr<WebSocketSession> link) {
        OnOpen(index, std::move(link));
    };
    callbacks->on_message = [this, index](WebSocketMessage message) {
        OnMessage(index, message.bytes);
    };
    callbacks->on_close = [this](const WebSocketClosed& closed) {
        if (!stopping) GiveUp(closed.reason.empty() ? "the connection was lost" : closed.reason);
    };
    http->OpenWebSocket(std::move(call), std::move(callbacks),
                        [](const Error& error) { GiveUp(error.detail); });
}

void BenchSessions::State::OnOpen(std::size_t index, std::shared_ptr<WebSocketSession> link) {
    links[index] = std::move(link);
    out.Clear();
    worker::v1::Hello& hello = *out.mutable_hello();
    hello.set_protocol(1);
    hello.set_worker_id(options.id + "-" + std::to_string(index + 1));
    hello.set_instance(hello.worker_id());
    hello.add_types("bench");
    for (const auto& [name, value] : BenchLabels()) (*hello.mutable_labels())[name] = value;
    hello.set_capacity(options.capacity);
    hello.set_version(kVersion);
    Send(index);
}

void BenchSessions::State::OnMessage(std::size_t index, std::string_view message) {
    if (!in.ParseFromArray(message.data(), static_cast<int>(message.size()))) {
        GiveUp("a frame could not be read");
    }
    if (in.has_refused()) GiveUp(in.refused().message());
    if (in.has_moved()) {
        GiveUp(in.moved().address().empty()
                   ? "there is no leader at the moment; try again"
                   : "the scheduler does not lead; its leader is " + in.moved().address());
    }
    if (in.has_welcome()) {
        heartbeat = Duration(in.welcome().heartbeat_ms());
        OpenNext();
        if (++attached == options.sessions) all_attached.set_value();
        return;
    }
    if (in.assigns_size() == 0) return;
    out.Clear();
    for (worker::v1::Assign& assign : *in.mutable_assigns()) {
        if (!ledger.Began(assign.payload())) GiveUp("a task came that nobody sent");
        worker::v1::Result& result = *out.add_results();
        result.mutable_attempt()->Swap(assign.mutable_attempt());
        result.set_success(true);
    }
    Send(index);
}

void BenchSessions::State::Send(std::size_t index) {
    if (!out.SerializeToString(&bytes) || !links[index]->SendBinary(bytes)) {
        if (!stopping) GiveUp("its results could not be sent");
    }
}

// All together: a second between two bursts of a thousand small frames.
void BenchSessions::State::BeatAll() {
    beat.expires_after(heartbeat);
    beat.async_wait([this](boost::system::error_code error) {
        if (error || stopping) return;
        out.Clear();
        out.mutable_heartbeat();
        for (std::size_t i = 0; i < links.size(); ++i) {
            if (links[i]) Send(i);
        }
        BeatAll();
    });
}

void BenchSessions::State::Stop() {
    boost::asio::post(io, [this] {
        stopping = true;
        beat.cancel();
        out.Clear();
        out.mutable_bye();
        for (std::size_t i = 0; i < links.size(); ++i) {
            if (!links[i]) continue;
            Send(i);
            links[i]->Close(WebSocketCode::kNormal, "bye");
        }
        http->Close();
        work.reset();
    });
    thread.join();
}

BenchSessions::BenchSessions(std::unique_ptr<State> state) : state_(std::move(state)) {}

BenchSessions::~BenchSessions() {
    state_->Stop();
}

Result<std::unique_ptr<BenchSessions>> BenchSessions::Open(BenchSessionsOptions options,
                                                           BenchLedger& ledger) {
    auto state = std::make_unique<State>(std::move(options), ledger);
    auto http = HttpClient::Create(state->io, {});
    if (!http) return std::unexpected(http.error());
    state->http = std::move(*http);
    auto attached = state->all_attached.get_future();
    State& all = *state;
    for (std::size_t i = 0; i < kOpeningMax; ++i)
        boost::asio::post(all.io, [&all] { all.OpenNext(); });
    boost::asio::post(all.io, [&all] { all.BeatAll(); });
    all.thread = std::thread([&all] { all.io.run(); });
    std::unique_ptr<BenchSessions> sessions(new BenchSessions(std::move(state)));
    if (attached.wait_for(kOpenTimeout) != std::future_status::ready) {
        return Fail(ErrorCode::kUnavailable, "the sessions were not attached within a minute");
    }
    return sessions;
}

}  // namespace takt::internal::cli
