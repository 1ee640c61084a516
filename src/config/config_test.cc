#include "config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "config/foreign_keys.h"
#include "config/page_testing.h"

namespace takt::internal {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class ConfigTest : public ::testing::Test {
  protected:
    void TearDown() override { std::filesystem::remove(path); }
    Result<void> Load(const std::string& yaml) {
        std::ofstream(path) << yaml;
        return LoadConfigFile(config, path);
    }
    Result<void> Environment(std::vector<std::string> variables) {
        return LoadConfigEnvironment(config, variables);
    }

    static bool HasKey(std::string_view name) {
        return std::ranges::any_of(ConfigKeys(),
                                   [&](const ConfigKey& key) { return key.name == name; });
    }

    const std::string path = ::testing::TempDir() + "takt_config_test_" +
                             ::testing::UnitTest::GetInstance()->current_test_info()->name() +
                             ".yaml";
    Config config;
};

// --- Where values come from ---------------------------------------------------------------------

TEST_F(ConfigTest, EachPlaceIsStrongerThanTheOneBefore) {
    ASSERT_TRUE(Load("scheduler:\n  leader_ttl: 20s\n  max_retry: 7\n  queue_size: 5\n"));
    ASSERT_TRUE(
        Environment({"PATH=/bin", "TAKT_SCHEDULER_MAX_RETRY=8", "TAKT_SCHEDULER_QUEUE_SIZE=6"}));
    ASSERT_TRUE(SetConfig(config, "scheduler.queue_size", "9"));

    EXPECT_EQ(config.scheduler.leader_ttl, 20s);
    EXPECT_EQ(config.engine.retry.retries_max, 8u);
    EXPECT_EQ(config.engine.pending_max, 9u);
    EXPECT_EQ(config.scheduler.scan_interval, Config().scheduler.scan_interval);
}

TEST_F(ConfigTest, ListsAndMapsAreWrittenAsYamlOrAsFlags) {
    ASSERT_TRUE(Load("worker:\n  queues: [mail, video]\n  labels: {zone: a, disk: ssd}\n"));
    EXPECT_THAT(config.worker.queues, ::testing::ElementsAre("mail", "video"));
    EXPECT_EQ(config.worker.labels["disk"], "ssd");
    ASSERT_TRUE(SetConfig(config, "worker.queues", " a, b ,,c"));
    ASSERT_TRUE(SetConfig(config, "worker.labels", "zone=b"));

    EXPECT_THAT(config.worker.queues, ::testing::ElementsAre("a", "b", "c"));
    EXPECT_EQ(config.worker.labels.size(), 1u);
}

// A worker that gives its handlers longer than the scheduler waits never gets to say how they
// ended.
TEST_F(ConfigTest, AWorkersGraceEndsBeforeTheSchedulers) {
    EXPECT_LT(config.worker.stop_grace, config.engine.timeout_grace);
}

// Services that `takt worker` hands tasks to.
TEST_F(ConfigTest, ExecutorsOfAWorkerAreAListOfMaps) {
    ASSERT_TRUE(
        Load("worker:\n  shell_env: [AWS_REGION]\n  executors:\n"
             "    - {type: bill, protocol: http, url: https://billing/run, timeout: 1m}\n"
             "    - {type: resize, protocol: grpc, url: 'images:9000', tls: true}\n"));
    EXPECT_THAT(config.worker.shell_env, ::testing::ElementsAre("AWS_REGION"));
    ASSERT_EQ(config.worker.executors.size(), 2u);
    EXPECT_EQ(config.worker.executors[0]["url"], "https://billing/run");
    EXPECT_EQ(config.worker.executors[1]["tls"], "true");
}

// Rules and channels are lists of maps, in a file, in the environment and as a flag.
TEST_F(ConfigTest, ListsOfMapsAreWrittenAsYamlOrOnOneLine) {
    ASSERT_TRUE(
        Load("alerts:\n  rules:\n    - name: deep\n      metric: tasks_pending\n"
             "      operator: \">\"\n      threshold: 10\n      channels: [ops, log]\n"));
    ASSERT_EQ(config.alerts.rules.size(), 1u);
    EXPECT_EQ(config.alerts.rules[0]["operator"], ">");
    EXPECT_EQ(config.alerts.rules[0]["channels"], "ops,log");
    ASSERT_TRUE(Environment(
        {"TAKT_ALERTS_CHANNELS=[{name: ops, kind: webhook, url: 'http://h/?a=b'}, {name: x}]"}));
    ASSERT_EQ(config.alerts.channels.size(), 2u);
    EXPECT_EQ(config.alerts.channels[0]["url"], "http://h/?a=b");
    ASSERT_TRUE(SetConfig(config, "alerts.channels", R"([{"name": "json", "kind": "log"}])"));
    EXPECT_EQ(config.alerts.channels[0]["name"], "json");
    EXPECT_FALSE(SetConfig(config, "alerts.channels", "{name: x}"));
    EXPECT_FALSE(SetConfig(config, "alerts.channels", "[{name: {a: b}}]"));
    EXPECT_FALSE(SetConfig(config, "alerts.channels", "[{name: "));
    const auto loaded = Load("alerts:\n  rules: often\n");
    ASSERT_FALSE(loaded);
    EXPECT_THAT(loaded.error().detail, HasSubstr(path + ":2"));
}

TEST_F(ConfigTest, AnEmptyFileAndEmptySectionsChangeNothing) {
    EXPECT_TRUE(Load(""));
    EXPECT_TRUE(Load("scheduler:\n  timeout:\n"));
    EXPECT_EQ(config.engine.timeout, Config().engine.timeout);
}

// A container gives its processes variables of other programs, and of the command line tool.
TEST_F(ConfigTest, VariablesThatAreNoKeysButOurOwnAreLeftAlone) {
    EXPECT_TRUE(Environment({"TAKT_TOKEN=x", "TAKT_SERVER=y", "TAKT_CONTEXT=z", "TAKT_NAMESPACE=n",
                             "TAKT_FAILPOINTS=", "HOME=/"}));
}

// --- Mistakes -----------------------------------------------------------------------------------

TEST_F(ConfigTest, AnUnknownKeyIsRefusedWithTheNearestAndItsLine) {
    auto loaded = Load("scheduler:\n  max_retry: 3\n  leader_tll: 20s\n");
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().code, ErrorCode::kInvalid);
    EXPECT_THAT(loaded.error().detail, HasSubstr(path + ":3"));
    EXPECT_THAT(loaded.error().detail, HasSubstr("did you mean 'scheduler.leader_ttl'?"));
    loaded = Environment({"TAKT_SCHEDULER_MAXRETRY=1"});
    ASSERT_FALSE(loaded);
    EXPECT_THAT(loaded.error().detail, HasSubstr("did you mean TAKT_SCHEDULER_MAX_RETRY?"));
    loaded = SetConfig(config, "colour", "blue");
    ASSERT_FALSE(loaded);
    EXPECT_THAT(loaded.error().detail, HasSubstr("docs/configuration.md"));
}

