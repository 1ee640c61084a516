#include "definitions/yaml_json.h"

#include <gtest/gtest.h>

namespace takt::internal {
namespace {

std::string Json(const std::string& yaml) {
    const auto json = YamlToJson(yaml, "flow.yaml");
    return json ? *json : "! " + json.error().detail;
}

TEST(YamlJsonTest, ATaskInYamlIsTheSameTaskInJson) {
    EXPECT_EQ(Json("name: nightly\nsteps:\n  - name: extract\n    shards: 16\n"
                   "  - {name: load, after: [extract], payload: {$from: extract}}\n"),
              R"({"name":"nightly","steps":[{"name":"extract","shards":16},)"
              R"({"name":"load","after":["extract"],"payload":{"$from":"extract"}}]})");
}

TEST(YamlJsonTest, ScalarsAreWhatTheyLookLike) {
    EXPECT_EQ(
        Json("[1, 1.50, -2e3, \"1\", '2', yes, true, null, ~, 0x1f, 1.2.3, 12345678901234567890]"),
        R"([1,1.50,-2e3,"1","2","yes",true,null,null,"0x1f","1.2.3",12345678901234567890])");
}

TEST(YamlJsonTest, JsonIsTakenAsItIs) {
    EXPECT_EQ(Json(R"({"a": [1.0, "x\ny"]})"), R"({"a":[1.0,"x\ny"]})");
}

TEST(YamlJsonTest, MistakesAreNamedWithTheirLine) {
    EXPECT_EQ(Json("a: 1\na: 2\n"), "! flow.yaml:2 gives 'a' twice");
    EXPECT_EQ(Json("a: [1\n").substr(0, 14), "! flow.yaml:2 ");
}

}  // namespace
}  // namespace takt::internal
