#include "base/json_grammar.h"

#include <gtest/gtest.h>

#include <string>

namespace takt::internal {
namespace {

constexpr std::size_t kBytesMax = 1 << 20;

std::string Nested(std::size_t depth, const std::string& inside = "1") {
    std::string text = inside;
    for (std::size_t i = 0; i < depth; ++i) {
        text = i % 3 == 1 ? R"({"]":)" + text + "}" : "[" + text + "]";
    }
    return text;
}

bool Parses(std::string_view text, JsonGrammar grammar = JsonGrammar::kStrict) {
    return ParseByGrammar(text, kBytesMax, grammar).has_value();
}

// However deep: a text may be nothing but brackets, and must not cost the stack.
TEST(JsonGrammarTest, WhatIsNestedDeepIsJsonTooAndWhatIsBrokenDeepInItIsNone) {
    for (const std::size_t depth : {1u, 31u, 32u, 33u, 63u, 64u, 65u, 66u, 96u, 97u, 500u}) {
        EXPECT_TRUE(Parses(Nested(depth))) << depth;
        EXPECT_TRUE(Parses(Nested(depth, "1,[[]],{}, \"\\\"[\""))) << depth;
        for (const char* broken :
             {"", "1 2", "1,", "1}", "[1", "1[]", "[][]", "x", "\"", "-[[]]"}) {
            EXPECT_EQ(Parses(Nested(depth, broken)), *broken == '\0') << depth << " and " << broken;
        }
    }
    const std::size_t half = kBytesMax / 2;
    EXPECT_TRUE(Parses(std::string(half, '[') + std::string(half, ']')));
    EXPECT_FALSE(Parses(std::string(kBytesMax, '[')));
    EXPECT_FALSE(Parses(std::string(half, ']') + std::string(half, '[')));
    EXPECT_FALSE(Parses(std::string(half + 1, '[') + std::string(half, ']')));
}

TEST(JsonGrammarTest, WhatStandsAtTheTopIsThereToBeSeen) {
    const auto value =
        ParseByGrammar(R"({"result":)" + Nested(200) + R"(,"status":"success"})", kBytesMax);
    ASSERT_TRUE(value);
    EXPECT_EQ(value->at("status").as_string(), "success");
}

TEST(JsonGrammarTest, SlipsAreTakenOnlyWhereAsked) {
    for (const std::string& text :
         {std::string("NaN"), std::string("[Infinity, -Infinity]"), std::string("[1,]"),
          std::string(R"({"a":1,})"), std::string("\"a\tb\x01\""), std::string("\"\xff\""),
          std::string("\xef\xbb\xbf{}"), Nested(100, "NaN")}) {
        EXPECT_FALSE(Parses(text)) << text;
        EXPECT_TRUE(Parses(text, JsonGrammar::kLenient)) << text;
    }
    for (const char* text : {"", "ok", "[1", "{'a':1}", "{a:1}", "[1,,2]", "[,]"}) {
        EXPECT_FALSE(Parses(text, JsonGrammar::kLenient)) << text;
    }
}

}  // namespace
}  // namespace takt::internal