TEST_F(ConfigTest, ABadValueIsRefusedWithItsKeyAndChangesNothing) {
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"scheduler.leader_ttl", "soon"},
        {"scheduler.leader_ttl", "-1s"},
        {"scheduler.max_retry", "-1"},
        {"scheduler.max_retry", "4294967296"},
        {"scheduler.max_retry", "4x"},
        {"scheduler.max_retry", ""},
        {"scheduler.retry_backoff_rate", "nan"},
        {"scheduler.retry_backoff_rate", "1e999"},
        {"scheduler.strategy", "best"},
        {"scheduler.strategy", "custom"},
        {"server.insecure", "maybe"},
        {"log.level", "loud"},
        {"log.format", "xml"},
        {"worker.labels", "zone"},
        {"worker.labels", "=a"},
    };
    for (const auto& [key, value] : cases) {
        const auto set = SetConfig(config, key, value);
        ASSERT_FALSE(set) << key << "=" << value;
        EXPECT_EQ(set.error().field, key);
        EXPECT_THAT(set.error().detail, HasSubstr(key));
    }
    const Config untouched;
    for (const ConfigKey& key : ConfigKeys()) {
        if (key.name == "worker.labels") continue;
        EXPECT_EQ(key.get(config), key.get(untouched)) << key.name;
    }
}

