#include "base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/value.hpp>
#include <cmath>
#include <limits>

#include "base/broken_utf8.h"
#include "base/utf8.h"

namespace takt::internal {
namespace {

using ::testing::HasSubstr;

std::string Written(std::string_view text) {
    const auto value = ParseJson(text);
    if (!value) return "refused: " + value.error().detail;
    std::string out;
    AppendJson(out, *value);
    return out;
}

std::string JsonRefusal(std::string_view text) {
    const auto value = ParseJson(text);
    const auto checked = CheckJson(text);
    EXPECT_EQ(value.has_value(), checked.has_value()) << text.substr(0, 100);
    if (value) return "accepted";
    EXPECT_EQ(value.error().code, ErrorCode::kInvalid);
    EXPECT_EQ(value.error().detail, checked.error().detail);
    return value.error().detail;
}

std::string Quoted(std::string_view text) {
    std::string out;
    AppendJsonString(out, text);
    return out;
}

// A task's parameters pass through the scheduler to its worker and must arrive as they were sent.
TEST(JsonTest, WhatIsReadIsWrittenTheSame) {
    for (const char* text : {"null",
                             "true",
                             "0",
                             "-1",
                             "18446744073709551615",
                             "-9223372036854775808",
                             "1.0",
                             "0.1",
                             "0.3",
                             "1e+100",
                             "1.7976931348623157e+308",
                             "5e-324",
                             "\"\"",
                             "\"\\u0000\"",
                             "[]",
                             "{}",
                             "[1,[2,[3]],{}]",
                             "{\"b\":1,\"a\":{\"b\":[null]}}",
                             "\"\xe4\xbb\xbb\xe5\x8a\xa1\"",
                             "123456789.12345679",
                             "9007199254740993"}) {
        EXPECT_EQ(Written(text), text);
    }
    EXPECT_EQ(Written(" { \"a\" : [ 1 , 2 ] } \r\n"), "{\"a\":[1,2]}");
    EXPECT_EQ(Written("\"\\ud83d\\ude00\\/\""), "\"\xf0\x9f\x98\x80/\"");
    EXPECT_EQ(Written("1e-400"), "0.0");
    EXPECT_EQ(Written("-0.0"), "-0.0");
}

// Boost's own reading is off by one in the last place for some numbers.
TEST(JsonTest, NumbersAreTheNearestDouble) {
    for (const char* text : {"0.1", "2.2250738585072011e-308", "9.109383701528e-31",
                             "6.02214076e23", "1.2345678901234567e-7"}) {
        EXPECT_EQ(ParseJson(text)->as_double(), std::strtod(text, nullptr)) << text;
    }
}

// Two programs on the way read a key that comes twice differently; one of them is then wrong.
TEST(JsonTest, AKeyThatComesTwiceIsRefused) {
    EXPECT_THAT(JsonRefusal("{\"a\":1,\"b\":2,\"a\":3}"), HasSubstr("the key 'a' comes twice"));
    EXPECT_THAT(JsonRefusal("{\"a\":1,\"\\u0061\":3}"), HasSubstr("the key 'a' comes twice"));
    EXPECT_THAT(JsonRefusal("[{\"x\":{\"k\":1,\"k\":1}}]"), HasSubstr("the key 'k' comes twice"));
    EXPECT_EQ(JsonRefusal("{\"a\":{\"a\":{\"a\":1},\"b\":2},\"b\":[{\"a\":1},{\"a\":1}]}"),
              "accepted");
    EXPECT_THAT(JsonRefusal("{\"\":1,\"\":2}"), HasSubstr("comes twice"));
}

// Somebody sends a hundred thousand keys that would all fall into one bucket of a hash table.
TEST(JsonTest, ManyKeysAreCheckedInReasonableTime) {
    std::string text = "{";
    for (int i = 0; i < 50'000; ++i) text += "\"key" + std::to_string(i) + "\":0,";
    EXPECT_EQ(JsonRefusal(text + "\"last\":0}"), "accepted");
    EXPECT_THAT(JsonRefusal(text + "\"key7\":0}"), HasSubstr("'key7'"));
}

// A number that does not fit would be stored as another one.
TEST(JsonTest, NumbersThatOverflowAreRefused) {
    EXPECT_THAT(JsonRefusal("1e400"), HasSubstr("not valid JSON at line 1"));
    EXPECT_THAT(JsonRefusal("-1e400"), HasSubstr("not valid JSON"));
    EXPECT_THAT(JsonRefusal("[1.5,1e99999999999999999999]"), HasSubstr("not valid JSON"));
    EXPECT_THAT(JsonRefusal(std::string(400, '9') + ".0"), HasSubstr("not valid JSON"));
    EXPECT_THAT(JsonRefusal("1" + std::string(1000, '0') + "e-1"), HasSubstr("too large"));
    EXPECT_EQ(Written("0." + std::string(1000, '0') + "1"), "0.0");
    EXPECT_THAT(JsonRefusal("18446744073709551616"), HasSubstr("beyond 64 bits"));
    EXPECT_THAT(JsonRefusal("-9223372036854775809"), HasSubstr("beyond 64 bits"));
}

// One small request must not end the process.
TEST(JsonTest, DeepNestingIsRefused) {
    const std::string arrays(1'000'000, '[');
    EXPECT_THAT(JsonRefusal(arrays), HasSubstr("nested deeper than 64"));
    std::string objects;
    for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
    EXPECT_THAT(JsonRefusal(objects), HasSubstr("nested deeper than 64"));
    EXPECT_EQ(JsonRefusal(std::string(64, '[') + std::string(64, ']')), "accepted");
    EXPECT_THAT(JsonRefusal(std::string(65, '[') + std::string(65, ']')),
                HasSubstr("deeper than 64"));
}

// Text that is no text: broken by an editor, a wrong encoding, or on purpose.
TEST(JsonTest, BrokenTextIsRefused) {
    for (const std::string_view text :
         {std::string_view("\"\xff\""), std::string_view("\"\xc3\""),
          std::string_view("\"\xc0\xaf\""), std::string_view("\"\xed\xa0\x80\""),
          std::string_view("\"\xf4\x90\x80\x80\""), std::string_view("\"\\ud800\""),
          std::string_view("\"\\udc00\""), std::string_view("\"\\ud800\\u0041\""),
          std::string_view("\"a\0b\"", 5), std::string_view("1\0", 2), std::string_view("\"\n\""),
          std::string_view("\"\\x41\""), std::string_view("{\"\xff\":1}")}) {
        EXPECT_THAT(JsonRefusal(text), HasSubstr("not valid JSON at line 1, column")) << text;
    }
    EXPECT_THAT(JsonRefusal("\xef\xbb\xbf{}"), HasSubstr("byte order mark"));
}

TEST(JsonTest, OnlyOneWholeValueIsAccepted) {
    EXPECT_THAT(JsonRefusal(""), HasSubstr("ends too early"));
    EXPECT_THAT(JsonRefusal("  "), HasSubstr("ends too early"));
    EXPECT_THAT(JsonRefusal("{\"a\":"), HasSubstr("ends too early"));
    EXPECT_THAT(JsonRefusal("{} {}"), HasSubstr("more text follows"));
    for (const char* text : {"{a:1}", "{'a':1}", "[1,]", "{\"a\":1,}", "// x\n1", "/* */1", "NaN",
                             "Infinity", "01", "+1", ".5", "1.", "0x10", "tru", "undefined"}) {
        EXPECT_THAT(JsonRefusal(text), HasSubstr("not valid JSON")) << text;
    }
}

// An operator edits a long rule file and must find the place.
TEST(JsonTest, TheRefusalNamesThePlace) {
    EXPECT_THAT(JsonRefusal("{\n  \"a\": 1,\n  \"b\": x\n}"), HasSubstr("line 3, column 8"));
}

// Slips of programs that write JSON by hand, or in a way of their own.
TEST(JsonTest, TheRefusalSaysWhichSlipItWas) {
    EXPECT_THAT(JsonRefusal("[NaN]"), HasSubstr("column 2: NaN is no number of JSON"));
    EXPECT_THAT(JsonRefusal("[Infinity]"), HasSubstr(": Infinity is no number of JSON"));
    EXPECT_THAT(JsonRefusal("[-Infinity]"), HasSubstr("-Infinity is no number of JSON"));
    EXPECT_THAT(JsonRefusal("[1, ]"), HasSubstr("a comma stands before the end"));
    EXPECT_THAT(JsonRefusal("{\"a\": 1,\n}"), HasSubstr("a comma stands before the end"));
    EXPECT_THAT(JsonRefusal("\"a\tb\""), HasSubstr("control character"));
    EXPECT_THAT(JsonRefusal("\"a\xff\""), HasSubstr("not UTF-8"));
    EXPECT_THAT(JsonRefusal("{'a': 1}"), HasSubstr("syntax error"));
    EXPECT_THAT(JsonRefusal("}"), HasSubstr("syntax error"));
}

TEST(JsonTest, TextBeyondItsBoundIsRefusedUnread) {
    const auto value = ParseJson("[1,2,3]", {.bytes_max = 6});
    ASSERT_FALSE(value);
    EXPECT_EQ(value.error().code, ErrorCode::kExhausted);
    EXPECT_TRUE(ParseJson("[1,2,3]", {.bytes_max = 7}));
}

// A worker reports an error message of arbitrary bytes; the answer that shows it must be valid.
TEST(JsonWriterTest, AnyBytesBecomeAValidString) {
    EXPECT_EQ(Quoted("a\"b\\c\n\t\x01\x7f"), "\"a\\\"b\\\\c\\n\\t\\u0001\\u007f\"");
    EXPECT_EQ(Quoted("\xff\xc3"), "\"\\ufffd\\ufffd\"");
    EXPECT_EQ(Quoted("\xc2\x9b\xc2\xa0"), "\"\\u009b\xc2\xa0\"");
    EXPECT_EQ(Quoted("\xe4\xbb\xbb"), "\"\xe4\xbb\xbb\"");
    std::string all;
    for (int first = 0; first < 256; ++first) {
        for (int second = 0; second < 256; ++second) all += {char(first), char(second)};
    }
    EXPECT_TRUE(CheckJson(Quoted(all)));
}

// An answer as the API writes it.
TEST(JsonWriterTest, CommasAreWhereTheyBelong) {
    std::string out;
    JsonWriter json(out);
    json.BeginObject().Field("id", "e-1").Field("attempt", 3).Field("done", false);
    json.Field("serial", std::uint64_t{18446744073709551615u}).Field("code", std::int32_t{-1});
    json.Field("rate", 0.5)
        .Field("bad", std::nan(""))
        .Field("at", Time(Duration(1)))
        .Field("no", Time{});
    json.Key("items").BeginArray().Value("a").BeginObject().EndObject().BeginArray().EndArray();
    json.Raw("{\"x\":1}").Null().EndArray().Key("e").BeginObject().EndObject();
    json.EndObject();
    EXPECT_EQ(out,
              "{\"id\":\"e-1\",\"attempt\":3,\"done\":false,\"serial\":18446744073709551615,"
              "\"code\":-1,\"rate\":0.5,\"bad\":null,\"at\":\"1970-01-01T00:00:00.001Z\","
              "\"no\":null,\"items\":[\"a\",{},[],{\"x\":1},null],\"e\":{}}");
    EXPECT_TRUE(CheckJson(out));
}

// Labels and metadata have the names that their users chose.
TEST(JsonWriterTest, KeysOfUsersAreEscaped) {
    std::string out;
    JsonWriter json(out);
    json.BeginObject().UserKey("a \"b\"\n").Value(1).UserKey("\xff").BeginArray().EndArray();
    json.Field("c", 2).EndObject();
    EXPECT_EQ(out, R"({"a \"b\"\n":1,"\ufffd":[],"c":2})");
}

// A log line or message is cut to its bound, in the middle of a Chinese word if need be.
TEST(Utf8Test, TheFirstBrokenByteOfAFileIsNamed) {
    EXPECT_FALSE(FindBrokenUtf8("a: \xe4\xb8\xad\n"));
    EXPECT_FALSE(FindBrokenUtf8(""));
    const auto broken = FindBrokenUtf8("a\n\nname: caf\xe9 \xff\n");
    ASSERT_TRUE(broken);
    EXPECT_EQ(broken->line, 3);
    EXPECT_EQ(broken->detail, "is not UTF-8: the byte 0xe9 after 'name: caf'");
    EXPECT_EQ(FindBrokenUtf8("\xc3\n")->line, 1) << "a character does not go over a line's end";
}

TEST(Utf8Test, ACutDoesNotBreakACharacter) {
    const std::string_view text = "a\xe4\xbb\xbb\xe5\x8a\xa1";
    EXPECT_EQ(CutUtf8(text, 0), "");
    EXPECT_EQ(CutUtf8(text, 1), "a");
    EXPECT_EQ(CutUtf8(text, 3), "a");
    EXPECT_EQ(CutUtf8(text, 4), "a\xe4\xbb\xbb");
    EXPECT_EQ(CutUtf8(text, 7), text);
    EXPECT_EQ(CutUtf8(std::string(10, '\x80'), 5).size(), 2u);
    EXPECT_TRUE(IsValidUtf8(text));
    EXPECT_FALSE(IsValidUtf8("\xed\xbf\xbf"));
    EXPECT_FALSE(IsValidUtf8("\xe0\x9f\xbf"));
    EXPECT_FALSE(IsValidUtf8("\xf0\x8f\xbf\xbf"));
    EXPECT_TRUE(IsValidUtf8("\xf4\x8f\xbf\xbf"));
}

}  // namespace
}  // namespace takt::internal
