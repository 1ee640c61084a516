#include "alerts/rule.h"

#include <gtest/gtest.h>

namespace takt::internal {
namespace {

// Schedulers are updated one after another: for an earlier build the last number of a rule is its
// threshold, and a subject is no field.
TEST(AlertRuleTest, OneWithoutASubjectIsReadByAnEarlierBuild) {
    AlertRule rule{.name = "r", .metric = "tasks_pending", .threshold = 10, .version = 7};
    const std::string text = EncodeRule(rule);
    EXPECT_LT(text.find("\"version\""), text.find("\"threshold\""));
    EXPECT_EQ(text.find("subject"), std::string::npos);
    const auto read = DecodeRule("r", text);
    ASSERT_TRUE(read) << read.error().detail;
    EXPECT_EQ(read->version, 7u);
    EXPECT_EQ(read->threshold, 10);
    rule.metric = "run_lateness_seconds";
    rule.subject = "nightly";
    const auto narrow = DecodeRule("r", EncodeRule(rule));
    ASSERT_TRUE(narrow) << narrow.error().detail;
    EXPECT_EQ(narrow->subject, "nightly");
}

}  // namespace
}  // namespace takt::internal
