#include "alerts/configured.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace takt::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

using Fields = std::map<std::string, std::string>;

class ConfiguredAlertsTest : public ::testing::Test {
  protected:
    // A line for each mistake in a configuration.
    std::vector<std::string> MistakesIn(const FieldLists& rules, const FieldLists& channels,
                                        bool channels_known = true) {
        Mistakes mistakes;
        read = ReadConfiguredAlerts(rules, channels, channels_known, mistakes);
        std::vector<std::string> lines;
        for (const Error& error : mistakes.errors()) {
            lines.push_back(error.detail);
            EXPECT_TRUE(error.detail.starts_with(error.field)) << error.field;
        }
        return lines;
    }

    const Fields rule = {{"name", "r"},
                         {"metric", "tasks_pending"},
                         {"operator", ">"},
                         {"threshold", "10"},
                         {"duration", "5m"}};
    const Fields hook = {
        {"name", "ops"}, {"kind", "webhook"}, {"url", "https://hooks.example.com/services/T0/key"}};
    ConfiguredAlerts read;
};

TEST_F(ConfiguredAlertsTest, AreReadAndShowNoSecret) {
    setenv("TAKT_TEST_HOOK_SECRET", "from the environment", 1);
    Fields named = rule;
    named["channels"] = "log,ops";
    Fields slack = hook;
    slack["template"] = "slack";
    slack["secret"] = "env:TAKT_TEST_HOOK_SECRET";
    const Fields mail = {{"name", "mail"},
                         {"kind", "email"},
                         {"url", "smtps://mail.example.com:465"},
                         {"user", "u"},
                         {"password", "p"},
                         {"from", "takt@example.com"},
                         {"to", "a@example.com, b@example.com"}};
    EXPECT_THAT(MistakesIn({named}, {slack, mail}), ElementsAre());
    ASSERT_EQ(read.channels.size(), 3u) << "the log is always there";
    EXPECT_EQ(read.channels[0].name, "log");
    EXPECT_EQ(read.channels[1].secret, "from the environment");
    EXPECT_EQ(read.channels[1].host(), "hooks.example.com");
    EXPECT_THAT(read.channels[1].target(), Not(HasSubstr("key")));
    EXPECT_EQ(read.channels[2].target(), "a@example.com, b@example.com by mail.example.com");
    ASSERT_EQ(read.rules.size(), 1u);
    EXPECT_THAT(read.rules[0].channels, ElementsAre("log", "ops"));
    EXPECT_EQ(read.rules[0].origin, RuleOrigin::kConfigured);
}

TEST_F(ConfiguredAlertsTest, AMistakeInAChannelIsNamed) {
    const auto wrong = [&](const Fields& fields) { return MistakesIn({}, {fields}); };
    const auto but = [&](const std::string& field, const std::string& value) {
        Fields fields = hook;
        fields[field] = value;
        return wrong(fields);
    };
    EXPECT_THAT(but("kind", "pager"), ElementsAre(HasSubstr("kind must be")));
    EXPECT_THAT(but("url", "ftp://x"), ElementsAre(HasSubstr("url must begin with http://")));
    EXPECT_THAT(but("template", "teams"), ElementsAre(HasSubstr("template must be")));
    EXPECT_THAT(but("colour", "red"), ElementsAre(HasSubstr("colour is no field")));
    EXPECT_THAT(but("name", "log"), ElementsAre(HasSubstr("of that name already")));
    EXPECT_THAT(but("secret", "env:TAKT_TEST_NOT_SET"),
                ElementsAre(HasSubstr("TAKT_TEST_NOT_SET, which is not set")));
    EXPECT_THAT(but("user", "u"), ElementsAre(HasSubstr("user is of the kind email")));
    EXPECT_THAT(wrong({{"name", "a"}, {"url", "https://h/"}}),
                ElementsAre(HasSubstr("url is of the kinds webhook and email")));
    EXPECT_THAT(wrong({{"name", "a"}, {"kind", "email"}, {"url", "smtp://m"}, {"from", "x"}}),
                ElementsAre(HasSubstr("from must be"), HasSubstr("to must be")));
}

TEST_F(ConfiguredAlertsTest, AMistakeInARuleIsNamed) {
    const auto wrong = [&](const std::string& field, const std::string& value) {
        Fields fields = rule;
        fields[field] = value;
        return MistakesIn({fields}, {});
    };
    EXPECT_THAT(wrong("operator", "over"), ElementsAre(HasSubstr("operator must be")));
    EXPECT_THAT(wrong("threshold", "ten"), ElementsAre(HasSubstr("threshold must be")));
    EXPECT_THAT(wrong("duration", "5 minutes"), ElementsAre(HasSubstr("duration must be")));
    EXPECT_THAT(wrong("metric", "mood"), ElementsAre(HasSubstr("metric must be")));
    EXPECT_THAT(wrong("name", "a b"), ElementsAre(HasSubstr("name must be")));
    EXPECT_THAT(wrong("colour", "red"), ElementsAre(HasSubstr("colour is no field")));
    EXPECT_THAT(wrong("channels", "ops"), ElementsAre(HasSubstr("names the channel 'ops'")));
    Fields missing = rule;
    missing.erase("threshold");
    EXPECT_THAT(MistakesIn({missing}, {}), ElementsAre(HasSubstr("threshold is missing")));
}

// A person who mends a file line by line starts the program once for each line.
TEST_F(ConfiguredAlertsTest, AllMistakesAreToldAtOnceWithTheirPlaceInTheList) {
    Fields bad = rule;
    bad["metric"] = "mood";
    bad["operator"] = "over";
    bad["channels"] = "nobody";
    Fields bad_hook = hook;
    bad_hook["url"] = "hooks.example.com";
    bad_hook["secret"] = "env:TAKT_TEST_NOT_SET";
    EXPECT_THAT(MistakesIn({rule, bad}, {hook, bad_hook}),
                ElementsAre(HasSubstr("alerts.channels[1] 'ops': secret is read from"),
                            HasSubstr("alerts.channels[1] 'ops': url must begin"),
                            HasSubstr("alerts.channels[1] 'ops': there is a channel"),
                            HasSubstr("alerts.rules[1] 'r': operator must be"),
                            HasSubstr("alerts.rules[1] 'r': metric must be"),
                            HasSubstr("alerts.rules[1] 'r': there is a rule"),
                            HasSubstr("alerts.rules[1] 'r': names the channel 'nobody'")));
}

TEST_F(ConfiguredAlertsTest, OfChannelsThatCouldNotBeReadNoneIsMissing) {
    Fields named = rule;
    named["channels"] = "ops";
    EXPECT_THAT(MistakesIn({named}, {}, false), ElementsAre());
}

}  // namespace
}  // namespace takt::internal
