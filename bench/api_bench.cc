// The REST API on the embedded store, for measuring over loopback:
//
//     api_bench serve 8090 /tmp/takt-api-bench &
//     api_bench bulk 8090 20         20 requests of 10,000 tasks each, one after the other
//     wrk -t1 -c64 -d5s http://127.0.0.1:8090/api/v1/executions/bench-1     (after bulk)
//     wrk -t1 -c64 -d5s -s bench/post_task.lua http://127.0.0.1:8090/api/v1/tasks
//
// One thread serves HTTP, one is the node's, the store has its own. No worker: tasks wait.
#include <fmt/core.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <filesystem>
#include <thread>

#include "api/api.h"
#include "base/check.h"
#include "base/log.h"
#include "http/client.h"
#include "http/server.h"
#include "node/asio_runtime.h"
#include "store/embedded/embedded_store.h"

namespace takt::internal {
namespace {

class BothSinks final : public Sink {
  public:
    BothSinks(Sink& first, Sink& second) : first_(first), second_(second) {}
    void OnCommit(const Committed& committed) override {
        first_.OnCommit(committed);
        second_.OnCommit(committed);
    }
    void Release(const Effects& effects) override {
        first_.Release(effects);
        second_.Release(effects);
    }
    void OnRole(Role role) override {
        first_.OnRole(role);
        second_.OnRole(role);
    }

  private:
    Sink& first_;
    Sink& second_;
};

int Serve(std::uint16_t port, const std::string& directory) {
    SetLogLevel(LogLevel::kWarning);
    std::filesystem::remove_all(directory);
    auto store = OpenEmbedded({.directory = directory});
    TAKT_CHECK(store);
    boost::asio::io_context node_loop;
    auto work = boost::asio::make_work_guard(node_loop);
    AsioRuntime runtime(node_loop);
    EventHub hub;
    Meters meters;
    Statistics statistics(runtime, **store, {});
    Delivery delivery(runtime, {}, {});
    Alerts alerts(runtime, **store, delivery, {.enabled = false}, {});
    BothSinks counting(meters, statistics);
    BothSinks sinks(hub, counting);
    const std::string address = "http://127.0.0.1:" + std::to_string(port);
    Node node(runtime, **store,
              {.leadership = {.node = NodeId("bench"), .address = Text(address)},
               .engine = {.pending_max = 100'000'000}},
              NewRandomSeed(), &sinks);
    statistics.Bind(node);
    node.Start();
    std::thread node_thread([&] { node_loop.run(); });
    boost::asio::io_context io(1);
    auto api = Api::Make(
        {.node = node,
         .store = **store,
         .events = hub,
         .meters = meters,
         .statistics = statistics,
         .alerts = alerts,
         .post =
             [&](std::move_only_function<void()> job) { boost::asio::post(io, std::move(job)); },
         .forward = {},
         .config = {}});
    auto server = HttpServer::Listen(io, {.port = port}, api);
    TAKT_CHECK(server);
    io.run();  // Until it is killed.
    return 0;
}

int Bulk(std::uint16_t port, int requests) {
    constexpr int kTasks = 10'000;
    auto client = BlockingHttpClient::Create({});
    TAKT_CHECK(client);
    std::chrono::duration<double> took{0};
    for (int request = 0; request < requests; ++request) {
        std::string body = "[";
        for (int i = 0; i < kTasks; ++i) {
            if (i > 0) body += ',';
            // The first has a known id, for reading it later.
            if (request == 0 && i == 0) {
                body += R"({"id":"bench-1","name":"report"})";
                continue;
            }
            body += R"({"name":"report","type":"report.make","parameters":{"customer":)" +
                    std::to_string(i) + R"(,"format":"pdf","pages":[1,2,3]}})";
        }
        body += ']';
        HttpCall call{.method = HttpMethod::kPost,
                      .url = fmt::format("http://127.0.0.1:{}/api/v1/tasks/bulk", port),
                      .headers = {{"Content-Type", "application/json"}},
                      .body = std::move(body)};
        const auto begin = std::chrono::steady_clock::now();
        const auto answer = (*client)->Send(std::move(call));
        took += std::chrono::steady_clock::now() - begin;
        TAKT_CHECK(answer && answer->status == 200);
    }
    fmt::print("bulk: {:.0f} tasks/s\n", requests * kTasks / took.count());
    return 0;
}

}  // namespace
}  // namespace takt::internal

int main(int count, char** arguments) {
    const std::string mode = count > 1 ? arguments[1] : "";
    if (count == 4 && mode == "serve") {
        return takt::internal::Serve(static_cast<std::uint16_t>(std::stoi(arguments[2])),
                                     arguments[3]);
    }
    if (count == 4 && mode == "bulk") {
        return takt::internal::Bulk(static_cast<std::uint16_t>(std::stoi(arguments[2])),
                                    std::stoi(arguments[3]));
    }
    fmt::print(stderr, "usage: api_bench serve PORT DIRECTORY | api_bench bulk PORT REQUESTS\n");
    return 2;
}
