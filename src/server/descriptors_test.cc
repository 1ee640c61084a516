#include "server/descriptors.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace takt::internal {
namespace {

// One address may hold 1,000 connections, the usual limit on files is 1,024, and idle connections
// cost nothing. What is called outwards must still find a descriptor.
TEST(Descriptors, SomeAreKeptForWhatIsCalled) {
    EXPECT_EQ(ConnectionsWithin(1'024, 20'000), 768u);
    EXPECT_EQ(ConnectionsWithin(64, 20'000), 32u);
    EXPECT_EQ(ConnectionsWithin(20, 20'000), 1u);
    EXPECT_EQ(ConnectionsWithin(1 << 20, 20'000), 20'000u);
    EXPECT_EQ(ConnectionsWithin(20'000, 20'000), 18'976u);
}

TEST(Descriptors, TheSoftLimitIsRaisedToTheHardOne) {
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    rlimit low = before;
    low.rlim_cur = std::min<rlim_t>(before.rlim_max, 256);
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
    EXPECT_EQ(DescriptorLimit(), low.rlim_cur);
    RaiseDescriptorLimit();
    EXPECT_EQ(DescriptorLimit(), std::min<rlim_t>(before.rlim_max, 1 << 20));
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace takt::internal