TEST_F(ConfigTest, AFileThatIsNoMapOfSectionsIsRefused) {
    EXPECT_FALSE(Load("just text"));
    EXPECT_FALSE(Load("- a\n- b\n"));
    const auto broken = Load("scheduler:\n  a: [1, 2\n");
    ASSERT_FALSE(broken);
    EXPECT_THAT(broken.error().detail, HasSubstr(path));
    EXPECT_FALSE(LoadConfigFile(config, path + ".missing"));
    // A section that is no map, and a list where a single value belongs.
    EXPECT_FALSE(Load("scheduler: 5\n"));
    EXPECT_FALSE(Load("scheduler:\n  max_retry: [1, 2]\n"));
    EXPECT_FALSE(Load("worker:\n  queues: [[a, b]]\n"));
    EXPECT_FALSE(Load("worker:\n  labels: {zone: {a: b}}\n"));
}

// `takt serve --config /etc/takt` instead of /etc/takt/server.yaml.
TEST_F(ConfigTest, ADirectoryIsNoFile) {
    const auto loaded = LoadConfigFile(config, ::testing::TempDir());
    ASSERT_FALSE(loaded);
    EXPECT_THAT(loaded.error().detail, HasSubstr("is a directory"));
}

// A disk that fails: the memory of a process has nothing to read at its beginning.
TEST_F(ConfigTest, AFileThatCannotBeReadIsAMistakeAndNoCrash) {
    const auto loaded = LoadConfigFile(config, "/proc/self/mem");
    ASSERT_FALSE(loaded);
    EXPECT_THAT(loaded.error().detail, HasSubstr("cannot be read"));
}

// Somebody adds a key at the end of a long file in which it stands already.
TEST_F(ConfigTest, AKeyThatStandsTwiceIsRefusedWithBothLines) {
    const auto loaded = Load("scheduler:\n  max_retry: 3\n  queue_size: 5\n  max_retry: 4\n");
    ASSERT_FALSE(loaded);
    EXPECT_THAT(loaded.error().detail,
                HasSubstr(path + ":4: scheduler.max_retry stands here again, after line 2"));
    EXPECT_FALSE(
        Load("scheduler:\n  max_retry: 3\nlog:\n  level: debug\nscheduler:\n  queue_size: 5\n"));
    EXPECT_FALSE(Load("worker:\n  labels: {zone: a, zone: b}\n"));
    EXPECT_FALSE(Load("alerts:\n  rules: [{name: a, name: b}]\n"));
}

// Two files put together, or a separator that was pasted along.
TEST_F(ConfigTest, ASecondDocumentIsRefusedWithItsLine) {
    const auto loaded = Load("scheduler: {max_retry: 3}\n---\nscheduler: {bogus: 1}\n");
    ASSERT_FALSE(loaded);
    EXPECT_THAT(loaded.error().detail, HasSubstr(path + ":3: a second document"));
    EXPECT_FALSE(Load("---\n---\nlog: {level: debug}\n"));
    EXPECT_TRUE(Load("# a comment\n---\nscheduler: {max_retry: 4}\n...\n"));
    EXPECT_EQ(config.engine.retry.retries_max, 4u);
}

TEST_F(ConfigTest, ASectionIsNoKey) {
    const auto loaded = Load("scheduler: 5\n");
    ASSERT_FALSE(loaded);
    EXPECT_THAT(loaded.error().detail, HasSubstr("scheduler is a section"));
}

// Somebody who moves a whole configuration over does not want to start the program once for each
// line.
TEST_F(ConfigTest, AllMistakesOfAPlaceAreToldAtOnce) {
    auto loaded = Load("scheduler:\n  leader_tll: 20s\n  max_retry: many\ncolour: blue\n");
    ASSERT_FALSE(loaded);
    EXPECT_EQ(std::ranges::count(loaded.error().detail, '\n'), 2);
    EXPECT_EQ(loaded.error().field, "scheduler.leader_tll");
    loaded = Environment({"TAKT_SCHEDULER_MAXRETRY=1", "TAKT_LOG_LEVEL=loud"});
    EXPECT_EQ(std::ranges::count(loaded.error().detail, '\n'), 1);
    ASSERT_TRUE(SetConfig(config, "scheduler.leader_ttl", "100ms"));
    ASSERT_TRUE(SetConfig(config, "worker.capacity", "0"));
    loaded = CheckConfig(config);
    EXPECT_THAT(loaded.error().detail, HasSubstr("scheduler.leader_ttl"));
    EXPECT_THAT(loaded.error().detail, HasSubstr("worker.capacity"));
}

