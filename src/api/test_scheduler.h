// A whole scheduler for the tests of this folder: memory store, node, API and HTTP server, each on
// its own thread as in production, and a worker that does what the test says.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/api.h"
#include "api/forward.h"
#include "api/openapi.h"
#include "api/test_openapi.h"
#include "api/test_sink.h"
#include "api/test_stream.h"
#include "http/client.h"
#include "http/server.h"
#include "http/test_support.h"
#include "node/asio_runtime.h"
#include "store/memory/store.h"

namespace takt::internal {

// An answer, with its body as JSON if it is some.
struct Answered {
    int status = 0;
    HttpHeaders headers;
    std::string body;
    boost::json::value json;

    std::string Text(std::string_view key) const {
        const boost::json::value* found =
            json.is_object() ? json.as_object().if_contains(key) : nullptr;
        if (!found) return "(absent)";
        return found->is_string() ? std::string(found->as_string()) : std::string("(no text)");
    }
    std::string Header(std::string_view name) const {
        return std::string(headers.Find(name).value_or(""));
    }
};

// A store that can be full.
class TestStore final : public MemoryStore {
  public:
    using MemoryStore::MemoryStore;

    void Fill(bool full = true) { full_ = full; }
    std::string WhyFull() const override { return full_ ? "it is at its maxmemory" : ""; }

  private:
    std::atomic<bool> full_ = false;
};

struct TestSchedulerOptions {
    std::string node = "node-a";
    std::shared_ptr<MemoryDatabase> database = std::make_shared<MemoryDatabase>();
    ApiConfig config;
    EventHub::Config events;
    NodeConfig node_config;
    StatisticsConfig statistics = {};
    AlertsConfig alerts = {};
    std::vector<Channel> channels = {{.name = "log"}};
    Tell tell = [](const Channel&, const Notice&, auto done) { done({}); };
    bool await_lead = true;
    After after = {};
    std::vector<Route> more_routes = {};
    std::function<bool(const Token&)> knows_attempt = {};
};

class TestScheduler {
  public:
    explicit TestScheduler(TestSchedulerOptions options = {})
        : hub_(options.events),
          store_(options.database, [this](auto work) { PostToStore(std::move(work)); }),
          runtime_(node_loop_.io()),
          statistics_(runtime_, PartitionReader(store_, kDefaultPartition), options.statistics),
          delivery_(runtime_, std::move(options.channels), std::move(options.tell)),
          alerts_(runtime_, PartitionReader(store_, kDefaultPartition), delivery_, options.alerts,
                  [this](const Engine& engine, Instant now, AlertReadings& readings) {
                      meters_.Read(engine, now, readings);
                  }),
          sink_({&hub_, &meters_, &statistics_, &alerts_}) {
        StartServing(options);
        NodeConfig config = options.node_config;
        config.leadership.node = NodeId(internal::Text(options.node));
        config.leadership.address = internal::Text(address());
        config.version = "test";
        node_ = std::make_unique<Node>(runtime_, store_, config, NewRandomSeed(), &sink_);
        statistics_.Bind(*node_);
        alerts_.Bind(*node_);
        MakeApi(options);
        node_->Start();
        if (options.await_lead) sink_.AwaitRole(Role::kLeader);
        auto client = BlockingHttpClient::Create({});
        EXPECT_TRUE(client);
        client_ = std::move(*client);
    }

    ~TestScheduler() {
        std::promise<void> served;
        server_->Stop(100ms, [&] { served.set_value(); });
        served.get_future().wait();
        StopNode();
        std::promise<void> destroyed;
        boost::asio::post(node_loop_.io(), [&] {
            node_.reset();
            destroyed.set_value();
        });
        destroyed.get_future().wait();
        forward_client_->Close();
        server_.reset();
        http_loop_.Join();
        store_loop_.Join();
        // Only timers of those who look now and then are left: alerts would wait five seconds.
        node_loop_.Stop();
    }

    // Gives up the lead and answers no more changes; reads go on.
    void StopNode() {
        if (std::exchange(stopped_, true)) return;
        std::promise<void> stopped;
        node_->Stop([&] { stopped.set_value(); });
        stopped.get_future().wait();
    }

    // For a follower: until it knows where the leader is.
    void AwaitLeaderKnown() {
        ASSERT_TRUE(sink_.AwaitThat([&] {
            const NodeStatus status = node_->status();
            return status.leader && !status.leader->address.empty();
        })) << "nobody leads";
    }

    std::string address() const { return "http://127.0.0.1:" + std::to_string(server_->port()); }
    std::uint16_t port() const { return server_->port(); }
    Node& node() { return *node_; }
    TestStore& store() { return store_; }
    EventHub& hub() { return hub_; }
    Alerts& alerts() { return alerts_; }
    Statistics& statistics() { return statistics_; }
    TestSink& sink() { return sink_; }
    Api& api() { return *shell_->api; }
    // On the server's thread.
    void Run(std::move_only_function<void()> work) {
        boost::asio::post(http_loop_.io(), std::move(work));
    }

    // Until the store has answered all that it was asked so far.
    void AwaitStore() {
        std::promise<void> answered;
        boost::asio::post(store_loop_.io(), [&] { answered.set_value(); });
        answered.get_future().wait();
    }

