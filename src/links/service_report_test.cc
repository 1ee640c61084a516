#include "links/service_report.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace takt::internal {
namespace {

// The clerk at the other end forgot the token, sent a list, or invented a field.
TEST(ServiceReport, CallbacksThatCannotBeUnderstoodAreRefusedByField) {
    EXPECT_EQ(ReadCallback(R"({"status":"running"})").error().field, "status");
    EXPECT_EQ(ReadCallback(R"({"status":"success","retryable":1})").error().field, "retryable");
    EXPECT_EQ(ReadCallback(R"({"status":"failed","error":[]})").error().field, "error");
    EXPECT_EQ(ReadCallback(R"({"status":"failed","oops":1})").error().field, "oops");
    EXPECT_EQ(ReadCallback(R"({"status":"success","error":"disk full"})").error().field, "error");
    EXPECT_EQ(ReadCallback(R"({"status":"completed","error":{"message":"x"}})").error().detail,
              "error is given, and status says success: send one of them");
    EXPECT_TRUE(ReadCallback(R"({"status":"success","error":null})"));
    EXPECT_EQ(ReadCallback(R"({"status":"success","token":5})").error().field, "token");
    EXPECT_EQ(ReadCallback(R"({"status":"success","callback_token":"t"})")->token, "t");
    EXPECT_EQ(ReadNews(R"({"lines":"x","callback_token":"t"})")->token, "t");
    for (const char* body :
         {"", "[]", "{", "null", "{\"status\":\"success\",\"status\":\"failed\"}",
          "{\"status\":\"success\",\"result\":1e400}", "{\"status\":\"\xff\"}"}) {
        EXPECT_FALSE(ReadCallback(body)) << body;
    }
    const auto named = ReadCallback(R"({"status":"success","callback_token":"as sent"})");
    ASSERT_TRUE(named);
    EXPECT_EQ(named->token, "as sent");
    const auto long_error =
        ReadCallback(R"({"status":"failed","error":")" + std::string(100'000, 'x') + "\"}");
    EXPECT_EQ(long_error->report.outcome->message.size(), kErrorBytesMax);
}

TEST(ReadNews, NamesTheFieldAtFault) {
    for (const auto& [body, field] : std::vector<std::pair<std::string, std::string>>{
             {R"({"lines":[1]})", "lines"},
             {R"({"progress":{"percent":101}})", "progress.percent"},
             {R"({"progress":{"message":"x"}})", "progress.percent"},
             {R"({"progress":7})", "progress"},
             {R"({"line":"x"})", "line"}}) {
        const auto news = ReadNews(body);
        ASSERT_FALSE(news) << body;
        EXPECT_EQ(news.error().field, field) << body;
    }
    const auto good = ReadNews(R"({"lines":["a","b\n",""]})");
    ASSERT_TRUE(good);
    EXPECT_EQ(good->lines, "a\nb\n\n");
}

}  // namespace
}  // namespace takt::internal
