#include "statistics/queue_history.h"

#include <gtest/gtest.h>

namespace takt::internal {
namespace {

using namespace std::chrono_literals;

const Time kStart = *ParseTime("2026-11-15T12:00:00Z");

Execution RowThatEnded(const char* queue, Status status, Duration wait) {
    NewTaskPtr task(new Task);
    task->queue = queue;
    Execution row;
    row.task = std::move(task);
    row.status = status;
    row.ready_at = kStart;
    row.started_at = kStart + wait;
    return row;
}

QueueHistory::Depth Waiting(const char* queue, std::uint64_t count) {
    return {.queue = Text(queue), .waiting = count, .oldest_wait = 3s};
}

// A queue piles up for a while and is worked off: the chart shows when, how much and how long, and that
// nothing was there before and after.
TEST(QueueHistoryTest, TellsHowAQueueFilledAndEmptied) {
    QueueHistory history;
    history.EndStep(kStart);
    history.Look({Waiting("mail", 5), Waiting("idle", 0)});
    history.Look({Waiting("mail", 2)});
    history.Ended(RowThatEnded("mail", Status::kSuccess, 1s));
    history.Ended(RowThatEnded("mail", Status::kFailed, 1s));
    history.Ended(RowThatEnded("mail", Status::kSkipped, 1s));
    history.EndStep(kStart + 1min);
    history.EndStep(kStart + 2min);
    history.EndStep(kStart + 3min);
    history.Look({Waiting("mail", 1)});
    history.EndStep(kStart + 4min);

    const auto points = history.Since(Text("mail"), kStart);
    ASSERT_EQ(points.size(), 5u);
    EXPECT_TRUE(points[0].idle());
    EXPECT_EQ(points[0].at, kStart);
    EXPECT_EQ(points[1].waiting, 5u) << "the most that was seen";
    EXPECT_EQ(points[1].oldest_wait, 3s);
    EXPECT_EQ(points[1].finished, 2u);
    EXPECT_EQ(points[1].failed, 1u);
    EXPECT_NEAR(*points[1].wait_p95, 1000, 32);
    EXPECT_TRUE(points[2].idle());
    EXPECT_EQ(points[2].at, kStart + 2min);
    EXPECT_TRUE(points[3].idle()) << "it was idle right up to the next work";
    EXPECT_EQ(points[3].at, kStart + 3min);
    EXPECT_EQ(points[4].waiting, 1u);
    EXPECT_FALSE(points[4].wait_p95);
    EXPECT_TRUE(history.Since(Text("idle"), kStart).empty());
    EXPECT_EQ(history.Since(Text("mail"), kStart + 2min).size(), 3u);
}

// Somebody has a queue for each customer. Memory and rows do not grow with them, the fullest are
// kept, and one that stays at work keeps its place.
TEST(QueueHistoryTest, ThousandsOfQueuesShareItsPlaces) {
    QueueHistory history;
    std::vector<QueueHistory::Depth> depths;
    for (std::uint64_t i = 0; i < 5000; ++i) {
        depths.push_back(Waiting(("customer-" + std::to_string(i)).c_str(), i + 1));
    }
    history.Look(depths);
    history.EndStep(kStart);
    EXPECT_EQ(history.Since(Time{}).size(), QueueHistory::kQueuesMax);
    EXPECT_EQ(history.Since(Text("customer-4999"), Time{}).size(), 1u);
    EXPECT_FALSE(history.Keeps(Text("customer-0")));

    history.Look({Waiting("customer-4999", 1)});
    for (int i = 0; i < 300; ++i) {
        history.Ended(RowThatEnded(("new-" + std::to_string(i)).c_str(), Status::kSuccess, 1ms));
    }
    history.EndStep(kStart + 1min);
    EXPECT_EQ(history.Since(Time{}).size(), QueueHistory::kQueuesMax);
    EXPECT_EQ(history.Since(Text("customer-4999"), Time{}).size(), 2u);
    EXPECT_TRUE(history.Keeps(Text("new-0"))) << "in the place of one that was idle";
    EXPECT_FALSE(history.Keeps(Text("new-299"))) << "nobody was idle any more";
    EXPECT_LT(EncodeQueues(history.Since(kStart + 1min)).size(), 8'000u);
}

TEST(QueueHistoryTest, KeepsSixHoursAndForgetsIdleQueues) {
    QueueHistory history;
    history.Look({Waiting("once", 1)});
    for (int i = 0; i < 500; ++i) {
        history.Look({Waiting("always", 1)});
        history.EndStep(kStart + i * 1min);
    }
    EXPECT_EQ(history.Since(Text("always"), Time{}).size(), QueueHistory::kPointsMax);
    EXPECT_TRUE(history.Since(Text("once"), Time{}).empty());
    EXPECT_EQ(history.Since(Time{}).size(), 1u);
}

// The next leader goes on, also from rows of a version that knows more than queues.
TEST(QueueHistoryTest, GoesOnFromWhatAnEarlierLeaderKept) {
    QueueHistory first;
    first.Look({Waiting("mail", 7)});
    first.Ended(RowThatEnded("mail", Status::kSuccess, 250ms));
    first.EndStep(kStart);
    const std::string kept =
        "1763208000000 1 2 3\nq mail broken\nq\n" + EncodeQueues(first.Since(Time{}));
    QueuePoints queues;
    DecodeQueues(kept, queues);

    QueueHistory second;
    second.Look({Waiting("mail", 1)});
    second.EndStep(kStart + 1min);
    second.Prepend(queues);
    second.Prepend(queues);
    const auto points = second.Since(Text("mail"), Time{});
    ASSERT_EQ(points.size(), 2u) << "what is there is not added twice";
    EXPECT_EQ(points[0].at, kStart);
    EXPECT_EQ(points[0].waiting, 7u);
    EXPECT_EQ(points[0].oldest_wait, 3s);
    EXPECT_EQ(points[0].finished, 1u);
    EXPECT_EQ(points[0].wait_p95, first.Since(Text("mail"), Time{})[0].wait_p95);
    EXPECT_EQ(points[1].waiting, 1u);
}

}  // namespace
}  // namespace takt::internal
