#include "links/service_report.h"

#include <gmock/gmock.h>
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
    for (const char* nothing : {"null", "\"\"", "{}", R"({"code":0,"message":""})"}) {
        EXPECT_TRUE(ReadCallback(R"({"status":"success","error":)" + std::string(nothing) + "}"));
    }
    EXPECT_EQ(ReadCallback(R"({"status":"success","token":5})").error().field, "token");
    EXPECT_EQ(ReadCallback(R"({"status":"success","callback_token":"t"})")->token, "t");
    EXPECT_EQ(ReadNews(R"({"lines":"x","callback_token":"t"})")->token, "t");
    for (const char* body : {"", "[]", "{", "null", "{\"status\":\"\xff\"}"}) {
        EXPECT_FALSE(ReadCallback(body)) << body;
    }
    const auto named = ReadCallback(R"({"status":"success","callback_token":"as sent"})");
    ASSERT_TRUE(named);
    EXPECT_EQ(named->token, "as sent");
    const auto long_error =
        ReadCallback(R"({"status":"failed","error":")" + std::string(100'000, 'x') + "\"}");
    EXPECT_EQ(long_error->report.outcome->message.size(), kErrorBytesMax);
}

// The same in the answer to the call: what a callback is refused for is no success here.
TEST(ServiceReport, AnAnswerThatSaysSuccessAndAnErrorIsNoSuccess) {
    const auto ended = [](const std::string& error) {
        return ReadPushAnswer(HttpAnswer{.status = 200,
                                         .body = R"({"status":"success","error":)" + error + "}"})
            .ended;
    };
    for (const char* error : {R"("disk full")", R"({"code":7})", R"({"message":"m"})"}) {
        const auto report = ended(error);
        ASSERT_TRUE(report);
        EXPECT_FALSE(report->success) << error;
        EXPECT_FALSE(report->retryable) << "it may have been done";
        EXPECT_THAT(report->outcome->message.str(), testing::HasSubstr("status says success"));
    }
    EXPECT_TRUE(ended("\"\"")->success);
}

// Most services name their failures: whoever looks must see the name, and a retry must not hang on it.
TEST(ServiceReport, ACodeThatIsATextIsKeptInTheMessage) {
    const auto message = [](const std::string& error) {
        const std::string body = R"({"status":"failed","error":)" + error + "}";
        const auto callback = ReadCallback(body);
        EXPECT_TRUE(callback) << error;
        const PushAnswer answer = ReadPushAnswer(HttpAnswer{.status = 200, .body = body});
        EXPECT_TRUE(answer.ended && answer.ended->retryable && answer.understood) << error;
        EXPECT_EQ(answer.ended->outcome->reason, Reason::kHandlerFailed);
        return callback ? callback->report.outcome->message.str() : "";
    };
    EXPECT_EQ(message(R"({"code":"INSUFFICIENT_FUNDS","message":"m"})"), "INSUFFICIENT_FUNDS: m");
    EXPECT_EQ(message(R"({"code":"INSUFFICIENT_FUNDS"})"), "INSUFFICIENT_FUNDS");
    EXPECT_EQ(message(R"({"code":"","message":"m"})"), "m");
    EXPECT_EQ(message(R"({"code":null,"message":null})"), "");
    EXPECT_EQ(message(R"({"code":7,"message":"m"})"), "m");
    EXPECT_EQ(message(R"({"code":5000000000,"message":"m"})"), "5000000000: m");
    EXPECT_EQ(ReadCallback(R"({"status":"failed","error":{"code":[]}})").error().field,
              "error.code");
}

// It has ended, and says so: nobody may wait for a callback until the timeout, and order it again.
TEST(ServiceReport, AnAnswerThatIsJsonButCannotBeKeptIsAFailureThatIsSeen) {
    const std::string body = R"({"status":"success","result":{"n":12345678901234567890123}})";
    const PushAnswer answer = ReadPushAnswer(HttpAnswer{.status = 200, .body = body});
    ASSERT_TRUE(answer.ended);
    EXPECT_FALSE(answer.ended->success);
    EXPECT_FALSE(answer.ended->retryable);
    EXPECT_THAT(answer.ended->outcome->message.str(), testing::HasSubstr("beyond 64 bits"));
    const std::string unclear = R"({"status":"done","n":12345678901234567890123})";
    EXPECT_TRUE(ReadPushAnswer(HttpAnswer{.status = 200, .body = unclear}).ended);
    // It goes on, or says nothing of itself: a callback will tell.
    for (const char* other : {R"({"status":"accepted","n":12345678901234567890123})",
                              R"({"order":12345678901234567890123})"}) {
        EXPECT_FALSE(ReadPushAnswer(HttpAnswer{.status = 200, .body = other}).ended) << other;
    }
}

