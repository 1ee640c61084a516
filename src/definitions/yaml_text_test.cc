#include "definitions/yaml_text.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "definitions/json_text.h"
#include "definitions/yaml_json.h"

namespace takt::internal {
namespace {

TEST(YamlTextTest, IsWhatAPersonWouldWrite) {
    EXPECT_EQ(YamlText(JsonView(
                  R"({"kind":"task","cron_expression":"0 2 * * *","labels":{"zone":"a"},"steps":[
                     {"name":"one","shards":3},{"name":"two","after":["one"]}],"none":{},"list":[]})")),
              "kind: task\n"
              "cron_expression: \"0 2 * * *\"\n"
              "labels:\n"
              "  zone: a\n"
              "steps:\n"
              "  - name: one\n"
              "    shards: 3\n"
              "  - name: two\n"
              "    after:\n"
              "      - one\n"
              "none: {}\n"
              "list: []\n");
}

// A file that is written is read again as the very same, whatever somebody's parameters hold.
TEST(YamlTextTest, ComesBackLetterByLetter) {
    for (
        const std::string json :
        {R"({"a":"true","b":"no","c":"~","d":"null","e":"","f":" x","g":"x ","h":"1.50","i":"0x1f"})",
         R"({"n":[1.50,-2e3,12345678901234567890,0.10,true,false,null]})",
         R"({"text":"one\ntwo\n","open":"one\ntwo","gap":"one\n\n\n  two","lead":"\none","many":"a\n\n"})",
         R"({"q":"it's \"quoted\": #no","colon":"a: b","tab":"a\tb\nc","bell":"\u0007","zh":"每天 备份"})",
         R"({"deep":[[1,[2,[]],{}],[{"a":[{"b":{}}]}]],"": {"": 1}})",
         R"({"- x":"- y","? a":"? b","&a":"*b","!t":"!u","%d":"@e","k:":"v: w","2026-01-01":"2026-01-01"})",
         R"({"percent":"100%","path":"/usr/bin/x","y":"y","Yes":"Yes","emoji":"\ud83d\ude00"})"}) {
        const std::string yaml = YamlText(JsonView(json));
        const YamlFile file = ReadYamlFile(yaml);
        ASSERT_EQ(file.documents.size(), 1u) << yaml;
        EXPECT_EQ(NormalJson(JsonView(file.documents[0].json)), NormalJson(JsonView(json))) << yaml;
    }
}

// Some versions of YAML end a line at U+0085, U+2028 and U+2029, and refuse the other controls.
TEST(YamlTextTest, WhatWouldEndALineIsSpelledOut) {
    const std::string json =
        "{\"a\u0085b\":\"c\u2028d\",\"lines\":\"one\\ntwo\u0085\",\"x\":"
        "\"\x7f\ufeff\u0080é\u2027\"}";
    const std::string yaml = YamlText(JsonView(json));
    EXPECT_EQ(yaml,
              "\"a\\u0085b\": \"c\\u2028d\"\n"
              "lines: \"one\\ntwo\\u0085\"\n"
              "x: \"\\u007f\\ufeff\\u0080é\u2027\"\n");
    const YamlFile file = ReadYamlFile(yaml);
    ASSERT_EQ(file.documents.size(), 1u) << yaml;
    EXPECT_EQ(NormalJson(JsonView(file.documents[0].json)), NormalJson(JsonView(json)));
}

}  // namespace
}  // namespace takt::internal
