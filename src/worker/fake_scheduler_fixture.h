// A scheduler that a test plays by hand: what a real one does rarely.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tests/support/stack.h"
#include "worker/worker_runtime.h"

namespace takt::internal::testing_support {

using worker::v1::SchedulerFrame;
using worker::v1::WorkerFrame;

class FakeSchedulerTest : public testing::Test, public HttpHandler {
  protected:
    FakeSchedulerTest() {
        // Not owned: the fixture outlives the server.
        server_ = std::move(*HttpServer::Listen(
            io_.loop, {}, std::shared_ptr<HttpHandler>(std::shared_ptr<void>(), this)));
    }
    ~FakeSchedulerTest() override {
        worker_.reset();
        io_.Join();
        sockets_.clear();
        server_.reset();
    }
    void Handle(HttpRequest request, HttpReply reply) override {
        authorization_ = request.headers.Find("Authorization").value_or("");
        host_ = request.headers.Find("Host").value_or("");
        if (refusal_ != 0) return reply(HttpResponse::Text(refusal_, "no"));
        auto callbacks = std::make_shared<WebSocketCallbacks>();
        callbacks->on_open = [this](std::shared_ptr<WebSocketSession> socket) {
            const std::scoped_lock lock(mutex_);
            sockets_.push_back(std::move(socket));
        };
        callbacks->on_message = [this](WebSocketMessage message) {
            const std::scoped_lock lock(mutex_);
            frames_.emplace_back();
            EXPECT_TRUE(ReadFrame(FrameForm::kBinary, message.bytes, frames_.back()));
            changed_.notify_all();
        };
        HttpResponse response;
        response.websocket = std::move(callbacks);
        reply(std::move(response));
    }
    void Start(HandlerRegistry handlers, WorkerOptions options = {}) {
        if (options.servers.empty()) options.servers = {"http://" + AddressBy("127.0.0.1") + "/"};
        options.id = "w-1";
        options.token = "secret";
        options.backoff_min = Duration(1);
        options.backoff_max = Duration(10);
        worker_ = std::move(*WorkerRuntime::Create(std::move(options), std::move(handlers)));
        ASSERT_TRUE(worker_->Start());
    }
    std::string AddressBy(const std::string& name) const {
        return name + ":" + std::to_string(server_->port());
    }
    // The next frame that `wanted` says yes to; those before it are dropped.
    template <typename Wanted>
    WorkerFrame Await(Wanted wanted) {
        std::unique_lock lock(mutex_);
        WorkerFrame frame;
        EXPECT_TRUE(changed_.wait_for(lock, kPatience, [&] {
            while (!frames_.empty()) {
                frame = std::move(frames_.front());
                frames_.pop_front();
                if (wanted(frame)) return true;
            }
            return false;
        }));
        return frame;
    }
    WorkerFrame AwaitHello() {
        return Await([](const WorkerFrame& frame) { return frame.has_hello(); });
    }
    void Send(const SchedulerFrame& frame) {
        const std::scoped_lock lock(mutex_);
        sockets_.back()->SendBinary(frame.SerializeAsString());
    }
    void Welcome(std::uint64_t epoch, Duration lease = Duration(10'000)) {
        SchedulerFrame frame;
        frame.mutable_welcome()->set_epoch(epoch);
        frame.mutable_welcome()->set_term_id(100 * epoch);
        frame.mutable_welcome()->set_heartbeat_ms(1'000);
        frame.mutable_welcome()->set_lease_ms(static_cast<std::uint32_t>(lease.count()));
        Send(frame);
    }
    static SchedulerFrame Assign(const std::string& id, std::uint64_t epoch) {
        SchedulerFrame frame;
        auto& assign = *frame.add_assigns();
        assign.mutable_attempt()->set_execution_id(id);
        assign.mutable_attempt()->set_attempt(1);
        assign.mutable_attempt()->set_token(std::string(32, 'a'));
        assign.set_type("noop");
        assign.set_epoch(epoch);
        return frame;
    }
    static HandlerRegistry Noop() {
        HandlerRegistry handlers;
        EXPECT_TRUE(handlers.AddFunction("noop", [](TaskContext& context) {
            context.Log("caf\xe9");
            return TaskResult::Success();
        }));
        return handlers;
    }

    LoopThread io_;
    std::unique_ptr<HttpServer> server_;
    std::string authorization_;
    std::string host_;
    std::atomic<int> refusal_ = 0;  // Not 0: the status that whoever comes is refused with.
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::shared_ptr<WebSocketSession>> sockets_;
    std::deque<WorkerFrame> frames_;
    std::unique_ptr<WorkerRuntime> worker_;
};

}  // namespace takt::internal::testing_support
