// A scheduler that calls executors, and an executor that answers as the test says.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/json/parse.hpp>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "http/client.h"
#include "http/server.h"
#include "links/push_link.h"
#include "tests/support/stack.h"

namespace takt::internal::testing_support {

// A call that POST /execute brought.
struct Order {
    std::string execution;
    std::string token;
    std::string header_token;
    std::string body;
    std::string traceparent;
    int attempt = 0;
};

class FakeExecutor {
  public:
    using Answering = std::function<void(const Order&, HttpReply)>;

    FakeExecutor() {
        io_.Run([&] {
            server_ =
                std::move(*HttpServer::Listen(io_.loop, {}, std::make_shared<Handler>(*this)));
        });
        AnswerWith(202, "");
    }
    ~FakeExecutor() {
        held_.clear();
        server_.reset();
        io_.Join();
    }

    std::string url() const { return "http://127.0.0.1:" + std::to_string(server_->port()); }

    void Answer(Answering answering) {
        const std::scoped_lock lock(mutex_);
        answering_ = std::move(answering);
    }
    void AnswerWith(int status, std::string body, HttpHeaderList headers = {}) {
        Answer([=](const Order&, HttpReply reply) {
            HttpResponse response = HttpResponse::Json(status, body);
            response.headers = headers;
            reply(std::move(response));
        });
    }
    // Never answers.
    void Hang() {
        Answer([this](const Order&, HttpReply reply) {
            const std::scoped_lock lock(mutex_);
            held_.push_back(std::move(reply));
        });
    }
    void SetHealth(int status) { health_ = status; }
    int health_checks() const { return health_checks_; }

    // POST /lock_lost is answered with these, one after the other, the last again and again.
    void AnswerLosses(std::vector<int> statuses) {
        const std::scoped_lock lock(mutex_);
        loss_statuses_ = std::move(statuses);
    }
    // Body and token of the call that told of a lost lock, counted from 1.
    std::pair<std::string, std::string> AwaitLoss(std::size_t number) {
        std::unique_lock lock(mutex_);
        const bool came =
            changed_.wait_for(lock, kPatience, [&] { return losses_.size() >= number; });
        EXPECT_TRUE(came) << "loss " << number << " was not told";
        return came ? losses_[number - 1] : std::pair<std::string, std::string>();
    }
    std::size_t losses() {
        const std::scoped_lock lock(mutex_);
        return losses_.size();
    }

    // The order with this number, counted from 1.
    Order AwaitOrder(std::size_t number) {
        std::unique_lock lock(mutex_);
        const bool came =
            changed_.wait_for(lock, kPatience, [&] { return orders_.size() >= number; });
        EXPECT_TRUE(came) << "order " << number << " did not come";
        return came ? orders_[number - 1] : Order{};
    }
    std::size_t orders() {
        const std::scoped_lock lock(mutex_);
        return orders_.size();
    }

  private:
    struct Handler final : HttpHandler {
        explicit Handler(FakeExecutor& to) : executor(to) {}
        void Handle(HttpRequest request, HttpReply reply) override {
            if (request.path == "/health") {
                ++executor.health_checks_;
                return reply(HttpResponse::Text(executor.health_, "as told"));
            }
            if (request.path == "/lock_lost") return executor.TakeLoss(request, std::move(reply));
            const auto json = boost::json::parse(request.body);
            const auto text = [&](const char* key) {
                return std::string(json.at(key).as_string());
            };
            Order order{
                .execution = text("execution_id"),
                .token = text("callback_token"),
                .header_token = std::string(request.headers.Find("X-Takt-Token").value_or("")),
                .body = request.body,
                .traceparent = std::string(request.headers.Find("traceparent").value_or("")),
                .attempt = static_cast<int>(json.at("attempt").as_int64())};
            Answering answering;
            {
                const std::scoped_lock lock(executor.mutex_);
                executor.orders_.push_back(order);
                answering = executor.answering_;
                executor.changed_.notify_all();
            }
            answering(order, std::move(reply));
        }
        FakeExecutor& executor;
    };

    void TakeLoss(const HttpRequest& request, HttpReply reply) {
        int status = 200;
        {
            const std::scoped_lock lock(mutex_);
            losses_.emplace_back(request.body,
                                 std::string(request.headers.Find("X-Takt-Token").value_or("")));
            status = loss_statuses_[std::min(losses_.size(), loss_statuses_.size()) - 1];
            changed_.notify_all();
        }
        reply(HttpResponse::Json(status, "{}"));
    }

