// Who leads what, among many partitions and schedulers, whatever happens to these.
#include "sim/lead_simulation.h"

#include <gtest/gtest.h>

#include "base/failpoint.h"
#include "base/log.h"

namespace takt::internal::sim {
namespace {

constexpr Micros kFailover = LeadSimulation::kTtl + 1s;

class LeadSimulationTest : public ::testing::Test {
  protected:
    void SetUp() override { ASSERT_TRUE(StartFailPoints()); }

    const LogCapture quiet_;
};

// Processes die, freeze, are cut off, start and stop; the store is slow, loses answers, is reached
// late.
TEST_F(LeadSimulationTest, NoTwoLeadAtOnceAndAllIsLedWhenItHeals) {
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        LeadSimulation simulation({.seed = seed});
        simulation.Run(3s);
        simulation.RunFaults(60s);
        const Micros took = simulation.RunUntilLed(2 * kFailover);

        ASSERT_EQ(simulation.failure(), "") << "seed " << seed;
        EXPECT_LE(took, kFailover) << "seed " << seed;
    }
}

// Of the tests: a leader that trusts its term longer than it stands is found out.
TEST_F(LeadSimulationTest, TrustBeyondTheTtlIsNoticed) {
    std::string failure;
    for (std::uint64_t seed = 1; seed <= 50 && failure.empty(); ++seed) {
        LeadSimulation simulation({.seed = seed, .margin = Duration(-2'000)});
        simulation.RunFaults(60s);
        failure = simulation.failure();
    }
    EXPECT_NE(failure, "");
}

// kill -9 of one of three. What it led is led by the others within the ttl and a second, half each.
TEST_F(LeadSimulationTest, WhatADeadSchedulerLedIsSpreadOverTheOthersInTime) {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        LeadSimulation simulation({.seed = seed});
        simulation.Run(5s);
        ASSERT_TRUE(simulation.AllLed());
        EXPECT_LE(simulation.Unevenness(), 1u);
        simulation.LongestGap();
        simulation.nodes()[seed % 3]->Crash();
        simulation.Run(kFailover);

        ASSERT_EQ(simulation.failure(), "") << "seed " << seed;
        EXPECT_TRUE(simulation.AllLed()) << "seed " << seed;
        EXPECT_LE(simulation.LongestGap(), kFailover);
        EXPECT_LE(simulation.Unevenness(), 1u) << "seed " << seed;
    }
}

// Two of three are on one machine, which fails. What the plan of the third gives to the second is not
// waited for on top of noticing that the first is gone.
TEST_F(LeadSimulationTest, WhatTwoThatDieTogetherLedIsLedInTime) {
    for (const std::size_t led_by_one : {0, 1}) {
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            LeadSimulation simulation({.seed = seed, .nodes = 3 - led_by_one});
            simulation.Run(5s);
            // One that has just come leads nothing yet, and would be given everything.
            if (led_by_one == 1) simulation.Add();
            simulation.Run(2s + std::chrono::milliseconds(seed * 37));
            ASSERT_TRUE(simulation.AllLed());
            simulation.nodes()[1]->Crash();
            simulation.nodes()[2]->Crash();
            simulation.Run(kFailover);

            ASSERT_EQ(simulation.failure(), "") << "seed " << seed;
            EXPECT_TRUE(simulation.AllLed()) << "seed " << seed;
        }
    }
}

// A stop in order leaves nothing for long: nobody waits for a ttl.
TEST_F(LeadSimulationTest, AStopInOrderMovesEverythingAtOnce) {
    LeadSimulation simulation({});
    simulation.Run(5s);
    simulation.LongestGap();
    simulation.nodes()[0]->Stop();
    simulation.Run(5s);

    EXPECT_TRUE(simulation.AllLed());
    EXPECT_LT(simulation.LongestGap(), 1s);
}

// A process that is started again and again, twice a second, beside two that are well.
TEST_F(LeadSimulationTest, ASchedulerThatComesAndGoesMovesNothing) {
    LeadSimulation simulation({.nodes = 2});
    simulation.Run(5s);
    const int before = simulation.nodes()[0]->elections() + simulation.nodes()[1]->elections();
    simulation.LongestGap();
    for (int i = 0; i < 120; ++i) {
        LeadNode& passer_by = simulation.Add();
        simulation.Run(250ms);
        i % 2 == 0 ? passer_by.Crash() : passer_by.Stop();
        simulation.Run(250ms);
        if (i > 10) simulation.nodes().erase(simulation.nodes().begin() + 2);
    }

    EXPECT_EQ(simulation.failure(), "");
    EXPECT_TRUE(simulation.AllLed());
    const auto& nodes = simulation.nodes();
    EXPECT_EQ(nodes[0]->elections() + nodes[1]->elections(), before);
    EXPECT_EQ(nodes[0]->depositions() + nodes[1]->depositions(), 0);
    EXPECT_LE(simulation.LongestGap(), 100ms);
}

// Two more are started beside one that leads everything. It hands over until all is even, one at a
// time, and each is led again at once.
TEST_F(LeadSimulationTest, ALeaderOfEverythingHandsOverUntilAllIsEven) {
    const ShareTimes quick{.hand_over_every = 1s, .announced_for = 3s, .kept_for = 6s};
    LeadSimulation simulation({.nodes = 1, .shares = quick});
    simulation.Run(10s);
    ASSERT_EQ(simulation.nodes()[0]->leads(), 12u);
    simulation.LongestGap();
    simulation.Add();
    simulation.Add();
    simulation.Run(2s);
    EXPECT_EQ(simulation.nodes()[0]->leads(), 12u) << "they have just come";
    simulation.Run(30s);

    EXPECT_EQ(simulation.failure(), "");
    EXPECT_LE(simulation.Unevenness(), 1u);
    EXPECT_LT(simulation.LongestGap(), 1s);
    int moves = 0;
    for (const auto& node : simulation.nodes()) moves += node->elections();
    EXPECT_EQ(moves, 12 + 8) << "each that had to move moved once";
    simulation.Run(60s);
    for (const auto& node : simulation.nodes()) moves -= node->elections();
    EXPECT_EQ(moves, 0) << "when all is even nothing moves";
}

// Schedulers that are started seconds apart: the first has everything before the others are there.
TEST_F(LeadSimulationTest, TwoMinutesAfterTheStartAllIsEven) {
    LeadSimulation simulation({.nodes = 1});
    simulation.Run(3s);
    ASSERT_EQ(simulation.nodes()[0]->leads(), 12u);
    simulation.Add();
    simulation.Run(3s);
    simulation.Add();
    simulation.Run(2min);

    EXPECT_EQ(simulation.failure(), "");
    EXPECT_LE(simulation.Unevenness(), 1u);
}

// 255 namespaces on three schedulers, and nothing happens.
TEST_F(LeadSimulationTest, AtRestManyPartitionsCostNoMoreThanOne) {
    for (const Partition partitions : {Partition(1), Partition(255)}) {
        LeadSimulation simulation({.partitions = partitions});
        simulation.Run(4s);
        ASSERT_TRUE(simulation.AllLed());
        LeadDatabase& database = simulation.database();
        const std::uint64_t before = database.requests - database.commits;
        simulation.Run(4s);
        const std::uint64_t requests = database.requests - database.commits - before;

        // Three nodes: a read each 0.6 s, an announcement each 0.8 s, a look at the nodes each 1.6 s.
        EXPECT_LE(requests, 4u * 12u) << int(partitions) << " partitions";
    }
}

}  // namespace
}  // namespace takt::internal::sim
