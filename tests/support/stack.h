// A whole scheduler in the test's process: memory store, node, stream link, HTTP server on a real
// port. And a worker that speaks the protocol by hand.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

#include "http/client.h"
#include "http/server.h"
#include "http/websocket.h"
#include "links/stream_link.h"
#include "node/asio_runtime.h"
#include "node/node.h"
#include "store/memory/store.h"
#include "tests/support/watcher.h"
#include "wire/frame_codec.h"
#include "worker.pb.h"

namespace takt::internal::testing_support {

using namespace std::chrono_literals;

// A store that can keep to itself which schedulers there are.
class QuietStore final : public MemoryStore {
  public:
    using MemoryStore::MemoryStore;
    void Nodes(Done<std::vector<NodeRow>> done) override {
        if (!quiet) MemoryStore::Nodes(std::move(done));
    }
    std::atomic<bool> quiet = false;
};

struct StackOptions {
    std::shared_ptr<MemoryDatabase> database = std::make_shared<MemoryDatabase>();
    std::string node = "node-1";
    StreamLinkConfig link;
    EngineConfig engine;
};

struct TaskWish {
    std::string type = "noop";
    std::string payload = "{}";
    std::string id;
    Duration timeout{0};
    std::uint32_t retries_max = 0;
    Duration delay{0};
};

class Stack {
  public:
    explicit Stack(StackOptions options = {})
        : runtime_(io_.loop),
          store_(options.database),
          link_(runtime_, WithNode(options, store_)),
          watcher(link_) {
        NodeConfig config;
        config.leadership.node = NodeId(Text(options.node));
        config.leadership.acquire_interval = Duration(20);
        config.leadership.ttl = Duration(2'000);
        config.leadership.renew_interval = Duration(300);
        config.leadership.margin = Duration(200);
        config.engine = options.engine;
        io_.Run([&] {
            // Listening first: the address that the node announces has the port in it.
            server_ = std::move(
                *HttpServer::Listen(io_.loop, {}, std::make_shared<Handler>(link_, ended_)));
            config.leadership.address = Text(url());
            node_ = std::make_unique<Node>(runtime_, store_, config, NewRandomSeed(), &watcher);
            link_.Bind(*node_);
            node_->Start();
        });
    }
    ~Stack() {
        Stop();
        server_.reset();
        io_.Join();
        node_.reset();
    }
    // In order: gives up the lead, tells the workers.
    void Stop() {
        if (std::exchange(stopped_, true)) return;
        std::promise<void> node_done;
        node_->Stop([&] { node_done.set_value(); });
        node_done.get_future().wait();
        std::promise<void> server_done;
        server_->Stop(200ms, [&] { server_done.set_value(); });
        server_done.get_future().wait();
    }

    std::string url() const { return "http://127.0.0.1:" + std::to_string(server_->port()); }
    std::uint16_t port() const { return server_->port(); }
    Node& node() { return *node_; }
    StreamLink& link() { return link_; }
    bool AwaitEndedSessions(std::size_t count) { return ended_->Await(count); }

    template <typename Question>
    Result<Answer> Ask(Question question) {
        std::promise<Result<Answer>> answer;
        node_->Ask(std::move(question),
                   [&](Result<Answer> got) { answer.set_value(std::move(got)); });
        return answer.get_future().get();
    }
    ExecutionId Submit(const TaskWish& wish) {
        const NewTaskPtr task = new Task;
        task->id = TaskId(Text(wish.id));
        task->name = Text(wish.type);
        task->type = Text(wish.type);
        task->queue = Text("default");
        task->payload = Text(wish.payload);
        task->timeout = wish.timeout;
        auto options = std::make_unique<TaskOptions>();
        options->retry = RetryPolicy{
            .retries_max = wish.retries_max, .delay = Duration(1), .backoff_rate = 1, .jitter = 0};
        options->delay = wish.delay;
        options->metadata = {{"customer", "42"}};
        options->trace = Text("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
        task->options = std::move(options);
        auto answer = Ask(Submit_{.task = task});
        EXPECT_TRUE(answer) << (answer ? "" : answer.error().detail);
        return answer ? answer->execution.id : ExecutionId();
    }
    Execution Read(const ExecutionId& id) {
        std::promise<Execution> found;
        store_.FindExecutions(kDefaultPartition, {id}, [&](auto rows) {
            found.set_value(rows && rows->at(0) ? *rows->at(0) : Execution{});
        });
        return found.get_future().get();
    }
    std::uint32_t InHand(const std::string& worker) {
        std::promise<std::uint32_t> busy;
        node_->Look([&](const Engine* engine) {
            const auto view = engine ? engine->FindWorker(WorkerId(Text(worker))) : std::nullopt;
            busy.set_value(view ? view->busy : 0);
        });
        return busy.get_future().get();
    }
    template <typename Read>
    auto Look(Read read) {
        std::promise<decltype(read(std::declval<const Engine&>()))> seen;
        node_->Look([&](const Engine* engine) { seen.set_value(read(*engine)); });
        return seen.get_future().get();
    }

  private:
    using Submit_ = takt::internal::Submit;
    static StreamLinkConfig WithNode(const StackOptions& options, Store& store) {
        StreamLinkConfig config = options.link;
        config.rows.emplace(store, kDefaultPartition);
        config.node = NodeId(Text(options.node));
        return config;
    }
    struct Handler final : HttpHandler {
        Handler(StreamLink& to, std::shared_ptr<EndedSessions> sessions)
            : link(to), ended(std::move(sessions)) {}
        void Handle(HttpRequest request, HttpReply reply) override {
            if (!request.path.ends_with("/workers/attach")) {
                return reply(HttpResponse::Text(404, "no such page"));
            }
            HttpResponse response = link.Attach(request);
            auto& on_close = response.websocket->on_close;
            on_close = [next = std::move(on_close), ended = ended](WebSocketClosed closed) mutable {
                next(std::move(closed));
                ended->Add();
            };
            reply(std::move(response));
        }
        StreamLink& link;
        const std::shared_ptr<EndedSessions> ended;
    };

    // Not the stack's alone: a session may outlive it.
    const std::shared_ptr<EndedSessions> ended_ = std::make_shared<EndedSessions>();
    LoopThread io_;
    AsioRuntime runtime_;  // Before the store, which posts its answers to it until it ends.
    MemoryStore store_;
    StreamLink link_;

  public:
    Watcher watcher;

  private:
    std::unique_ptr<Node> node_;
    std::unique_ptr<HttpServer> server_;
    bool stopped_ = false;
};

// A worker by hand.
class RawWorker {
  public:
    explicit RawWorker(const std::string& url) {
        client_ = std::move(*HttpClient::Create(io_.loop, {}));
        auto callbacks = std::make_shared<WebSocketCallbacks>();
        callbacks->options.message_bytes_max = 64 << 20;
        callbacks->options.queue_bytes_max = 64 << 20;
        callbacks->on_open = [this](std::shared_ptr<WebSocketSession> socket) {
            const std::scoped_lock lock(mutex_);
            socket_ = std::move(socket);
            changed_.notify_all();
        };
        callbacks->on_message = [this](WebSocketMessage message) {
            const std::scoped_lock lock(mutex_);
            messages_.emplace_back(message.text, std::string(message.bytes));
            changed_.notify_all();
        };
        callbacks->on_close = [this](const WebSocketClosed& closed) {
            const std::scoped_lock lock(mutex_);
            closed_ = closed;
            changed_.notify_all();
        };
        client_->OpenWebSocket({.url = "ws" + url.substr(4) + "/api/v1/workers/attach"},
                               std::move(callbacks),
                               [](const Error& error) { ADD_FAILURE() << error.detail; });
        std::unique_lock lock(mutex_);
        EXPECT_TRUE(changed_.wait_for(lock, kPatience, [&] { return socket_ != nullptr; }));
    }
    ~RawWorker() {
        io_.Join();
        socket_.reset();
    }
    static worker::v1::WorkerFrame Hello(const std::string& id, std::uint32_t capacity = 1) {
        worker::v1::WorkerFrame frame;
        frame.mutable_hello()->set_protocol(1);
        frame.mutable_hello()->set_worker_id(id);
        frame.mutable_hello()->set_instance("first");
        frame.mutable_hello()->set_capacity(capacity);
        return frame;
    }
    bool Send(const worker::v1::WorkerFrame& frame) {
        return socket_->SendBinary(frame.SerializeAsString());
    }
    bool SendText(std::string_view text) { return socket_->SendText(text); }
    bool SendBinary(std::string_view bytes) { return socket_->SendBinary(bytes); }
    void Close() { socket_->Close(WebSocketCode::kNormal, ""); }
    void Abort() { io_.Join(); }

    struct Message {
        bool text = false;
        std::string bytes;
    };
    Message NextMessage() {
        std::unique_lock lock(mutex_);
        if (!changed_.wait_for(lock, kPatience, [&] { return !messages_.empty(); })) {
            ADD_FAILURE() << "no frame came";
            return {};
        }
        Message message{messages_.front().first, std::move(messages_.front().second)};
        messages_.pop_front();
        return message;
    }
    worker::v1::SchedulerFrame Next() {
        const Message message = NextMessage();
        worker::v1::SchedulerFrame frame;
        const auto read =
            ReadFrame(message.text ? FrameForm::kJson : FrameForm::kBinary, message.bytes, frame);
        EXPECT_TRUE(read) << (read ? "" : read.error().detail) << message.bytes;
        return frame;
    }
    std::optional<WebSocketClosed> AwaitClose() {
        std::unique_lock lock(mutex_);
        if (!changed_.wait_for(lock, kPatience, [&] { return closed_.has_value(); })) {
            ADD_FAILURE() << "the session was not closed";
        }
        return closed_;
    }

  private:
    LoopThread io_;
    std::unique_ptr<HttpClient> client_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::shared_ptr<WebSocketSession> socket_;
    std::deque<std::pair<bool, std::string>> messages_;
    std::optional<WebSocketClosed> closed_;
};

}  // namespace takt::internal::testing_support
