#include "links/executor_report.h"

#include <gtest/gtest.h>

#include <string>

namespace takt::internal {
namespace {

// The clerk at the other end forgot the token, sent a list, or invented a field.
TEST(ExecutorReport, CallbacksThatCannotBeUnderstoodAreRefusedByField) {
    EXPECT_EQ(ReadCallback(R"({"status":"running"})").error().field, "status");
    EXPECT_EQ(ReadCallback(R"({"status":"success","retryable":1})").error().field, "retryable");
    EXPECT_EQ(ReadCallback(R"({"status":"failed","error":[]})").error().field, "error");
    EXPECT_EQ(ReadCallback(R"({"status":"failed","oops":1})").error().field, "oops");
    EXPECT_EQ(ReadCallback(R"({"status":"success","token":5})").error().field, "token");
    for (const char* body :
         {"", "[]", "{", "null", "{\"status\":\"success\",\"status\":\"failed\"}",
          "{\"status\":\"success\",\"result\":1e400}", "{\"status\":\"\xff\"}"}) {
        EXPECT_FALSE(ReadCallback(body)) << body;
    }
    const auto long_error =
        ReadCallback(R"({"status":"failed","error":")" + std::string(100'000, 'x') + "\"}");
    EXPECT_EQ(long_error->report.outcome->message.size(), kErrorBytesMax);
}

}  // namespace
}  // namespace takt::internal
