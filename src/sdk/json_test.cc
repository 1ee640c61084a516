// The value for payloads and results that comes with the library.
#include "takt/json.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/sdk/sdk_testing.h"

namespace takt::testing_support {
namespace {

using ::testing::HasSubstr;

TEST(Json, IsWrittenAsOnAWhiteboard) {
    const Json json{{"user_id", 12345},
                    {"action", "process"},
                    {"tags", Json::List({"a", 2, true, nullptr})},
                    {"inner", Json{{"ratio", 0.1}}},
                    {"none", Json::Object()}};
    EXPECT_EQ(json.ToText(), R"({"user_id":12345,"action":"process","tags":["a",2,true,null],)"
                             R"("inner":{"ratio":0.1},"none":{}})");
    EXPECT_EQ(Json{}.ToText(), "null");
    EXPECT_EQ(Json("a\n\"b\"").ToText(), R"("a\n\"b\"")");
    EXPECT_EQ(Json(std::nan("")).ToText(), "null");
    const Task task{.type = "x", .payload = Json{{"n", 1}}};
    EXPECT_EQ(task.payload, R"({"n":1})");
}

// Money and ids of other systems: whoever reads and writes a payload must not change them.
TEST(Json, KeepsNumbersAsTheyWereWritten) {
    const std::string text =
        R"({"a":1.50,"b":0.12345678901234567890123,"c":9007199254740993,"e":[1.0,1E+2]})";
    const auto json = Json::Parse(text);
    ASSERT_TRUE(json) << json.error().message;
    EXPECT_EQ(json->ToText(), text);
    EXPECT_EQ((*json)["a"].number(), "1.50");
    EXPECT_EQ((*json)["a"].AsDouble(), 1.5);
    EXPECT_EQ((*json)["b"].AsInteger(), std::nullopt);
    EXPECT_EQ((*json)["c"].AsInteger(), 9007199254740993) << "a double would lose the last digit";
    EXPECT_EQ((*json)["e"][0].AsInteger(), 1);
    EXPECT_EQ((*json)["e"][1].AsInteger(), 100);
    EXPECT_EQ((*json)["e"][2].kind(), Json::Kind::kNull) << "there is none";
    EXPECT_EQ(Json(std::uint64_t(18446744073709551615u)).AsUnsigned(), 18446744073709551615u);
    EXPECT_EQ(Json(3.5).AsInteger(), std::nullopt);
    EXPECT_EQ(Json(-1).AsUnsigned(), std::nullopt);
    EXPECT_EQ(Json::Number("0.30").value().ToText(), "0.30");
    for (const char* wrong : {"", "1.", "abc", "0x1", " 1", "1 ", "NaN", "\"1\"", "[1]"}) {
        EXPECT_FALSE(Json::Number(wrong)) << wrong;
    }
}

TEST(Json, AnObjectOfManyMembersIsReadInOrderAndNoneTwice) {
    std::string text = "{";
    for (int i = 0; i < 100'000; ++i) {
        text += (i ? ",\"" : "\"") + std::to_string(i) + "\":" + std::to_string(i);
    }
    text += "}";
    const auto json = Json::Parse(text);
    ASSERT_TRUE(json) << json.error().message;
    EXPECT_EQ(json->size(), 100'000u);
    EXPECT_EQ(json->ToText(), text);
    EXPECT_FALSE(Json::Parse(R"({"a": 1, "a": 2})"));
}

TEST(Json, IsChangedInPlace) {
    Json json;
    json.Set("a", 1).Set("b", 2).Set("a", 3);
    EXPECT_EQ(json.ToText(), R"({"a":3,"b":2})");
    Json list;
    list.Add(1).Add(Json{{"x", 1}});
    EXPECT_EQ(list.size(), 2u);
    EXPECT_EQ(list[1]["x"].AsInteger(), 1);
    EXPECT_EQ(list["x"].kind(), Json::Kind::kNull);
    EXPECT_EQ(Json("text").AsInteger(), std::nullopt);
    EXPECT_EQ(Json(1).AsText(), std::nullopt);
    EXPECT_EQ(Json::Parse("[1,2]").value(), Json::List({1, 2}));
}

TEST(Json, SaysWhatIsWrong) {
    const auto wrong = Json::Parse(R"({"a": })");
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().code, ErrorCode::kInvalid);
    EXPECT_THAT(wrong.error().message, HasSubstr("not JSON"));
    EXPECT_FALSE(Json::Parse(""));
    EXPECT_FALSE(Json::Parse(std::string(100'000, '['))) << "too deep for any stack";
}

class JsonHandlerTest : public SdkTest {};

TEST_F(JsonHandlerTest, GoesIntoAHandlerAndComesOutOfIt) {
    Start();
    auto worker = MakeWorker("w");
    worker->Handle<Json, Json>("double", [](const Json& in, TaskContext&) -> Result<Json> {
        return Json{{"twice", in["n"].AsInteger().value_or(0) * 2}, {"price", in["price"]}};
    });
    Join(*worker);
    Client client = MakeClient();
    const auto run =
        client.Run({.type = "double", .payload = R"({"n": 21, "price": 9.90})"}, kPatience);
    ASSERT_TRUE(run) << run.error().message;
    EXPECT_EQ(run->result, R"({"twice":42,"price":9.90})");
}

}  // namespace
}  // namespace takt::testing_support