// Of a key that could not be read, or was misspelled, nobody knows what it was to be; all the rest
// is judged all the same.
TEST_F(ConfigTest, OnlyWhatWasReadIsJudged) {
    ASSERT_FALSE(
        Load("scheduler:\n  leader_tll: 30s\n  leader_renew_interval: 6s\n"
             "  worker_lease: soon\n  retry_backoff_rate: 0.1\n"));
    ASSERT_TRUE(SetConfig(config, "scheduler.heartbeat_interval", "40s"));
    const auto checked = CheckConfig(config);
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().field, "scheduler.retry_backoff_rate");
    EXPECT_EQ(std::ranges::count(checked.error().detail, '\n'), 0) << checked.error().detail;
}

TEST_F(ConfigTest, ValuesThatContradictEachOtherAreRefusedWithTheirKey) {
    EXPECT_TRUE(CheckConfig(Config()));
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"scheduler.leader_ttl", "100ms"},
        {"scheduler.leader_renew_interval", "6s"},
        {"scheduler.leader_renew_interval", "0s"},
        {"scheduler.leader_acquire_interval", "1ms"},
        {"scheduler.scan_interval", "2m"},
        {"scheduler.heartbeat_interval", "20s"},
        {"scheduler.retry_backoff_rate", "0.5"},
        {"scheduler.retry_jitter", "1.5"},
        {"scheduler.timeout", "0s"},
        {"scheduler.losses_max", "0"},
        {"scheduler.cleanup_interval", "1ms"},
        {"scheduler.workers_max", "0"},
        {"executors.callback_base", "https://takt.example.com/x?y"},
        {"executors.health_interval", "0s"},
        {"executors.health_timeout", "0s"},
        {"executors.failure_threshold", "0"},
        {"executors.recovery_threshold", "0"},
        {"executors.concurrency_max", "0"},
        {"executors.timeout", "0s"},
        {"server.connections_max", "0"},
        {"server.connections_per_address_max", "0"},
        {"server.body_bytes_max", "0"},
        {"server.bulk_bytes_max", "10"},
        {"server.io_threads", "1000"},
        {"scheduler.queue_size", "0"},
        {"scheduler.inbox_max", "0"},
        {"scheduler.timeout_grace", "0s"},
        {"executors.callback_base", "takt.example.com"},
        {"executors.callback_base", "https://takt.example.com/"},
        // A leader that is stopped for 15 s goes on leading, and must not have lost its workers.
        {"scheduler.worker_lease", "9s"},
        // Each of these made a scheduler that does nothing, or nothing else.
        {"scheduler.worker_forgotten", "0s"},
        {"scheduler.misfire_tolerance", "0s"},
        {"scheduler.retention", "0s"},
        {"worker.capacity", "0"},
        {"worker.weight", "0"},
        {"worker.weight", "1001"},
        {"server.tls_cert", "cert.pem"},
        {"scheduler.namespaces", "billing,A B"},
    };
    for (const auto& [key, value] : cases) {
        Config bad;
        bad.scheduler.heartbeat_interval = Duration(1'000);
        ASSERT_TRUE(SetConfig(bad, key, value)) << key;
        const auto checked = CheckConfig(bad);
        ASSERT_FALSE(checked) << key << "=" << value;
        EXPECT_EQ(checked.error().field, key);
    }
}

// Sessions and what the provider says of people go over these addresses.
TEST_F(ConfigTest, AddressesOfSignInAreEncryptedUnlessTheyAreOfThisMachine) {
    Config config;
    ASSERT_TRUE(SetConfig(config, "signin.issuer", "https://id.example.org"));
    ASSERT_TRUE(SetConfig(config, "signin.client_id", "takt"));
    ASSERT_TRUE(SetConfig(config, "signin.session_key_file", "key"));
    ASSERT_TRUE(SetConfig(config, "signin.roles", "[{group: ops, role: operator}]"));
    for (const std::string good : {"https://takt.example.org", "http://127.0.0.1:8080"}) {
        ASSERT_TRUE(SetConfig(config, "signin.public_url", good));
        const auto checked = CheckConfig(config);
        EXPECT_TRUE(checked) << checked.error().detail;
    }
    for (const std::string bad : {"http://takt.example.org", "http://localhost.example.org",
                                  "https://takt.example.org/", "takt.example.org"}) {
        ASSERT_TRUE(SetConfig(config, "signin.public_url", bad));
        const auto checked = CheckConfig(config);
        ASSERT_FALSE(checked) << bad;
        EXPECT_EQ(checked.error().field, "signin.public_url");
    }
}

