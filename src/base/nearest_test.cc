#include "base/nearest.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace takt::internal {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"scheduler.leader_ttl", "scheduler.timeout",
                                                    "name", "type"};

// A letter too many, one too few, a wrong one, two swapped: what fingers do.
TEST(Nearest, ASlipIsRecognised) {
    EXPECT_EQ(NearestName("scheduler.leader_tll", kNames), "scheduler.leader_ttl");
    EXPECT_EQ(NearestName("schedler.timeout", kNames), "scheduler.timeout");
    EXPECT_EQ(NearestName("names", kNames), "name");
    EXPECT_EQ(NearestName("tpye", kNames), "type");
}

TEST(Nearest, AnotherWordIsNearToNothing) {
    EXPECT_EQ(NearestName("database", kNames), "");
    EXPECT_EQ(NearestName("", kNames), "");
    EXPECT_EQ(NearestName("name", {}), "");
}

// A name sent by a stranger may be a megabyte; comparing it would cost the loop.
TEST(Nearest, NamesLongerThanAnyOfOursAreNotCompared) {
    const std::string name(100'000, 'x');
    const std::array<std::string_view, 1> same = {name};
    EXPECT_EQ(NearestName(name, same), "");
    EXPECT_EQ(NearestName("xx", same), "");
}

}  // namespace
}  // namespace takt::internal
