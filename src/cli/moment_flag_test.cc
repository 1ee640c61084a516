#include "cli/moment_flag.h"

#include <gtest/gtest.h>

#include <vector>

namespace takt::internal::cli {
namespace {

TEST(MomentFlagTest, AnEmptyBoundIsNoneAndAnEmptyMomentIsAMistake) {
    CLI::App app;
    TimeWindow window;
    std::string before;
    window.Add(app, "Created");
    AddMoment(app, "--before", before, "A time");
    app.parse(std::vector<std::string>{"2026-11-15T02:00:00Z", "--until", "", "--since"});
    EXPECT_EQ(window.since, "");
    EXPECT_EQ(window.until, "2026-11-15T02:00:00.000Z");
    EXPECT_THROW(app.parse(std::vector<std::string>{"", "--before"}), CLI::ParseError);
    EXPECT_THROW(app.parse(std::vector<std::string>{"lately", "--since"}), CLI::ParseError);
}

}  // namespace
}  // namespace takt::internal::cli
