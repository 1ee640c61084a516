#include "statistics/statistics.h"

#include <gtest/gtest.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <future>
#include <thread>

#include "node/asio_runtime.h"
#include "store/memory/store.h"

namespace takt::internal {
namespace {

using namespace std::chrono_literals;

// Runs all it is given at once, and tells when somebody leads.
class InstantWorker final : public Sink {
  public:
    explicit InstantWorker(Statistics& next) : next_(next) {}
    void OnCommit(const Committed& committed) override { next_.OnCommit(committed); }
    void Release(const Effects& effects) override {
        next_.Release(effects);
        for (const Assign& assign : effects.assigns) {
            node->Tell(Report{
                .session = assign.session,
                .attempt = {assign.execution.id, assign.execution.attempt, assign.execution.token},
                .success = true});
        }
        for (const Event& event : effects.events) {
            if (event.type == EventType::kTaskCompleted && --wanted == 0) completed.set_value();
        }
    }
    void OnRole(Role role) override {
        next_.OnRole(role);
        if (role == Role::kLeader) leading.set_value();
    }

    Node* node = nullptr;
    int wanted = 0;
    std::promise<void> leading;
    std::promise<void> completed;

  private:
    Statistics& next_;
};

StatisticsConfig ConfigOf(Duration step) {
    return {.flush_interval = 1h, .step = step, .queue_step = step, .keep = 48h};
}

// One scheduler after the other over the same database.
class Leader {
  public:
    explicit Leader(std::shared_ptr<MemoryDatabase> database, const char* name, Duration step = 1h)
        : store_(std::move(database)),
          statistics(runtime_, PartitionReader(store_, kDefaultPartition), ConfigOf(step)),
          worker_(statistics),
          node_(runtime_, store_, {.leadership = {.node = NodeId(Text(name))}}, NewRandomSeed(),
                &worker_) {
        worker_.node = &node_;
        statistics.Bind(node_);
        node_.Start();
        EXPECT_EQ(worker_.leading.get_future().wait_for(10s), std::future_status::ready);
    }
    ~Leader() {
        std::promise<void> stopped;
        node_.Stop([&] { stopped.set_value(); });
        stopped.get_future().wait();
        guard_.reset();
        loop_.stop();
        thread_.join();
    }

    void RunTasks(int count) {
        worker_.wanted = count;
        worker_.completed = {};
        Worker worker;
        worker.id = WorkerId("w");
        worker.capacity = 100;
        if (!std::exchange(attached_, true)) node_.Tell(Attach{.session = 1, .worker = worker});
        for (int i = 0; i < count; ++i) {
            NewTaskPtr task(new Task);
            task->name = "job";
            task->type = "work";
            task->queue = "default";
            node_.Tell(Submit{.task = std::move(task)});
        }
        EXPECT_EQ(worker_.completed.get_future().wait_for(10s), std::future_status::ready);
    }
    void Flush() {
        std::promise<void> done;
        statistics.Flush([&] { done.set_value(); });
        EXPECT_EQ(done.get_future().wait_for(10s), std::future_status::ready);
    }
    std::uint64_t CountJobs() {
        std::promise<std::uint64_t> answer;
        const Time now = ReadClocks().wall;
        statistics.Ask({.by = ReportBy::kTask, .from = now - 24h, .to = now + 24h},
                       [&](auto lines) {
                           std::uint64_t count = 0;
                           for (const auto& line : lines.value()) count += line.cell->success;
                           answer.set_value(count);
                       });
        return answer.get_future().get();
    }

    // How many succeeded by the series, once that is `least`.
    std::uint64_t AwaitSeries(std::uint64_t least) {
        std::uint64_t count = 0;
        for (const Steady end = SteadyClock::now() + 10s; SteadyClock::now() < end;) {
            std::promise<std::vector<SeriesPoint>> answer;
            statistics.AskSeries(1h, [&](auto points) { answer.set_value(std::move(points)); });
            count = 0;
            for (const SeriesPoint& point : answer.get_future().get()) count += point.completed;
            if (count >= least) break;
        }
        return count;
    }