// The same by a callback: refused, it would leave the attempt open until its timeout, and then the
// work would be ordered a second time. A failure stays one that is tried again, without its data.
TEST(ServiceReport, ACallbackThatIsJsonButCannotBeKeptEndsTheAttempt) {
    const auto done = ReadCallback(
        R"({"status":"success","result":{"n":12345678901234567890123},"callback_token":"t"})");
    ASSERT_TRUE(done) << done.error().detail;
    EXPECT_FALSE(done->report.success);
    EXPECT_FALSE(done->report.retryable);
    EXPECT_THAT(done->report.outcome->message.str(),
                testing::AllOf(testing::HasSubstr("the result cannot be kept: "),
                               testing::HasSubstr("beyond 64 bits")));
    EXPECT_TRUE(done->report.outcome->data.empty());
    EXPECT_EQ(done->token, "t");

    EXPECT_FALSE(ReadCallback(R"({"status":"success","result":1e400})")->report.retryable);

    const auto failed = ReadCallback(
        R"({"status":"failed","error":"the bank is down","result":{"n":12345678901234567890123}})");
    ASSERT_TRUE(failed) << failed.error().detail;
    EXPECT_TRUE(failed->report.retryable);
    EXPECT_EQ(failed->report.outcome->message.str(), "the bank is down");
    EXPECT_TRUE(failed->report.outcome->data.empty());

    const auto unreadable =
        ReadCallback(R"({"status":"failed","error":"a\ud800b","log":"\ud800"})");
    ASSERT_TRUE(unreadable) << unreadable.error().detail;
    EXPECT_THAT(unreadable->report.outcome->message.str(),
                testing::HasSubstr("the error cannot be kept: "));
    EXPECT_EQ(unreadable->report.log, "");
    // A body that says no end, or is no JSON, is the caller's to mend.
    EXPECT_FALSE(ReadCallback(R"({"status":"done","result":12345678901234567890123})"));
    EXPECT_FALSE(ReadCallback(R"({"status":"success","result":12345678901234567890123)"));
}

