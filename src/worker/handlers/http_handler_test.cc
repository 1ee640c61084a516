// The HTTP handler against a real server.
#include "worker/handlers/http_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "http/server.h"
#include "worker/attempt_fixture.h"

namespace takt::internal {
namespace {

using testing::HasSubstr;
using namespace testing_support;
using namespace std::chrono_literals;

class HttpTaskHandlerTest : public testing::Test, public HttpHandler {
  protected:
    void SetUp() override {
        // Not owned: the fixture outlives the server.
        server_ = std::move(*HttpServer::Listen(
            loop_, {}, std::shared_ptr<HttpHandler>(std::shared_ptr<void>(), this)));
        thread_ = std::thread([this] {
            const auto work = boost::asio::make_work_guard(loop_);
            loop_.run();
        });
    }
    void TearDown() override {
        loop_.stop();
        thread_.join();
        held_ = nullptr;
        all_held_.clear();
        server_.reset();
    }
    void Handle(HttpRequest request, HttpReply reply) override {
        request_ = std::move(request);
        if (hold_ > 0) {
            all_held_.push_back(std::move(reply));
            if (all_held_.size() < hold_) return;
            for (HttpReply& held : all_held_) held(HttpResponse::Json(status_, body_));
            return all_held_.clear();
        }
        if (status_ == 0) {
            held_ = std::move(reply);
            return called_.set_value();
        }
        reply(HttpResponse::Json(status_, body_));
    }
    std::shared_ptr<HttpTaskHandler> Make(HttpHandlerOptions options = {}) {
        options.type = "t";
        options.url = "http://127.0.0.1:" + std::to_string(server_->port()) + "/run";
        options.response_bytes_max = 10'000;
        return *HttpTaskHandler::Create(std::move(options));
    }

    boost::asio::io_context loop_{1};
    std::unique_ptr<HttpServer> server_;
    std::thread thread_;
    HttpRequest request_;
    HttpReply held_;
    std::promise<void> called_;
    std::size_t hold_ = 0;  // So many calls must be there before any is answered.
    std::vector<HttpReply> all_held_;
    int status_ = 200;
    std::string body_ = R"({"ok":true})";
};

TEST_F(HttpTaskHandlerTest, TheServiceGetsTheTaskAndItsAnswerIsTheResult) {
    const auto handler = Make({.headers = {{"X-Key", "secret"}}});
    const TaskResult result = Attempt(R"({"n":1})").Run(*handler);
    EXPECT_TRUE(result.success());
    EXPECT_EQ(result.data, R"({"ok":true})");
    EXPECT_EQ(request_.method, HttpMethod::kPost);
    EXPECT_EQ(request_.headers.Find("X-Key"), "secret");
    EXPECT_EQ(request_.headers.Find("Idempotency-Key"), "e-1/2");
    EXPECT_EQ(request_.headers.Find("traceparent"), "00-trace-01");
    EXPECT_THAT(request_.body, HasSubstr(R"("payload":{"n":1},"metadata":{"a \"b\"":"c"})"));
}

TEST_F(HttpTaskHandlerTest, TheServiceGetsTheTokensOfItsLocksAndItsPlaceInAWorkflow) {
    const auto handler = Make();
    Attempt attempt("{}");
    attempt.task.locks = {{"ledger", 51539607553, 2}};
    attempt.task.parent_id = "run";
    attempt.task.step = "map";
    attempt.task.shard_total = 8;
    EXPECT_TRUE(attempt.Run(*handler).success());
    EXPECT_THAT(request_.body,
                HasSubstr(R"("parent_id":"run","step":"map","shard":{"index":0,"total":8},)"
                          R"("locks":[{"name":"ledger","token":51539607553,"permits":2}])"));
}

// The service's word decides whether to try again.
TEST_F(HttpTaskHandlerTest, StatusCodesAreSuccessRetryOrFailure) {
    const auto handler = Make();
    for (const auto& [status, success, final] : {std::tuple{200, true, false},
                                                 {201, true, false},
                                                 {204, true, false},
                                                 {408, false, false},
                                                 {425, false, false},
                                                 {429, false, false},
                                                 {500, false, false},
                                                 {503, false, false},
                                                 {400, false, true},
                                                 {401, false, true},
                                                 {404, false, true},
                                                 {302, false, true}}) {
        status_ = status;
        body_ = status == 204 ? "" : "{}";
        const TaskResult result = Attempt().Run(*handler);
        EXPECT_EQ(result.success(), success) << status;
        EXPECT_EQ(result.final, final) << status;
        EXPECT_EQ(result.code, success ? 0 : status);
    }
}

// A worker with a capacity in the hundreds and one slow service behind it: a call that waited for a
// connection would fail at its deadline without having been made.
TEST_F(HttpTaskHandlerTest, AsManyCallsAreMadeAtOnceAsThereAreAttempts) {
    hold_ = 80;
    const auto handler = Make();
    std::vector<std::future<TaskResult>> results;
    for (std::size_t i = 0; i < hold_; ++i) {
        results.push_back(
            std::async(std::launch::async, [&] { return Attempt().Run(*handler, 10s); }));
    }
    for (auto& result : results) {
        const TaskResult ended = result.get();
        EXPECT_TRUE(ended.success()) << ended.message;
    }
}

// The service has done it and says so at length: to call it again would do it again.
TEST_F(HttpTaskHandlerTest, AnAnswerThatIsTooLargeIsAFailureForGood) {
    body_ = '"' + std::string(20'000, 'x') + '"';
    const TaskResult result = Attempt().Run(*Make());
    EXPECT_FALSE(result.success());
    EXPECT_TRUE(result.final);
    EXPECT_THAT(result.message, HasSubstr("may have done it"));
}

TEST_F(HttpTaskHandlerTest, AServiceThatIsNotThereMayBeTriedAgain) {
    auto handler = HttpTaskHandler::Create({.type = "t", .url = "http://127.0.0.1:1/"});
    const TaskResult result = Attempt().Run(**handler);
    EXPECT_FALSE(result.success());
    EXPECT_FALSE(result.final);
}

TEST_F(HttpTaskHandlerTest, TheDeadlineEndsACall) {
    status_ = 0;
    EXPECT_FALSE(Attempt().Run(*Make(), 50ms).success());
}

TEST_F(HttpTaskHandlerTest, AStopEndsACall) {
    status_ = 0;
    Attempt attempt;
    const auto handler = Make();
    auto done = std::async(std::launch::async, [&] { return attempt.Run(*handler); });
    called_.get_future().wait();
    attempt.stop.request_stop();
    EXPECT_THAT(done.get().message, HasSubstr("given up"));
}

}  // namespace
}  // namespace takt::internal
