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

// A number that cannot be kept as it is written is not quietly kept as another.
TEST(YamlJsonTest, ANumberThatDoesNotFitIsRefused) {
    EXPECT_EQ(Json("a: 1\nb:\n  - 2\n  - 123456789012345678901\n"),
              "! flow.yaml:4 b[1]: 123456789012345678901 does not fit into 64 bits; in quotes it "
              "would be a text");
    EXPECT_EQ(Json("-9223372036854775809").substr(0, 34), "! flow.yaml:1 -9223372036854775809");
    EXPECT_EQ(Json("x: 1e999").substr(0, 22), "! flow.yaml:1 x: 1e999");
    EXPECT_EQ(Json("['123456789012345678901', 1234-5, 1.2.3, 1e, 08, -]"),
              R"(["123456789012345678901","1234-5","1.2.3","1e","08","-"])");
}

TEST(YamlJsonTest, BytesThatAreNotUtf8AreRefused) {
    EXPECT_EQ(Json("a: 1\nname: caf\xe9\n"),
              "! flow.yaml:2 is not UTF-8: the byte 0xe9 after 'name: caf'");
    EXPECT_EQ(Json("a: \xe4\xb8\xad"), "{\"a\":\"\xe4\xb8\xad\"}");
    EXPECT_EQ(Json("\xff\xfe"
                   "a")
                  .substr(0, 44),
              "! flow.yaml:1 is not UTF-8: the byte 0xff af");
    const YamlFile file = ReadYamlFile("kind: task\n---\nname: \xc3\n");
    ASSERT_EQ(file.mistakes.size(), 1u);
    EXPECT_EQ(file.mistakes[0].line, 3);
    EXPECT_TRUE(file.documents.empty()) << "half of a file is not taken";
}

TEST(YamlJsonTest, MistakesAreNamedWithTheirLine) {
    EXPECT_EQ(Json("a: 1\na: 2\n"), "! flow.yaml:2 gives 'a' twice");
    EXPECT_EQ(Json("a: [1\n").substr(0, 14), "! flow.yaml:2 ");
}

}  // namespace
}  // namespace takt::internal