    Answered Send(HttpMethod method, std::string_view target, std::string body = {},
                  HttpHeaderList headers = {}) {
        HttpCall call{.method = method,
                      .url = address() + std::string(target),
                      .headers = std::move(headers),
                      .body = std::move(body)};
        if (!call.body.empty() && !HasType(call.headers)) {
            call.headers.emplace_back("Content-Type", "application/json");
        }
        call.response_bytes_max = 64 << 20;
        auto answer = client_->Send(std::move(call));
        EXPECT_TRUE(answer) << answer.error().detail;
        if (!answer) return {};
        Answered answered{answer->status, std::move(answer->headers), std::move(answer->body), {}};
        boost::system::error_code error;
        auto json = boost::json::parse(answered.body, error);
        if (!error) answered.json = std::move(json);
        CheckAnswer(method, target, answered);
        return answered;
    }
    Answered Get(std::string_view target, HttpHeaderList headers = {}) {
        return Send(HttpMethod::kGet, target, {}, std::move(headers));
    }
    Answered Post(std::string_view target, std::string body = {}, HttpHeaderList headers = {}) {
        return Send(HttpMethod::kPost, target, std::move(body), std::move(headers));
    }
    Answered Put(std::string_view target, std::string body = {}, HttpHeaderList headers = {}) {
        return Send(HttpMethod::kPut, target, std::move(body), std::move(headers));
    }
    Answered Patch(std::string_view target, std::string body, HttpHeaderList headers = {}) {
        return Send(HttpMethod::kPatch, target, std::move(body), std::move(headers));
    }
    Answered Delete(std::string_view target, HttpHeaderList headers = {}) {
        return Send(HttpMethod::kDelete, target, {}, std::move(headers));
    }

    // A worker that takes everything and, unless `holds`, succeeds at once.
    void AttachWorker(std::string_view id, bool holds = false) {
        sink_.on_assign = [this, holds](const Assign& assign) {
            const AttemptRef attempt{assign.execution.id, assign.execution.attempt,
                                     assign.execution.token};
            node_->Tell(Started{.session = assign.session, .attempt = attempt});
            if (!holds) {
                auto outcome = boost::intrusive_ptr<Outcome>(new Outcome);
                outcome->data = internal::Text(R"({"rows": 3})");
                node_->Tell(Report{.session = assign.session,
                                   .attempt = attempt,
                                   .success = true,
                                   .outcome = std::move(outcome)});
            }
        };
        Worker worker;
        worker.id = WorkerId(internal::Text(id));
        worker.name = internal::Text(id);
        worker.capacity = 100;
        node_->Tell(Attach{.session = ++session_, .worker = std::move(worker)});
        sink_.AwaitWorker(id);
    }

  private:
    // The server is there before the node, which must know its address, and the API after it.
    struct Shell final : HttpHandler {
        std::shared_ptr<Api> api;

        std::unique_ptr<HttpExchange> OnHead(const HttpRequest& request,
                                             HttpHeadVerdict& verdict) override {
            return api->OnHead(request, verdict);
        }
        void Handle(HttpRequest request, HttpReply reply) override {
            api->Handle(std::move(request), std::move(reply));
        }
    };

    // A node knows what it learns from the store before the nudge, which is posted behind it.
    void PostToStore(std::move_only_function<void()> work) {
        boost::asio::post(store_loop_.io(), [this, work = std::move(work)]() mutable {
            work();
            boost::asio::post(node_loop_.io(), [this] { sink_.Nudge(); });
        });
    }
    // Every answer of every test is what the description promises.
    void CheckAnswer(HttpMethod method, std::string_view target, const Answered& answered) {
        if (method == HttpMethod::kHead) return;
        if (!description_) {
            description_ = std::make_unique<OpenApiCheck>(
                boost::json::parse(OpenApiOf(api().routes(), "test")));
        }
        EXPECT_EQ(
            description_->Fault(Name(method), target,
                                {answered.status, answered.Header("Content-Type"), answered.body}),
            "")
            << Name(method) << " " << target << " " << answered.status << "\n"
            << answered.body.substr(0, 2000);
    }
    static bool HasType(const HttpHeaderList& headers) {
        for (const auto& [name, value] : headers) {
            if (EqualsIgnoringCase(name, "Content-Type")) return true;
        }
        return false;
    }

    void StartServing(const TestSchedulerOptions&) {
        auto server = HttpServer::Listen(http_loop_.io(), {.refusal = RefusalResponse}, shell_);
        EXPECT_TRUE(server) << server.error().detail;
        server_ = std::move(*server);
        auto client = HttpClient::Create(http_loop_.io(), {});
        EXPECT_TRUE(client);
        forward_client_ = std::move(*client);
    }
    void MakeApi(TestSchedulerOptions& options) {
        const auto family = std::make_shared<AccessFamily>();
        shell_->api = Api::Make({.realm = {.node = *node_,
                                           .events = hub_,
                                           .meters = meters_,
                                           .statistics = statistics_,
                                           .alerts = alerts_,
                                           .knows_attempt = std::move(options.knows_attempt)},
                                 .store = store_,
                                 .runtime = http_runtime_,
                                 .after = options.after,
                                 .forward = ForwardOver(*forward_client_, family->reach),
                                 .stream = StreamOver(*forward_client_),
                                 .config = options.config,
                                 .more_routes = std::move(options.more_routes),
                                 .family = family});
    }

    EventHub hub_;
    Meters meters_;
    TestStore store_;
    LoopThread node_loop_;
    LoopThread http_loop_;
    LoopThread store_loop_;
    AsioRuntime runtime_;
    AsioRuntime http_runtime_{http_loop_.io()};
    Statistics statistics_;
    Delivery delivery_;
    Alerts alerts_;
    TestSink sink_;
    std::shared_ptr<Shell> shell_ = std::make_shared<Shell>();
    std::unique_ptr<HttpServer> server_;
    std::unique_ptr<HttpClient> forward_client_;
    std::unique_ptr<Node> node_;
    std::unique_ptr<BlockingHttpClient> client_;
    std::unique_ptr<OpenApiCheck> description_;
    SessionId session_ = 0;
    bool stopped_ = false;
};

}  // namespace takt::internal