    LoopThread io_;
    std::unique_ptr<HttpServer> server_;
    std::vector<std::pair<std::string, std::string>> losses_;
    std::vector<int> loss_statuses_ = {200};
    std::atomic<int> health_ = 200;
    std::atomic<int> health_checks_ = 0;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Order> orders_;
    std::vector<HttpReply> held_;
    Answering answering_;
};

inline ServicePolicy AllowLoopback() {
    return *ServicePolicy::Make({}, true);
}

class PushStack {
  public:
    explicit PushStack(
        PushLinkConfig config = {},
        std::shared_ptr<MemoryDatabase> database = std::make_shared<MemoryDatabase>(),
        const std::string& name = "node-1", EngineConfig engine = {},
        ServicePolicy policy = AllowLoopback(), int shortages_first = 0)
        : shortages(shortages_first),
          runtime_(io_.loop),
          store_(std::move(database)),
          client_(std::move(*HttpClient::Create(io_.loop, {}))),
          link_(runtime_, {store_, kDefaultPartition}, WithBase(std::move(config)),
                std::move(policy), Send(), Send()),
          watcher(link_) {
        NodeConfig node;
        node.engine = std::move(engine);
        node.leadership.node = NodeId(Text(name));
        node.leadership.acquire_interval = Duration(20);
        node.leadership.ttl = Duration(2'000);
        node.leadership.renew_interval = Duration(300);
        node.leadership.margin = Duration(200);
        io_.Run([&] {
            node_ = std::make_unique<Node>(runtime_, store_, node, NewRandomSeed(), &watcher);
            link_.Bind(*node_);
            node_->Start();
        });
        EXPECT_TRUE(watcher.AwaitRole(Role::kLeader));
        // The role is there a moment before what the term begins with is known.
        while (link_ready() == false) std::this_thread::yield();
    }
    ~PushStack() {
        Stop();
        io_.Run([&] {
            client_->Close();
            node_.reset();
        });
        io_.Join();
    }
    // As a process that is told to stop, before its node is.
    std::future<void> Settle() {
        const auto settled = std::make_shared<std::promise<void>>();
        io_.Run([&] { link_.Settle([settled] { settled->set_value(); }); });
        return settled->get_future();
    }
    // Another scheduler is there since a moment ago; without time it is gone.
    void Announce(const std::string& name, Duration ttl = Duration(60'000),
                  std::vector<Text> namespaces = {}) {
        const NodeRow row{.node = NodeId(Text(name)),
                          .address = Text("http://" + name),
                          .namespaces = std::move(namespaces)};
        const auto announced =
            Await<Result<void>>([&](auto done) { store_.Announce(row, ttl, std::move(done)); });
        EXPECT_TRUE(announced);
    }
    void KeepQuietOfNodes() { store_.quiet = true; }
    std::vector<SettingPut> WordsLeft() {
        return Await<Result<std::vector<SettingPut>>>([&](auto done) {
                   store_.ListSettings(kDefaultPartition, Text("executor-calls/"), std::move(done));
               })
            .value();
    }
    void Stop() {
        if (std::exchange(stopped_, true)) return;
        std::promise<void> done;
        node_->Stop([&] { done.set_value(); });
        done.get_future().wait();
    }

    // So many calls find this process without a descriptor.
    std::atomic<int> shortages = 0;

    void HandOver(const std::string& to) {
        io_.Run([&] { node_->HandOver(NodeId(Text(to))); });
    }

    PushLink& link() { return link_; }
    Node& node() { return *node_; }

    Result<void> Register(const FakeExecutor& executor, const std::string& id = "executor-1",
                          std::uint32_t capacity = 10, bool health = false,
                          const std::string& process = "") {
        return RegisterAt(executor.url(), id, capacity, health, process);
    }
    Result<void> RegisterAt(const std::string& url, const std::string& id,
                            std::uint32_t capacity = 10, bool health = false,
                            const std::string& process = "") {
        Worker row;
        row.id = WorkerId(Text(id));
        row.name = Text(id);
        row.link = LinkKind::kPush;
        row.group = Text("reports");
        row.capacity = capacity;
        row.instance = Text(process);
        row.address = Text(url);
        if (health) row.health_url = Text(url + "/health");
        return Await<Result<void>>([&](auto done) { link_.Register(row, std::move(done)); });
    }
    Result<void> SetStatus(const std::string& id, WorkerStatus status) {
        return Await<Result<void>>([&](auto done) {
            link_.SetStatus({.worker = WorkerId(Text(id)), .status = status, .reason = "told"},
                            std::move(done));
        });
    }
    CallbackAnswer::Verdict Callback(const std::string& execution, const std::string& token,
                                     bool success) {
        return Callback(execution, token,
                        success ? R"({"status":"success","result":{"rows":7}})"
                                : R"({"status":"failed","error":"no rows"})");
    }
    CallbackAnswer::Verdict Callback(const std::string& execution, const std::string& token,
                                     const char* body) {
        CallbackReport report{.execution = ExecutionId(Text(execution)),
                              .token = ParseToken(token).value_or(Token{}),
                              .report = ReadCallback(body)->report};
        const auto said = said_;  // A test may end before this has its answer.
        const auto answer = Await<CallbackAnswer>(
            [&](auto done) { link_.Callback(std::move(report), std::move(done)); });
        *said = answer.detail;
        return answer.verdict;
    }
    // To the last callback.
    const std::string& said() const { return *said_; }
    CallbackAnswer::Verdict Say(const std::string& execution, const std::string& token,
                                const std::string& body) {
        PushLink::News news{.execution = ExecutionId(Text(execution)),
                            .token = ParseToken(token).value_or(Token{}),
                            .body = *ReadNews(body)};
        return Await<CallbackAnswer>(
                   [&](auto done) { link_.TakeNews(std::move(news), std::move(done)); })
            .verdict;
    }
    double ProgressOf(const ExecutionId& id) {
        return Await<double>([&](auto done) {
            node_->Look([id, done = std::move(done)](const Engine* engine) mutable {
                const ProgressView* progress = engine->FindProgress(id);
                done(progress ? progress->fraction : -1);
            });
        });
    }
    ExecutionId Submit(std::uint32_t retries_max = 0, Duration timeout = Duration(60'000),
                       std::vector<LockWant> locks = {}) {
        const NewTaskPtr task = new Task;
        task->name = task->type = Text("report");
        task->queue = Text("default");
        task->payload = Text(R"({"day":"monday"})");
        task->timeout = timeout;
        auto options = std::make_unique<TaskOptions>();
        options->retry = RetryPolicy{
            .retries_max = retries_max, .delay = Duration(1), .backoff_rate = 1, .jitter = 0};
        options->locks = std::move(locks);
        task->options = std::move(options);
        const auto answer = Await<Result<Answer>>(
            [&](auto done) { node_->Ask(internal::Submit{.task = task}, std::move(done)); });
        EXPECT_TRUE(answer) << (answer ? "" : answer.error().detail);
        return answer ? answer->execution.id : ExecutionId();
    }
    void Conclude(const ExecutionId& id, Status status) {
        const auto answer = Await<Result<Answer>>([&](auto done) {
            node_->Ask(internal::Conclude{.execution = id, .status = status}, std::move(done));
        });
        EXPECT_TRUE(answer) << (answer ? "" : answer.error().detail);
    }
    // An operator takes the lock away from whoever has it.
    void TakeAway(const std::string& lock) {
        const auto answer = Await<Result<Answer>>(
            [&](auto done) { node_->Ask(FreeLock{.name = Text(lock)}, std::move(done)); });
        EXPECT_TRUE(answer) << (answer ? "" : answer.error().detail);
    }
    Execution Read(const ExecutionId& id) {
        auto found = Await<Result<std::vector<std::optional<Execution>>>>(
            [&](auto done) { store_.FindExecutions(kDefaultPartition, {id}, std::move(done)); });
        return found && found->at(0) ? *found->at(0) : Execution{};
    }
    WorkerStatus StatusOf(const std::string& id) {
        return Await<WorkerStatus>([&](auto done) {
            node_->Look([&, done = std::move(done)](const Engine* engine) mutable {
                const auto worker = engine->FindWorker(WorkerId(Text(id)));
                done(worker ? worker->row.status : WorkerStatus::kOffline);
            });
        });
    }
    // Why it does not run.
    std::string Explain(const ExecutionId& id) {
        return Await<std::string>([&](auto done) {
            node_->Look([&, done = std::move(done)](const Engine* engine) mutable {
                const auto why = engine->Explain(id, runtime_.Now());
                done(why ? why->sentence : "");
            });
        });
    }
    PushView View(const std::string& id) {
        return io_.Run([&] { return link_.View(WorkerId(Text(id))).value_or(PushView{}); });
    }

  private:
    template <typename T, typename Begin>
    static T Await(Begin begin) {
        auto answer = std::make_shared<std::promise<T>>();
        begin([answer](T value) { answer->set_value(std::move(value)); });
        return answer->get_future().get();
    }
    bool link_ready() {
        const auto beat = Await<Result<void>>(
            [&](auto done) { link_.Beat(WorkerId(Text("nobody")), {}, std::move(done)); });
        return beat || beat.error().code == ErrorCode::kNotFound;
    }
    static PushLinkConfig WithBase(PushLinkConfig config) {
        if (config.address.empty()) config.address = "http://scheduler:8080";
        return config;
    }
    HttpSend Send() {
        return [this](HttpCall call, HttpDone done) {
            if (shortages > 0 && shortages-- > 0) {
                return done(Fail(ErrorCode::kExhausted, "Too many open files"));
            }
            client_->Send(std::move(call), std::move(done));
        };
    }

    LoopThread io_;
    const std::shared_ptr<std::string> said_ = std::make_shared<std::string>();
    AsioRuntime runtime_;  // Before the store, which posts its answers to it until it ends.
    QuietStore store_;
    std::unique_ptr<HttpClient> client_;
    PushLink link_;

  public:
    Watcher watcher;

  private:
    std::unique_ptr<Node> node_;
    bool stopped_ = false;
};

}  // namespace takt::internal::testing_support