TEST_F(ConfigTest, WhatAKeyShowsItReadsBack) {
    ASSERT_TRUE(SetConfig(config, "scheduler.retry_backoff_rate", "1.25"));
    ASSERT_TRUE(SetConfig(config, "worker.labels", "zone=a,disk=ssd"));
    for (const ConfigKey& key : ConfigKeys()) {
        Config other = config;
        EXPECT_TRUE(key.set(other, key.get(config))) << key.name;
        EXPECT_EQ(key.get(other), key.get(config)) << key.name;
    }
}

TEST_F(ConfigTest, KeysHaveNamesOfTheirOwnAlsoAsVariables) {
    std::set<std::string> names;
    for (const ConfigKey& key : ConfigKeys()) {
        std::string name(key.name);
        std::ranges::replace(name, '.', '_');
        EXPECT_TRUE(names.insert(name).second) << key.name;
        EXPECT_TRUE(key.help.ends_with('.')) << key.name;
    }
}

// --- The page -----------------------------------------------------------------------------------

// A key that is not on the page does not exist for users. TAKT_WRITE_PAGES=1 writes it anew.
TEST_F(ConfigTest, ThePageListsEveryKey) {
    const std::string page_path = std::string(TAKT_SOURCE_DIR) + "/docs/configuration.md";
    if (std::getenv("TAKT_WRITE_PAGES")) std::ofstream(page_path) << ConfigPage();
    std::stringstream page;
    page << std::ifstream(page_path).rdbuf();

    EXPECT_EQ(page.str(), ConfigPage())
        << "run config_test with TAKT_WRITE_PAGES=1 and look at the difference";
}

// --- Keys of others -----------------------------------------------------------------------------

// Somebody brings along the configuration file of the kit that Takt replaces.
TEST_F(ConfigTest, AKeyOfAnotherSchedulerIsAnsweredWithOurs) {
    auto loaded = Load("database:\n  host: 127.0.0.1\n");
    ASSERT_FALSE(loaded);
    EXPECT_THAT(loaded.error().detail, HasSubstr(path + ":2"));
    EXPECT_THAT(loaded.error().detail, HasSubstr("here it is store.url: mysql://"));
    EXPECT_THAT(SetConfig(config, "redis.pool_size", "10").error().detail,
                HasSubstr("leave it out"));
    EXPECT_THAT(SetConfig(config, "tasktimeout", "5m").error().detail,
                HasSubstr("here it is scheduler.timeout"));
}

TEST_F(ConfigTest, KeysOfOthersLeadToKeysThatExistAndAreNoneOfOurs) {
    for (const ForeignKey& foreign : ForeignKeys()) {
        EXPECT_FALSE(HasKey(foreign.theirs)) << foreign.theirs;
        EXPECT_TRUE(foreign.ours.empty() || HasKey(foreign.ours)) << foreign.theirs;
        EXPECT_FALSE(foreign.ours.empty() && foreign.how.empty()) << foreign.theirs;
        EXPECT_EQ(FindForeignKey(foreign.theirs), &foreign) << "twice in the table";
    }
}

// Somebody who plans the move reads the page instead, in either language.
TEST_F(ConfigTest, ThePageForNewcomersHasEveryKeyOfTheirs) {
    for (const std::string name : {"/docs/coming_from.md", "/docs/zh/coming_from.md"}) {
        std::stringstream page;
        page << std::ifstream(std::string(TAKT_SOURCE_DIR) + name).rdbuf();
        for (const ForeignKey& foreign : ForeignKeys()) {
            EXPECT_THAT(page.str(), HasSubstr("`" + std::string(foreign.theirs) + "`")) << name;
        }
    }
}

}  // namespace
}  // namespace takt::internal
