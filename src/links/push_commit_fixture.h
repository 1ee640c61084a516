// PushCommitTest: a link with one executor that has one order, over a store that answers when it is
// told to.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "links/push_link.h"
#include "node/driven.h"
#include "node/node.h"
#include "store/memory/store.h"

namespace takt::internal {

// Keeps commits to itself, or refuses them, while it is told to.
class HoldingStore final : public StoreWrapper {
  public:
    explicit HoldingStore(Store& inner) : StoreWrapper(&inner) {}

    void Commit(BatchPtr batch, Done<void> done) override {
        if (fails) return done(Fail(ErrorCode::kUnavailable, "its disk is full"));
        if (!holds) return StoreWrapper::Commit(std::move(batch), std::move(done));
        held_.emplace_back(std::move(batch), std::move(done));
    }
    void LetGo() {
        holds = false;
        for (auto& [batch, done] : std::exchange(held_, {})) {
            StoreWrapper::Commit(std::move(batch), std::move(done));
        }
    }

    bool holds = false;
    bool fails = false;

  private:
    std::deque<std::pair<BatchPtr, Done<void>>> held_;
};

class PushCommitTest : public testing::Test {
  protected:
    PushCommitTest() {
        NodeConfig config;
        config.leadership.node = NodeId(Text("node-1"));
        node_ = std::make_unique<Node>(runtime_, store_, config, SeedOf(2), &link_);
        link_.Bind(*node_);
        node_->Start();
        runtime_.Pass(3s);
        link_.Register(Row("executor-1"), [](const Result<void>& done) { EXPECT_TRUE(done); });
        runtime_.Pass(1s);
        const NewTaskPtr task = new Task;
        task->type = Text("report");
        task->queue = Text("default");
        auto options = std::make_unique<TaskOptions>();
        options->retry = RetryPolicy{.retries_max = 3, .delay = 60s, .delay_max = 60s};
        task->options = std::move(options);
        node_->Ask(Submit{.task = task}, [this](const Result<Answer>& answer) {
            ASSERT_TRUE(answer);
            execution_ = answer->execution.id;
        });
        runtime_.Pass(1s);
    }
    ~PushCommitTest() override {
        order_.reset();
        checks_.clear();
        node_->Stop([] {});
        runtime_.Pass(20s);
    }

    static Worker Row(const std::string& id, const std::string& service = "reports") {
        Worker row;
        row.id = WorkerId(Text(id));
        row.name = row.group = Text(service);
        row.link = LinkKind::kPush;
        row.capacity = 1;
        row.address = Text("http://127.0.0.1:9000");
        row.health_url = Text("http://127.0.0.1:9000/health");
        return row;
    }

    std::optional<CallbackAnswer::Verdict> CallBack() {
        std::optional<CallbackAnswer::Verdict> verdict;
        const auto headers = order_->first.headers;
        link_.Callback({.execution = execution_,
                        .token = *ParseToken(headers.at(1).second),
                        .report = ReadCallback(kFailed)->report},
                       [&](const CallbackAnswer& answer) { verdict = answer.verdict; });
        runtime_.Run();
        return verdict;
    }

    void PassCheck() {
        ASSERT_FALSE(checks_.empty());
        HttpDone done = std::move(checks_.front());
        checks_.pop_front();
        done(HttpAnswer{.status = 200, .headers = {}, .body = {}});
        runtime_.Run();
    }

    static constexpr auto kFailed = R"({"status":"failed","error":"no rows"})";

    DrivenRuntime runtime_;
    MemoryStore memory_{std::make_shared<MemoryDatabase>(MemoryDatabase::Options{
                            .clock = [this] { return runtime_.Now().steady; }}),
                        [this](Action work) { runtime_.Post(std::move(work)); }};
    HoldingStore store_{memory_};
    std::optional<std::pair<HttpCall, HttpDone>> order_;  // The last.
    int orders_ = 0;
    std::deque<HttpDone> checks_;  // Of its health, not answered yet.
    PushLink link_{runtime_,
                   {store_, kDefaultPartition},
                   {.address = "http://127.0.0.1:8080",
                    .health_interval = Duration(1'000),
                    .health_timeout = 60s},
                   *ServicePolicy::Make({}, true),
                   [this](HttpCall call, HttpDone done) {
                       ++orders_;
                       order_.emplace(std::move(call), std::move(done));
                   },
                   [this](HttpCall, HttpDone done) { checks_.push_back(std::move(done)); }};
    std::unique_ptr<Node> node_;
    ExecutionId execution_;
};

}  // namespace takt::internal
