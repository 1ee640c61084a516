// Waiting at the scheduler, and calls that do not block: callbacks, futures, coroutines, many at once.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <set>
#include <thread>

#include "takt/awaitable.h"
#include "tests/sdk/sdk_testing.h"

namespace takt::testing_support {
namespace {

using ::testing::HasSubstr;

// A port that takes connections and says nothing.
class Silence {
  public:
    Silence() : descriptor_(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        EXPECT_EQ(::bind(descriptor_, reinterpret_cast<sockaddr*>(&address), size), 0);
        EXPECT_EQ(::listen(descriptor_, 100), 0);
        ::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &size);
        url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    }
    ~Silence() { ::close(descriptor_); }
    Silence(const Silence&) = delete;
    Silence& operator=(const Silence&) = delete;
    const std::string& url() const { return url_; }

  private:
    int descriptor_;
    std::string url_;
};

class AsyncTest : public SdkTest {
  protected:
    // A worker whose "held" tasks end when the test says so.
    void StartWithWorker(std::uint32_t capacity = 50) {
        Start();
        worker_ = MakeWorker("w", capacity);
        worker_->Handle("quick", [](TaskContext& task) {
            return TaskResult::Success(std::string(task.payload()));
        });
        worker_->Handle("held", [this](TaskContext& task) {
            begun_.Set();
            while (!released_.Wait(10ms) && !task.stop_token().stop_requested()) {
            }
            return TaskResult::Success();
        });
        Join(*worker_);
    }

    ClientOptions MakeClientOptions() const { return {.servers = {scheduler_->url()}}; }

