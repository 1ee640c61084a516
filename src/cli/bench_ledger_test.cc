#include "cli/bench_ledger.h"

#include <gtest/gtest.h>

namespace takt::internal::cli {
namespace {

// A task travels through scheduler and store as text and must come out as the one that was sent.
TEST(BenchLedger, APayloadTellsItsTask) {
    const std::string payload =
        BenchPayload({.phase = 3, .number = 9'999'999, .sent_us = 1'234'567'890'123}, 100);
    EXPECT_EQ(payload.size(), 102u);

    const auto read = ReadBenchPayload(payload);

    ASSERT_TRUE(read);
    EXPECT_EQ(read->phase, 3u);
    EXPECT_EQ(read->number, 9'999'999u);
    EXPECT_EQ(read->sent_us, 1'234'567'890'123);
}

// A scheduler that is measured may hold other tasks of the same type, and a broken one may send
// any.
TEST(BenchLedger, WhatIsNoTaskOfTheMeasurementIsRefused) {
    BenchLedger ledger;
    EXPECT_FALSE(ledger.Began(""));
    EXPECT_FALSE(ledger.Began("\"short\""));
    EXPECT_FALSE(ledger.Began(BenchPayload({.number = kBenchTasksMax}, 40)));
    std::string wrong = BenchPayload({}, 40);
    wrong[2] = '-';
    EXPECT_FALSE(ledger.Began(wrong));
}

// The number that a measurement stands or falls with: a task that ran twice is not two tasks.
TEST(BenchLedger, ATaskThatComesTwiceIsCountedApart) {
    BenchLedger ledger;
    for (const std::size_t number : {0u, 700u, 1u, 700u}) {
        EXPECT_TRUE(ledger.Began(BenchPayload({.phase = 1, .number = number}, 40)));
    }
    EXPECT_EQ(ledger.Read(1).distinct, 3u);
    EXPECT_EQ(ledger.Read(1).twice, 1u);
    EXPECT_TRUE(ledger.Read(1).latencies_us.empty());
    EXPECT_EQ(ledger.Read(2).distinct, 0u);
}

// Latency is from just before the submit to the handler's begin.
TEST(BenchLedger, ATaskWithATimeGivesALatency) {
    BenchLedger ledger;
    const std::int64_t sent_us = SteadyMicroseconds() - 5'000;
    EXPECT_TRUE(ledger.Began(BenchPayload({.phase = 1, .number = 0, .sent_us = sent_us}, 40)));
    ASSERT_EQ(ledger.Read(1).latencies_us.size(), 1u);
    EXPECT_GE(ledger.Read(1).latencies_us[0], 5'000);
}

}  // namespace
}  // namespace takt::internal::cli
