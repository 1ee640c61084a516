#include "model/namespace.h"

#include <gtest/gtest.h>

namespace takt::internal {
namespace {

using namespace std::chrono_literals;

TEST(Namespace, NamesAreThoseOfHosts) {
    for (const char* good : {"a", "0", "billing", "team-7", "a-", "default"}) {
        EXPECT_TRUE(IsNamespaceName(good)) << good;
    }
    for (const char* bad : {"", "-a", "Billing", "a_b", "a.b", "a/b", "*", "é"}) {
        EXPECT_FALSE(IsNamespaceName(bad)) << bad;
    }
    EXPECT_TRUE(IsNamespaceName(std::string(63, 'a')));
    EXPECT_FALSE(IsNamespaceName(std::string(64, 'a')));
}

TEST(Namespace, IsReadAsItWasWritten) {
    const NamespaceRow row{
        .name = "billing",
        .number = 255,
        .id = 41,
        .epoch_floor = 7,
        .state = NamespaceState::kDeleting,
        .created_at = Time(1'700'000'000'123ms),
        .quotas = {.executions_waiting = 10,
                   .submits_per_second = 20,
                   .payload_bytes = 30,
                   .workers = 40,
                   .log_bytes = 50,
                   .retention = 24h},
        .settings = {.retention = 2h,
                     .timeout = 90s,
                     .retry = RetryPolicy{.retries_max = 0, .delay = 1s, .backoff_rate = 1.5},
                     .strategy = Strategy::kRoundRobin}};
    const auto read = DecodeNamespace("billing", EncodeNamespace(row));
    ASSERT_TRUE(read) << read.error().detail;
    EXPECT_EQ(*read, row);
    const auto plain = DecodeNamespace("a", EncodeNamespace({.name = "a", .number = 1}));
    EXPECT_EQ(*plain, (NamespaceRow{.name = "a", .number = 1}));
}

// One row that a person has damaged must not take the other teams' away.
TEST(Namespace, ADirectoryGoesOnWithoutTheRowThatCannotBeRead) {
    const NamespaceRow good{.name = "billing", .number = 3, .id = 2};
    const Directory directory = ReadDirectory({{"namespaces.version", "17"},
                                               {"namespaces/damaged", "{"},
                                               {"namespaces/far", R"({"number":256})"},
                                               SettingOf(good)});
    EXPECT_EQ(directory.version, 17u);
    ASSERT_EQ(directory.rows.size(), 1u);
    EXPECT_EQ(directory.rows.at("billing"), good);
}

}  // namespace
}  // namespace takt::internal
