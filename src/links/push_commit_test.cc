// Answers to callbacks: they tell only what is stored, and of the attempt itself.
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "links/push_link.h"
#include "node/driven.h"
#include "node/node.h"
#include "store/memory/store.h"

namespace takt::internal {
namespace {

using Kind = CallbackAnswer::Verdict;

// Keeps commits to itself while it is told to.
class HoldingStore final : public StoreWrapper {
  public:
    explicit HoldingStore(Store& inner) : StoreWrapper(&inner) {}

    void Commit(BatchPtr batch, Done<void> done) override {
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
        Worker row;
        row.id = WorkerId(Text("executor-1"));
        row.name = row.group = Text("reports");
        row.link = LinkKind::kPush;
        row.capacity = 1;
        row.address = Text("http://127.0.0.1:9000");
        row.health_url = Text("http://127.0.0.1:9000/health");
        link_.Register(row, [](const Result<void>& done) { EXPECT_TRUE(done); });
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

    std::optional<Kind> CallBack() {
        std::optional<Kind> verdict;
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

// It answers the call and calls back, too. A leader that dies before the commit would leave it with an
// acceptance of which nobody knows.
TEST_F(PushCommitTest, ACallbackThatSaysTheAnswerAgainIsNotAcceptedBeforeThatIsStored) {
    ASSERT_TRUE(order_);
    store_.holds = true;
    order_->second(HttpAnswer{.status = 200, .headers = {}, .body = kFailed});
    runtime_.Run();
    EXPECT_EQ(CallBack(), Kind::kUnavailable);
    store_.LetGo();
    runtime_.Run();
    EXPECT_EQ(CallBack(), Kind::kAccepted);
}

// Its term is over and the next has begun, and it has an answer to wait for still. That the executor is
// well is no news to it: the attempt stays where it is.
TEST_F(PushCommitTest, AnInstanceOfAnEarlierTermDoesNotComeBackByItsHealthCheck) {
    for (int i = 0; i < 3; ++i) {
        PassCheck();
        runtime_.Pass(2s);
    }
    ASSERT_EQ(orders_, 1);
    auto open = std::move(order_);
    node_->NoteEpoch(100);
    runtime_.Pass(3s);
    ASSERT_EQ(orders_, 2) << "the new leader says where its callback is to go";
    while (!checks_.empty()) PassCheck();
    runtime_.Pass(3s);
    EXPECT_EQ(orders_, 2) << "what the executor has was given to it once more";
}

// The attempt was given to others: that the one before it failed in the same way is not its own end.
TEST(JudgeCallback, AFailureOfTheAttemptBeforeIsNotThatOfOneThatWasLost) {
    const auto outcome = boost::intrusive_ptr<Outcome>(new Outcome);
    outcome->reason = Reason::kHandlerFailed;
    outcome->message = "no rows";
    outcome->past = {{.attempt = 1, .end = AttemptEnd::kFailed, .reason = Reason::kHandlerFailed},
                     {.attempt = 2, .end = AttemptEnd::kReturned}};
    Execution row;
    row.attempt = 2;
    row.outcome = outcome;
    row.status = Status::kPending;
    const CallbackReport report{
        .report = ReadCallback(R"({"status":"failed","error":"no rows"})")->report};
    EXPECT_EQ(JudgeCallback(row, report).verdict, Kind::kStale);

    outcome->past.pop_back();
    outcome->past.push_back(
        {.attempt = 2, .end = AttemptEnd::kFailed, .reason = Reason::kHandlerFailed});
    EXPECT_EQ(JudgeCallback(row, report).verdict, Kind::kAccepted);
}

}  // namespace
}  // namespace takt::internal
