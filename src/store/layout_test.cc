#include "store/layout.h"

#include <gtest/gtest.h>

namespace takt::internal {
namespace {

using Kind = LayoutDecision::Kind;

constexpr LayoutRange kOurs{.oldest = 2, .known = 4};

Kind DecisionFor(std::string_view stored, const std::vector<AnnouncedLayout>& nodes = {}) {
    return DecideLayout(stored, kOurs, nodes, "Redis").kind;
}

// Fresh data, our own, that of the versions before, and what nobody here can read.
TEST(Layout, WhatIsStoredDecidesWhatAVersionDoes) {
    EXPECT_EQ(DecisionFor(""), Kind::kUse);
    EXPECT_EQ(DecisionFor("4"), Kind::kUse);
    EXPECT_EQ(DecisionFor("3"), Kind::kRaise);
    EXPECT_EQ(DecisionFor("2"), Kind::kRaise);
    EXPECT_EQ(DecideLayout("2", kOurs, {}, "Redis").from, 2u);
    for (const char* stored : {"1", "5", "4>5", "x", "3>", ">4", "-1"}) {
        const LayoutDecision decision = DecideLayout(stored, kOurs, {}, "Redis");
        EXPECT_EQ(decision.kind, Kind::kRefuse) << stored;
        EXPECT_NE(decision.why.find("Redis"), std::string::npos) << stored;
    }
}

// In a rolling upgrade nobody pulls the ground from under an older scheduler; once it is half
// gone, the newer one finishes.
TEST(Layout, ARaiseWaitsForOlderSchedulersButNotInTheMiddle) {
    const LayoutDecision waits = DecideLayout("3", kOurs, {{"new", 4}, {"old", 3}}, "Redis");
    EXPECT_EQ(waits.kind, Kind::kWait);
    EXPECT_NE(waits.why.find("scheduler old"), std::string::npos) << waits.why;
    EXPECT_EQ(DecisionFor("3", {{"new", 4}, {"newer", 5}}), Kind::kRaise);
    EXPECT_EQ(DecisionFor("3>4", {{"old", 3}}), Kind::kRaise);
    EXPECT_EQ(DecisionFor("4", {{"old", 3}}), Kind::kUse);
    EXPECT_EQ(RaisingText(3, 4), "3>4");
}

}  // namespace
}  // namespace takt::internal
