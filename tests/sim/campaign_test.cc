#include "sim/campaign.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/failpoint.h"

namespace takt::internal::sim {
namespace {

// All that a campaign tells, as one text.
std::string Told(const SeedRange& seeds, std::uint64_t jobs, bool to_the_first_failure) {
    std::string text;
    const SimulationOptions options{.steps = 10};
    RunCampaign(options, seeds, jobs, [&](std::uint64_t seed, const SimulationResult& result) {
        text += std::to_string(seed) + " " + std::to_string(result.hash) + " " +
                std::to_string(result.commits) + " " + result.failure + "\n";
        return result.failure.empty() || !to_the_first_failure;
    });
    return text;
}

// A reader of what came of a million seeds need not know how many processes there were.
TEST(CampaignTest, SeveralProcessesTellWhatOneTells) {
    const SeedRange seeds{.first = 3, .count = 20};

    const std::string one = Told(seeds, 1, true);

    EXPECT_EQ(std::ranges::count(one, '\n'), 20);
    EXPECT_EQ(Told(seeds, 3, true), one);
    EXPECT_EQ(Told(seeds, 50, true), one);
}

// A later seed may fail sooner, in another process.
TEST(CampaignTest, TheFirstSeedThatFailsIsTheLowest) {
    ASSERT_TRUE(SetFailPoints("mutant.engine.accept_any_attempt:error"));
    const SeedRange seeds{.first = 1, .count = 60};
    const std::string first = Told(seeds, 1, true);
    const std::string first_of_many = Told(seeds, 4, true);
    const std::string all = Told(seeds, 1, false);
    const std::string all_of_many = Told(seeds, 4, false);
    ASSERT_TRUE(SetFailPoints(""));

    EXPECT_LT(first.size(), all.size()) << "no seed failed";
    EXPECT_EQ(first_of_many, first);
    EXPECT_EQ(all_of_many, all);
}

// An assertion of the product ends the process that simulates: that is a finding, not silence.
TEST(CampaignTest, ASeedThatKillsItsProcessIsNamed) {
    ASSERT_TRUE(SetFailPoints("mutant.node.late_leads:abort"));
    testing::internal::CaptureStderr();
    bool told = false;
    const bool whole =
        RunCampaign({}, {.first = 7, .count = 5}, 2, [&](std::uint64_t, const SimulationResult&) {
            told = true;
            return true;
        });
    const std::string said = testing::internal::GetCapturedStderr();
    ASSERT_TRUE(SetFailPoints(""));

    EXPECT_FALSE(whole);
    EXPECT_FALSE(told);
    EXPECT_NE(said.find("seed 7 killed its process"), std::string::npos) << said;
}

}  // namespace
}  // namespace takt::internal::sim