// A result is as deep as the program made it, and running it again would make it as deep.
TEST(ServiceReport, AResultThatIsNestedTooDeepEndsTheAttempt) {
    for (const std::size_t depth : {64u, 65u, 200u, 500'000u}) {
        const std::string result = std::string(depth, '[') + std::string(depth, ']');
        const std::string body =
            R"({"result":)" + result + R"(,"status":"success","callback_token":"t"})";
        const PushAnswer answer = ReadPushAnswer(HttpAnswer{.status = 200, .body = body});
        ASSERT_TRUE(answer.ended) << depth;
        EXPECT_FALSE(answer.ended->success || answer.ended->retryable) << depth;
        EXPECT_THAT(answer.ended->outcome->message.str(),
                    testing::AllOf(testing::HasSubstr("the result cannot be kept: "),
                                   testing::HasSubstr("nested deeper than 64")));
        const auto callback = ReadCallback(body);
        ASSERT_TRUE(callback) << callback.error().detail;
        EXPECT_FALSE(callback->report.success || callback->report.retryable) << depth;
        EXPECT_EQ(callback->report.outcome->message, answer.ended->outcome->message);
        EXPECT_EQ(callback->token, "t");
    }
    const std::string fits = std::string(63, '[') + std::string(63, ']');
    EXPECT_TRUE(ReadCallback(R"({"status":"success","result":)" + fits + "}")->report.success);
    const auto failed = ReadCallback(R"({"status":"failed","error":"full","result":)" +
                                     std::string(100, '[') + std::string(100, ']') + "}");
    ASSERT_TRUE(failed) << failed.error().detail;
    EXPECT_TRUE(failed->report.retryable);
    EXPECT_EQ(failed->report.outcome->message.str(), "full");
}

// Python writes NaN, a template a comma too many: what it says of itself can be read all the same.
TEST(ServiceReport, AnAnswerWithASlipSaysHowTheAttemptEnded) {
    const std::pair<std::string, const char*> slips[] = {
        {"NaN", "NaN is no number of JSON"},
        {"[-Infinity]", "-Infinity is no number of JSON"},
        {"[1,]", "a comma"},
        {R"({"a":1,})", "a comma"},
        {"\"a\x01\"", "a control character"},
        {"\"\xff\"", "UTF-8"},
    };
    for (const auto& [slip, why] : slips) {
        const std::string rest = R"("result":)" + slip + "}";
        const auto read = [&](const std::string& start) {
            return ReadPushAnswer(HttpAnswer{.status = 200, .body = start + rest});
        };
        const PushAnswer done = read(R"({"status":"success",)");
        ASSERT_TRUE(done.ended) << slip;
        EXPECT_FALSE(done.ended->success || done.ended->retryable) << slip;
        EXPECT_THAT(done.ended->outcome->message.str(),
                    testing::AllOf(testing::HasSubstr("the result cannot be kept: "),
                                   testing::HasSubstr(why)));
        const PushAnswer failed = read(R"({"status":"failed","error":"full",)");
        ASSERT_TRUE(failed.ended) << slip;
        EXPECT_TRUE(failed.ended->retryable) << slip;
        EXPECT_EQ(failed.ended->outcome->message.str(), "full");
        EXPECT_FALSE(read(R"({"status":"accepted",)").ended) << slip;
        EXPECT_FALSE(read("{").ended) << slip;
        const auto callback = ReadCallback(R"({"status":"success",)" + rest);
        ASSERT_TRUE(callback) << slip;
        EXPECT_EQ(callback->report.outcome->message, done.ended->outcome->message);
    }
    const std::string marked = "\xef\xbb\xbf{\"status\":\"success\"}";
    const PushAnswer answer = ReadPushAnswer(HttpAnswer{.status = 200, .body = marked});
    ASSERT_TRUE(answer.ended);
    EXPECT_THAT(answer.ended->outcome->message.str(), testing::HasSubstr("byte order mark"));
}

// It meant to say something: waited for, it would be ordered again at its timeout.
TEST(ServiceReport, AnAnswerThatBeginsAsAnObjectAndIsNoneIsAFailureThatIsSeen) {
    for (const char* body : {R"({"status":"success","result":)", "{'status': 'success'}",
                             "\r\n {status: \"success\"}", R"({"status":"success"}})"}) {
        const PushAnswer answer = ReadPushAnswer(HttpAnswer{.status = 200, .body = body});
        ASSERT_TRUE(answer.ended) << body;
        EXPECT_FALSE(answer.ended->success || answer.ended->retryable || answer.understood) << body;
        EXPECT_THAT(answer.ended->outcome->message.str(),
                    testing::AllOf(testing::HasSubstr("not valid JSON"),
                                   testing::HasSubstr("it may have done it")));
        EXPECT_FALSE(ReadCallback(body)) << body;
    }
    for (const char* body : {"", "ok", "[]", "[1,]", "\"success\"", "<html>{}</html>", "{}"}) {
        EXPECT_FALSE(ReadPushAnswer(HttpAnswer{.status = 200, .body = body}).ended) << body;
    }
}

// A failure with odd data, in the answer itself.
TEST(ServiceReport, AFailureWhoseDataCannotBeKeptStaysWhatItWas) {
    const std::string body =
        R"({"status":"failed","error":"the bank is down","result":[12345678901234567890123]})";
    const PushAnswer answer = ReadPushAnswer(HttpAnswer{.status = 200, .body = body});
    ASSERT_TRUE(answer.ended);
    EXPECT_TRUE(answer.ended->retryable);
    EXPECT_EQ(answer.ended->outcome->message.str(), "the bank is down");
}

// A service says "ok" and calls nobody back: nobody may wait for it until the timeout, and then pay
// a second time.
TEST(ServiceReport, AStatusThatIsNoKnownWordIsAFailureThatIsSeen) {
    const auto read = [](const std::string& body) {
        return ReadPushAnswer(HttpAnswer{.status = 200, .body = body});
    };
    for (const char* word : {"ok", "done", "error", "", "cancelled", "success "}) {
        const PushAnswer answer = read(R"({"log":"x","status":")" + std::string(word) + "\"}");
        ASSERT_TRUE(answer.ended) << word;
        EXPECT_FALSE(answer.ended->success || answer.ended->retryable || answer.understood) << word;
        EXPECT_TRUE(answer.ended->outcome->message.view().contains(std::string(word) + "'"));
        EXPECT_EQ(answer.ended->log, "x\n");
    }
    for (const char* word : {"success", "SUCCESS", "Completed", "succeeded"}) {
        const PushAnswer answer = read(R"({"status":")" + std::string(word) + R"(","result":1})");
        ASSERT_TRUE(answer.ended) << word;
        EXPECT_TRUE(answer.ended->success) << word;
    }
    for (const char* body :
         {R"({"status":"accepted"})", R"({"status":"RUNNING"})", R"({"status":"in_progress"})",
          R"({"status":200})", R"({"status":null})", R"({"success":true})", "ok", ""}) {
        EXPECT_FALSE(read(body).ended) << body;
    }
    EXPECT_FALSE(ReadPushAnswer(HttpAnswer{.status = 202, .body = R"({"status":"ok"})"}).ended);
    EXPECT_TRUE(ReadCallback(R"({"status":"SUCCESS"})"));
    EXPECT_EQ(ReadCallback(R"({"status":"ok"})").error().field, "status");
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