    Signal begun_;
    Signal released_;
    std::unique_ptr<Worker> worker_;
};

TEST_F(AsyncTest, AWaitEndsWithTheTaskAndNotBefore) {
    StartWithWorker();
    Client client = MakeClient();
    const auto held = client.SubmitTask({.type = "held"});
    ASSERT_TRUE(held);
    auto run = client.WaitAsync(held->id, kPatience);
    ASSERT_TRUE(begun_.Wait());
    EXPECT_EQ(run.wait_for(50ms), std::future_status::timeout);
    released_.Set();
    const auto ended = run.get();
    ASSERT_TRUE(ended) << ended.error().message;
    EXPECT_EQ(ended->status, Status::kSuccess);
}

// A program with an event loop of its own: nothing of it blocks.
TEST_F(AsyncTest, CallbacksComeOneByOneOnOneThreadThatMayAskOn) {
    StartWithWorker();
    Client client = MakeClient();
    constexpr int kTasks = 100;
    std::atomic<int> ended = 0;
    std::mutex mutex;
    std::set<std::thread::id> threads;
    Signal all;
    for (int i = 0; i < kTasks; ++i) {
        client.SubmitTaskAsync({.type = "quick"}, [&](Result<TaskRecord> task) {
            ASSERT_TRUE(task) << task.error().message;
            {
                const std::scoped_lock lock(mutex);
                threads.insert(std::this_thread::get_id());
            }
            client.WaitAsync(task->id, kPatience, [&](Result<Execution> run) {
                EXPECT_TRUE(run && run->status == Status::kSuccess);
                if (++ended == kTasks) all.Set();
            });
        });
    }
    EXPECT_TRUE(all.Wait());
    EXPECT_EQ(threads.size(), 1u);
}

// A callback that waits for the next thing blocks other callbacks, and nothing else.
TEST_F(AsyncTest, ACallbackMayWaitForTheObjectThatCalledIt) {
    StartWithWorker();
    Client client = MakeClient();
    for (SchedulerApi* api :
         {static_cast<SchedulerApi*>(&client), static_cast<SchedulerApi*>(scheduler_.get())}) {
        Signal done;
        api->SubmitTaskAsync({.type = "quick"}, [&, api](Result<TaskRecord> task) {
            ASSERT_TRUE(task);
            const auto run = api->WaitForTask(task->id, kPatience);
            EXPECT_TRUE(run && run->status == Status::kSuccess);
            const auto another = api->SubmitTaskAsync({.type = "quick"});
            EXPECT_EQ(another.wait_for(kPatience), std::future_status::ready);
            done.Set();
        });
        EXPECT_TRUE(done.Wait(2 * kPatience));
    }
}

TEST_F(AsyncTest, RunSubmitsAndWaitsWithAnIdOfItsOwn) {
    StartWithWorker();
    Client client = MakeClient();
    const auto run = client.Run({.type = "quick", .payload = R"({"n": 1})"}, kPatience);
    ASSERT_TRUE(run) << run.error().message;
    EXPECT_EQ(run->result, R"({"n": 1})");
    EXPECT_THAT(run->id, HasSubstr("run-"));
    const auto named = scheduler_->Run({.id = "mine", .type = "quick"}, kPatience);
    ASSERT_TRUE(named) << named.error().message;
    EXPECT_EQ(named->id, "mine");
    EXPECT_EQ(client.Run({.id = "mine", .type = "quick"}, kPatience)->id, "mine") << "it was done";

    EXPECT_EQ(client.Run({.type = "quick", .payload = "{"}, kPatience).error().field, "payload");
    const auto recurring = client.Run({.type = "quick", .cron_expression = "@daily"}, kPatience);
    EXPECT_EQ(recurring.error().code, ErrorCode::kInvalid);
    const auto never = client.Run({.type = "nobody has this"}, 50ms);
    EXPECT_EQ(never.error().code, ErrorCode::kTimeout) << never.error().message;
}

TEST_F(AsyncTest, AllAndAnyOfSeveral) {
    StartWithWorker();
    Client client = MakeClient();
    const auto held = client.SubmitTask({.type = "held"});
    const auto quick = client.SubmitTask({.type = "quick"});
    ASSERT_TRUE(held && quick);
    const auto first = client.WaitForAny({held->id, quick->id}, kPatience);
    ASSERT_TRUE(first) << first.error().message;
    EXPECT_EQ(first->index, 1u);
    EXPECT_EQ(first->execution.id, quick->id);

    const auto some = client.WaitForAll({held->id, quick->id, "nobody"}, 50ms);
    ASSERT_EQ(some.size(), 3u);
    EXPECT_EQ(some[0].error().code, ErrorCode::kTimeout);
    EXPECT_TRUE(some[1]);
    EXPECT_EQ(some[2].error().code, ErrorCode::kNotFound);
    released_.Set();
    EXPECT_TRUE(client.WaitForAll({held->id, quick->id}, kPatience)[0]);
    EXPECT_TRUE(client.WaitForAll({}, kPatience).empty());
    EXPECT_EQ(client.WaitForAny({}, kPatience).error().field, "ids");
}

// One object, many threads: each is answered while others wait.
TEST_F(AsyncTest, AWaitHoldsUpNobodyElse) {
    StartWithWorker();
    Client client = MakeClient();
    const auto held = client.SubmitTask({.type = "held"});
    ASSERT_TRUE(held);
    std::vector<std::future<Result<Execution>>> waits;
    for (int i = 0; i < 300; ++i) waits.push_back(client.WaitAsync(held->id, kPatience));
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(client.GetStatus());
    EXPECT_EQ(waits.front().wait_for(0s), std::future_status::timeout);
    released_.Set();
    for (auto& wait : waits) {
        const auto run = wait.get();
        EXPECT_TRUE(run && run->finished());
    }
}

// A program ends while it waits: it is told, and does not hang.
TEST_F(AsyncTest, WhoeverIsDestroyedOrStoppedTellsThoseWhoWait) {
    StartWithWorker();
    const auto held = scheduler_->SubmitTask({.type = "held"});
    ASSERT_TRUE(held);
    std::atomic<int> told = 0;
    const auto tell = [&](Result<Execution> run) {
        if (!run && run.error().code == ErrorCode::kCancelled) ++told;
    };
    std::future<Result<Execution>> asked;
    {
        Client client = MakeClient();
        client.WaitAsync(held->id, kPatience, tell);
        asked = client.WaitAsync(held->id, kPatience);
    }
    EXPECT_EQ(told, 1);
    EXPECT_EQ(asked.get().error().code, ErrorCode::kCancelled);
    scheduler_->WaitAsync(held->id, kPatience, tell);
    asked = scheduler_->WaitAsync(held->id, kPatience);
    scheduler_->Stop();
    EXPECT_EQ(told, 2);
    EXPECT_EQ(asked.get().error().code, ErrorCode::kCancelled);
}

TEST_F(AsyncTest, AClientMayBeDestroyedInItsOwnCallback) {
    StartWithWorker();
    auto client = std::make_unique<Client>(MakeClientOptions());
    Signal gone;
    client->SubmitTaskAsync({.type = "quick"}, [&](Result<TaskRecord>) {
        client.reset();
        gone.Set();
    });
    EXPECT_TRUE(gone.Wait());
}

// A scheduler that hangs, as a stopped process does: the next one is asked.
TEST_F(AsyncTest, AQuestionToASchedulerThatHangsGoesToTheNextOne) {
    StartWithWorker();
    ClientOptions options = MakeClientOptions();
    const Silence silent;
    options.servers = {silent.url(), scheduler_->url()};
    options.timeout = 200ms;
    Client client(options);
    const auto task = scheduler_->SubmitTask({.type = "quick"});
    ASSERT_TRUE(task);
    const auto run = client.WaitForTask(task->id, kPatience);
    ASSERT_TRUE(run) << run.error().message;
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_TRUE(client.GetExecution(task->id));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 200ms) << "it remembers who answered";
}

// A coroutine type as small as can be: runs until its first wait, and is gone at its end.
struct Job {
    struct promise_type {
        Job get_return_object() { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
};

Job RunTwice(Client& client, std::vector<std::string>& results, Signal& done) {
    const auto task = co_await Submit(client, {.type = "quick", .payload = "1"});
    if (task) {
        const auto first = co_await WaitFor(client, task->id, kPatience);
        results.push_back(first ? first->result : first.error().message);
    }
    const auto second = co_await Run(client, {.type = "quick", .payload = "2"}, kPatience);
    results.push_back(second ? second->result : second.error().message);
    done.Set();
}

TEST_F(AsyncTest, ACoroutineReadsFromTopToBottom) {
    StartWithWorker();
    Client client = MakeClient();
    std::vector<std::string> results;
    Signal done;
    RunTwice(client, results, done);
    ASSERT_TRUE(done.Wait());
    EXPECT_THAT(results, ::testing::ElementsAre("1", "2"));
}

}  // namespace
}  // namespace takt::testing_support
