#include "cli/formats.h"

#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include "base/json.h"
#include "cli/yaml_json.h"

namespace takt::internal::cli {
namespace {

std::string Yaml(std::string_view json) {
    return YamlText(ParseJson(json).value());
}

TEST(YamlText, IsLaidOutAsPeopleWriteIt) {
    EXPECT_EQ(Yaml(R"({"items":[{"id":"a","n":1,"tags":["x","y"]},{"id":"b","none":[],"empty":{}}],
                       "next":null})"),
              "items:\n"
              "  - id: a\n"
              "    n: 1\n"
              "    tags:\n"
              "      - x\n"
              "      - y\n"
              "  - id: b\n"
              "    none: []\n"
              "    empty: {}\n"
              "next: null\n");
    EXPECT_EQ(Yaml(R"({"log":"one\ntwo\n"})"), "log: |\n  one\n  two\n");
}

// Whoever saves a task with -o yaml and gives it back must get the same task.
TEST(YamlText, IsReadAsTheSameValue) {
    for (
        const char* json :
        {R"({"text":"yes","number":"12","time":"2026-11-15T02:00:00Z","null":"null","tilde":"~"})",
         R"({"cron":"*/5 * * * *","colon":"a: b","hash":"a #b","quote":"it's \"so\"","":"empty"})",
         R"({"lines":"a\n\n  b\n","trail":"a\nb","many":"a\n\n\n","tab":"a\tb\nc","lead":" a\nb"})",
         R"({"deep":[[1,[2,{"a":[]}]],[{}],{"b":{"c":true}}],"zh":"系统升级","f":1.5,"big":9007199254740993})",
         R"("just text")", R"([])", R"({})"}) {
        const auto back = YamlToJson(Yaml(json), "text");
        ASSERT_TRUE(back) << Yaml(json) << back.error().detail;
        EXPECT_EQ(ParseJson(*back).value(), ParseJson(json).value()) << Yaml(json);
    }
}

TEST(OutputCapture, TakesWhatIsPrintedAndGivesStandardOutputBack) {
    testing::internal::CaptureStdout();
    {
        OutputCapture capture;
        std::printf("inside");
        EXPECT_EQ(capture.Take(), "inside");
    }
    std::printf("outside");
    std::fflush(stdout);
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "outside");
}

}  // namespace
}  // namespace takt::internal::cli
