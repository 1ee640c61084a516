#include "cli/moment_flag.h"

#include <gtest/gtest.h>

#include <vector>

namespace takt::internal::cli {
namespace {

TEST(MomentFlagTest, AnEmptyTimeIsAMistakeAndNotNone) {
    CLI::App app;
    TimeWindow window;
    std::string before;
    window.Add(app, "Created");
    AddMoment(app, "--before", before, "A time");
    app.parse(std::vector<std::string>{"2026-11-15T02:00:00Z", "--until"});
    EXPECT_EQ(window.since, "");
    EXPECT_EQ(window.until, "2026-11-15T02:00:00.000Z");
    for (const char* flag : {"--since", "--until", "--before"}) {
        EXPECT_THROW(app.parse(std::vector<std::string>{"", flag}), CLI::ParseError) << flag;
    }
    EXPECT_THROW(app.parse(std::vector<std::string>{"lately", "--since"}), CLI::ParseError);
}

}  // namespace
}  // namespace takt::internal::cli
