#include "model/step_values.h"

#include <gtest/gtest.h>

#include <map>

namespace takt::internal {
namespace {

// The text that `json` becomes with these results, input {"day": "2026-01-01", "n": 1.50} and item
// {"p":"/x"}.
std::string Filled(std::string_view json) {
    static const std::map<std::string, std::string, std::less<>> kResults = {
        {"extract", R"({"rows": 12345678901234567890, "parts": ["a", "b"], "a/b": {"~": 1.0}})"},
        {"text", "plain words"},
        {"shards", "[1, null, 3]"},
    };
    ValueSources sources;
    sources.result = [](std::string_view step) -> std::optional<std::string_view> {
        const auto found = kResults.find(step);
        if (found == kResults.end()) return std::nullopt;
        return found->second;
    };
    sources.input = R"({"day": "2026-01-01", "n": 1.50})";
    sources.item = R"({"p": "/x"})";
    const auto filled = FillIn(json, sources);
    return filled ? *filled : "! " + filled.error().detail;
}

// A step that puts the result of the one before into a list, which the next one does again.
TEST(StepValuesTest, WhatIsNestedTooDeepWithItsValuesIsRefused) {
    const std::string deep = std::string(60, '[') + std::string(60, ']');
    ValueSources sources;
    sources.result = [&](std::string_view) { return std::optional<std::string_view>(deep); };

    EXPECT_TRUE(FillIn(R"([[{"$from": "before"}]])", sources));
    const auto filled = FillIn(R"([[[[[[{"$from": "before"}]]]]]])", sources);

    ASSERT_FALSE(filled);
    EXPECT_EQ(filled.error().code, ErrorCode::kInvalid);
}

// The results of a step's shards, each as deep as may be, are a list that is deeper.
TEST(StepValuesTest, APartOfAListOfDeepResultsIsThereAndTheWholeIsRefused) {
    const std::string deep = std::string(64, '[') + std::string(64, ']');
    const std::string list = "[1," + deep + "]";
    ValueSources sources;
    sources.result = [&](std::string_view) { return std::optional<std::string_view>(list); };

    EXPECT_EQ(FillIn(R"({"$from": "before", "pointer": "/0", "default": 7})", sources).value(),
              "1");
    EXPECT_EQ(FillIn(R"({"$from": "before", "pointer": "/1"})", sources).value(), deep);
    const auto whole = FillIn(R"({"$from": "before", "default": 7})", sources);

    ASSERT_FALSE(whole);
    EXPECT_EQ(whole.error().code, ErrorCode::kInvalid);
}

TEST(StepValuesTest, EachValueBecomesWhatItStandsFor) {
    const struct {
        std::string_view json;
        std::string_view filled;
    } cases[] = {
        {R"({"a": 1})", R"({"a": 1})"},
        {R"({"rows": {"$from": "extract", "pointer": "/rows"}})",
         R"({"rows":12345678901234567890})"},
        {R"([{"$from": "extract", "pointer": "/parts/1"}, 2.50])", R"(["b",2.50])"},
        {R"({"$from": "extract", "pointer": "/a~1b/~0"})", "1.0"},
        {R"({"$from": "text"})", R"("plain words")"},
        {R"({"$from": "shards", "pointer": "/2"})", "3"},
        {R"({"$from": "shards", "pointer": "/1"})", "null"},
        {R"({"$input": "/day"})", R"("2026-01-01")"},
        {R"({"$input": ""})", R"({"day": "2026-01-01", "n": 1.50})"},
        {R"({"n": {"$input": "/n"}})", R"({"n":1.50})"},
        {R"({"path": {"$item": "/p"}})", R"({"path":"/x"})"},
        {R"({"$literal": {"$from": "extract"}})", R"({"$from": "extract"})"},
        {R"({"$from": "none", "default": {"$from": "x"}})", R"({"$from": "x"})"},
        {R"({"$from": "extract", "pointer": "/no", "default": []})", "[]"},
        {"not json $from", "not json $from"},
        {R"({"price": "$5"})", R"({"price":"$5"})"},
        {R"({"$from": "none"})", "! step 'none' has no result"},
        {R"({"$from": "extract", "pointer": "/no"})",
         "! the result of step 'extract' has no '/no'"},
        {R"({"$from": "text", "pointer": "/no"})", "! the result of step 'text' has no '/no'"},
        {R"({"$from": "extract", "pointer": "/parts/01"})",
         "! the result of step 'extract' has no '/parts/01'"},
        {R"({"$input": "/no"})", "! what the run was given has no '/no'"},
        {R"({"$item": "/no"})", "! the item has no '/no'"},
    };
    for (const auto& [json, filled] : cases) EXPECT_EQ(Filled(json), filled) << json;
}

TEST(StepValuesTest, WhatIsNotThereIsSaid) {
    ValueSources nothing;
    EXPECT_EQ(FillIn(R"({"$input": ""})", nothing).error().detail, "the run has no parameters");
    EXPECT_EQ(FillIn(R"({"$item": ""})", nothing).error().detail, "there is no item");
    EXPECT_EQ(FillIn(R"({"$from": "a"})", nothing).error().code, ErrorCode::kNotFound);
}

TEST(StepValuesTest, EqualValuesAreEqualHoweverTheyAreWritten) {
    EXPECT_TRUE(SameJson("1", "1.0"));
    EXPECT_TRUE(SameJson(R"({"a": 1, "b": [true, null]})", R"({"b":[true,null],"a":1})"));
    EXPECT_TRUE(SameJson("\"\\u0061\"", "\"a\""));
    EXPECT_FALSE(SameJson("1", "\"1\""));
    EXPECT_FALSE(SameJson("9007199254740993", "9007199254740992"));
    EXPECT_FALSE(SameJson("[1]", "[1,2]"));
    EXPECT_FALSE(SameJson("[1,2]", "[1]"));
    EXPECT_FALSE(SameJson(R"({"a":1})", R"({"a":1,"b":2})"));
    EXPECT_FALSE(SameJson("true", "false"));
}

}  // namespace
}  // namespace takt::internal