  private:
    boost::asio::io_context loop_{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_{
        loop_.get_executor()};
    AsioRuntime runtime_{loop_};
    MemoryStore store_;

  public:
    Statistics statistics;

  private:
    InstantWorker worker_;
    Node node_;
    bool attached_ = false;
    std::thread thread_{[this] { loop_.run(); }};
};

// How many ended in the queue by its history, once that is `least`.
std::uint64_t AwaitQueue(Leader& leader, std::uint64_t least) {
    std::uint64_t count = 0;
    for (const Steady end = SteadyClock::now() + 10s; SteadyClock::now() < end;) {
        std::promise<Statistics::QueueAnswer> answer;
        leader.statistics.AskQueue(Text("default"), 1h,
                                   [&](auto given) { answer.set_value(std::move(given)); });
        count = 0;
        for (const QueuePoint& point : answer.get_future().get().points) count += point.finished;
        if (count >= least) break;
    }
    return count;
}

// A leader stops in order, another takes over: the day goes on where it was.
TEST(StatisticsTest, OutliveTheirLeader) {
    auto database = std::make_shared<MemoryDatabase>();
    {
        Leader first(database, "a");
        first.RunTasks(20);
        EXPECT_EQ(first.CountJobs(), 20u) << "what is not written yet counts too";
        first.Flush();
        first.RunTasks(5);
        first.Flush();
        EXPECT_EQ(first.CountJobs(), 25u);
    }
    Leader second(database, "b");
    EXPECT_EQ(second.CountJobs(), 25u) << "from the store";
    second.RunTasks(10);
    EXPECT_EQ(second.CountJobs(), 35u) << "before its own day is loaded";
    second.Flush();
    EXPECT_EQ(second.CountJobs(), 35u) << "and after";
}

// Somebody restarts the scheduler and looks at the overview: the last hour is still there.
TEST(StatisticsTest, TheSeriesGoesOnUnderTheNextLeader) {
    auto database = std::make_shared<MemoryDatabase>();
    {
        Leader first(database, "a", 10ms);
        first.RunTasks(20);
        EXPECT_EQ(first.AwaitSeries(20), 20u);
        first.Flush();
    }
    {
        Leader second(database, "b", 10ms);
        EXPECT_EQ(second.AwaitSeries(20), 20u) << "from the store";
        second.RunTasks(5);
        EXPECT_EQ(second.AwaitSeries(25), 25u);
        second.Flush();
    }
    Leader third(database, "c");
    EXPECT_EQ(third.AwaitSeries(25), 25u) << "of both";
}

// The same on the page of a queue.
TEST(StatisticsTest, TheHistoryOfAQueueGoesOnUnderTheNextLeader) {
    auto database = std::make_shared<MemoryDatabase>();
    {
        Leader first(database, "a", 10ms);
        first.RunTasks(20);
        EXPECT_EQ(AwaitQueue(first, 20), 20u);
        first.Flush();
    }
    {
        Leader second(database, "b", 10ms);
        EXPECT_EQ(AwaitQueue(second, 20), 20u) << "from the store";
        second.RunTasks(5);
        EXPECT_EQ(AwaitQueue(second, 25), 25u);
        second.Flush();
    }
    Leader third(database, "c");
    EXPECT_EQ(AwaitQueue(third, 25), 25u) << "of both";
}

TEST(SeriesTest, PointsAreReadBackAsTheyWereKept) {
    const Time now = *ParseTime("2026-11-15T12:00:00Z");
    const std::vector<SeriesPoint> points = {{.at = now,
                                              .submitted = 3,
                                              .completed = 2,
                                              .failed = 1,
                                              .retries = 4,
                                              .running = 5,
                                              .pending = 6,
                                              .wait_p50 = 0.25,
                                              .run_p99 = 1234.5},
                                             {.at = now + 10s}};
    const auto read = DecodePoints(EncodePoints(points) + "nonsense\n1 2\n");
    ASSERT_EQ(read.size(), 2u);
    EXPECT_EQ(read[0].at, now);
    EXPECT_EQ(read[0].failed, 1u);
    EXPECT_EQ(read[0].pending, 6u);
    EXPECT_EQ(read[0].wait_p50, 0.25);
    EXPECT_FALSE(read[0].wait_p99);
    EXPECT_EQ(read[0].run_p99, 1234.5);
    Series series;
    series.EndStep(now + 5s, {});
    series.Prepend(read);
    EXPECT_EQ(series.Since(now).size(), 2u) << "what is not older is left out";
}

// A leader crashes between two flushes: what it had not written is lost, nothing else.
TEST(StatisticsTest, ACrashLosesOnlyWhatWasNotFlushed) {
    auto database = std::make_shared<MemoryDatabase>();
    {
        Leader first(database, "a");
        first.RunTasks(20);
        first.Flush();
        first.RunTasks(5);
    }
    Leader second(database, "b");
    second.RunTasks(1);
    second.Flush();
    EXPECT_EQ(second.CountJobs(), 21u);
}

}  // namespace
}  // namespace takt::internal
