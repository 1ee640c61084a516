#include "remote/async_remote.h"

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <mutex>
#include <thread>

#include "remote/server_round.h"

namespace takt::internal {

struct AsyncRemote::State : std::enable_shared_from_this<State> {
    RemoteOptions options;
    boost::asio::io_context io{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work{
        io.get_executor()};
    std::unique_ptr<HttpClient> calls;
    std::unique_ptr<HttpClient> waits;
    std::atomic<std::size_t> first = 0;  // The server that answered last.
    std::once_flag begun;
    std::atomic<bool> stopped = false;
    std::thread thread;

    void Begin() {
        std::call_once(begun, [this] {
            thread = std::thread([self = shared_from_this()] { self->io.run(); });
        });
    }

    // On any thread, then on the io thread.
    void Ask(std::shared_ptr<ServerRound> round, HttpClient& client, Done done) {
        HttpCall call = round->NextCall();
        client.Send(std::move(call), [this, round = std::move(round), &client,
                                      done = std::move(done)](Result<HttpAnswer> answer) mutable {
            auto taken = round->Take(std::move(answer));
            if (!taken) return Ask(std::move(round), client, std::move(done));
            if (*taken) first = round->server();
            done(std::move(*taken));
        });
    }
};

AsyncRemote::AsyncRemote(std::shared_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<AsyncRemote>> AsyncRemote::Open(RemoteOptions options) {
    if (auto checked = CheckServers(options); !checked) return std::unexpected(checked.error());
    auto state = std::make_shared<State>();
    HttpClientOptions http{.tls = {.ca_file = options.ca_file}, .user_agent = options.user_agent};
    auto calls = HttpClient::Create(state->io, http);
    if (!calls) return std::unexpected(calls.error());
    http.connections_per_host_max = kWaitsMax;
    auto waits = HttpClient::Create(state->io, std::move(http));
    if (!waits) return std::unexpected(waits.error());
    state->options = std::move(options);
    state->calls = std::move(*calls);
    state->waits = std::move(*waits);
    return std::unique_ptr<AsyncRemote>(new AsyncRemote(std::move(state)));
}

AsyncRemote::~AsyncRemote() {
    Stop();
}

void AsyncRemote::Stop() {
    if (state_->stopped.exchange(true)) return;
    state_->calls->Close();
    state_->waits->Close();
    state_->work.reset();
    // Calls that Close has failed are told before the loop has nothing left to do.
    if (!state_->thread.joinable()) return;
    // The last who held this may be an answer on its way: its thread goes on alone, with the state.
    const bool own = state_->thread.get_id() == std::this_thread::get_id();
    own ? state_->thread.detach() : state_->thread.join();
}

void AsyncRemote::Call(RemoteQuestion question, Done done) {
    State& state = *state_;
    state.Begin();
    HttpClient& client = question.waits ? *state.waits : *state.calls;
    auto round =
        std::make_shared<ServerRound>(state.options, std::move(question), state.first.load());
    state.Ask(std::move(round), client, std::move(done));
}

// A stream shows a sign of life every quarter of a minute.
static constexpr Duration kEventSilenceMax{60'000};

void AsyncRemote::Stream(const std::string& path, const std::string& last_id,
                         std::shared_ptr<HttpAnswerSink> sink, Ended ended) {
    State& state = *state_;
    state.Begin();
    const RemoteOptions& options = state.options;
    const std::size_t server = state.first;
    HttpHeaderList headers = {{"Accept", "text/event-stream"}};
    if (!options.token.empty()) headers.emplace_back("Authorization", "Bearer " + options.token);
    if (!last_id.empty()) headers.emplace_back("Last-Event-ID", last_id);
    state.waits->Send(
        {.url = options.servers[server] + PathInSpace(options.space, path),
         .headers = std::move(headers),
         .timeout = kEventSilenceMax,
         .sink = std::move(sink)},
        [&state, server, ended = std::move(ended)](Result<HttpAnswer> answer) mutable {
            if (!answer || answer->status != 200) {
                state.first = (server + 1) % state.options.servers.size();
            }
            ended(std::move(answer));
        });
}

}  // namespace takt::internal
