#include "server/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "server/server.h"

namespace takt::internal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ServerSettingsTest : public ::testing::Test {
  protected:
    void TearDown() override { std::filesystem::remove(path); }
    Result<void> Load(const std::string& yaml) {
        std::ofstream(path) << yaml;
        return LoadConfigFile(config, path);
    }

    const std::string path = ::testing::TempDir() + "takt_settings_test_" +
                             ::testing::UnitTest::GetInstance()->current_test_info()->name() +
                             ".yaml";
    Config config;
};

// Keys that are only understood where they are used: they were refused one by one, at the start, after
// `takt serve --check` had said that all is well.
TEST_F(ServerSettingsTest, AllMistakesAreToldAtOnceWithTheirLines) {
    ASSERT_TRUE(
        Load("server:\n"
             "  listen: nowhere\n"
             "  node_id: a b\n"
             "executors:\n"
             "  allow: ['10.0.0.0/99', good.example, 'a b']\n"
             "alerts:\n"
             "  rules:\n"
             "    - {name: r, metric: mood, operator: '>', threshold: 1}\n"
             "    - {name: q, metric: tasks_pending, operator: over, threshold: 1}\n"
             "  channels:\n"
             "    - name: ops\n"
             "      kind: webhook\n"
             "      url: https://hooks.example/\n"
             "      secret: env:TAKT_TEST_NOT_SET\n"));
    const auto said =
        AllOf(HasSubstr(path + ":2: server.listen"), HasSubstr(path + ":3: server.node_id"),
              HasSubstr(path + ":5: executors.allow: '10.0.0.0/99', 'a b':"),
              HasSubstr(path + ":8: alerts.rules[0] 'r': metric"),
              HasSubstr(path + ":9: alerts.rules[1] 'q': operator"),
              HasSubstr(path + ":11: alerts.channels[0] 'ops': secret"));
    const auto checked = Server::CheckKeys(config);
    ASSERT_FALSE(checked);
    EXPECT_THAT(checked.error().detail, said);

    // A start says the same, and all that CheckConfig says.
    config.scheduler.leader_ttl = Duration(1);
    const auto started = Server::Start(config);
    ASSERT_FALSE(started);
    EXPECT_THAT(started.error().detail, AllOf(said, HasSubstr("scheduler.leader_ttl must be")));
}

TEST_F(ServerSettingsTest, AFlagIsStrongerAndItsMistakeHasNoLine) {
    ASSERT_TRUE(Load("executors:\n  allow: ['a b']\n"));
    ASSERT_TRUE(SetConfig(config, "executors.allow", "c d"));
    const auto checked = Server::CheckKeys(config);
    ASSERT_FALSE(checked);
    EXPECT_THAT(checked.error().detail, AllOf(HasSubstr("'c d'"), Not(HasSubstr(path))));
}

// A list that is no list at all is one mistake, not another one for each who speaks of its items.
TEST_F(ServerSettingsTest, RulesAreNotBlamedForChannelsThatCouldNotBeRead) {
    const auto loaded = Load(
        "alerts:\n"
        "  channels: 7\n"
        "  rules:\n"
        "    - {name: r, metric: tasks_pending, operator: '>', threshold: 1, channels: [ops]}\n");
    ASSERT_FALSE(loaded);
    EXPECT_THAT(loaded.error().detail, HasSubstr("alerts.channels"));
    EXPECT_TRUE(Server::CheckKeys(config));
}

}  // namespace
}  // namespace takt::internal
