// The gRPC handler against a real server.
#include "worker/grpc/grpc_handler.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <utility>

#include "executor.grpc.pb.h"
#include "worker/attempt_fixture.h"

namespace takt::internal {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace testing_support;
using namespace std::chrono_literals;

// Ends when it is told to; a call that hangs, when the caller gives up.
class GrpcCall final : public grpc::ServerUnaryReactor {
  public:
    explicit GrpcCall(bool hangs) : hangs_(hangs) {}
    void OnCancel() override {
        if (hangs_) Finish(grpc::Status::CANCELLED);
    }
    void OnDone() override { delete this; }

  private:
    const bool hangs_;
};

class GrpcTaskHandlerTest : public testing::Test, public executor::v1::Executor::CallbackService {
  protected:
    void SetUp() override {
        grpc::ServerBuilder builder;
        int port = 0;
        builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
        builder.RegisterService(this);
        server_ = builder.BuildAndStart();
        ASSERT_TRUE(server_);
        handler_ =
            *GrpcTaskHandler::Create({.type = "t", .address = "127.0.0.1:" + std::to_string(port)});
    }
    void TearDown() override {
        handler_.reset();
        server_->Shutdown();
    }
    grpc::ServerUnaryReactor* Execute(grpc::CallbackServerContext*,
                                      const executor::v1::ExecuteRequest* request,
                                      executor::v1::ExecuteResponse* response) override {
        request_ = *request;
        *response = response_;
        auto* call = new GrpcCall(hang_);
        if (hang_) {
            called_.set_value();
        } else {
            call->Finish(status_);
        }
        return call;
    }

    std::unique_ptr<grpc::Server> server_;
    std::shared_ptr<GrpcTaskHandler> handler_;
    executor::v1::ExecuteRequest request_;
    executor::v1::ExecuteResponse response_;
    grpc::Status status_;
    bool hang_ = false;
    std::promise<void> called_;
};

TEST_F(GrpcTaskHandlerTest, TheServiceGetsTheTaskAndItsAnswerIsTheResult) {
    response_.set_data("[1]");
    response_.add_log("working");
    Attempt attempt("{}");
    const TaskResult result = attempt.Run(*handler_);
    EXPECT_TRUE(result.success()) << result.message;
    EXPECT_EQ(result.data, "[1]");
    EXPECT_THAT(attempt.lines, ElementsAre("working"));
    EXPECT_EQ(request_.execution_id(), "e-1");
    EXPECT_EQ(request_.attempt(), 2u);
    EXPECT_EQ(request_.epoch(), 7u);
    EXPECT_EQ(request_.metadata().at("a \"b\""), "c");
}

TEST_F(GrpcTaskHandlerTest, TheServiceGetsTheTokensOfItsLocksAndItsPlaceInAWorkflow) {
    Attempt attempt("{}");
    attempt.task.locks = {{"ledger", 51539607553, 2}};
    attempt.task.parent_id = "run";
    attempt.task.step = "map";
    attempt.task.shard_index = 3;
    attempt.task.shard_total = 8;
    EXPECT_TRUE(attempt.Run(*handler_).success());
    ASSERT_EQ(request_.locks_size(), 1);
    EXPECT_EQ(request_.locks(0).name(), "ledger");
    EXPECT_EQ(request_.locks(0).token(), 51539607553u);
    EXPECT_EQ(request_.locks(0).permits(), 2u);
    EXPECT_EQ(request_.parent_id() + "/" + request_.step(), "run/map");
    EXPECT_EQ(request_.shard().index(), 3u);
    EXPECT_EQ(request_.shard().total(), 8u);
}

TEST_F(GrpcTaskHandlerTest, AnAnswerWithACodeIsAFailure) {
    response_.set_code(5);
    response_.set_message("no stock");
    response_.set_final(true);
    const TaskResult result = Attempt().Run(*handler_);
    EXPECT_EQ(result.code, 5);
    EXPECT_EQ(result.message, "no stock");
    EXPECT_TRUE(result.final);
}

TEST_F(GrpcTaskHandlerTest, StatusesAreRetryOrFailure) {
    for (const auto& [code, final] : {std::pair{grpc::StatusCode::UNAVAILABLE, false},
                                      {grpc::StatusCode::INTERNAL, false},
                                      {grpc::StatusCode::RESOURCE_EXHAUSTED, false},
                                      {grpc::StatusCode::INVALID_ARGUMENT, true},
                                      {grpc::StatusCode::PERMISSION_DENIED, true}}) {
        status_ = grpc::Status(code, "because");
        const TaskResult result = Attempt().Run(*handler_);
        EXPECT_FALSE(result.success());
        EXPECT_EQ(result.final, final) << code;
        EXPECT_THAT(result.message, HasSubstr("because"));
        if (code == grpc::StatusCode::INVALID_ARGUMENT) {
            EXPECT_EQ(result.message, "INVALID_ARGUMENT: because");
        }
    }
}

TEST_F(GrpcTaskHandlerTest, TheDeadlineEndsACall) {
    hang_ = true;
    const TaskResult result = Attempt().Run(*handler_, 50ms);
    EXPECT_EQ(result.code, grpc::StatusCode::DEADLINE_EXCEEDED);
    EXPECT_FALSE(result.final);
}

TEST_F(GrpcTaskHandlerTest, AStopCancelsACall) {
    hang_ = true;
    Attempt attempt;
    auto done = std::async(std::launch::async, [&] { return attempt.Run(*handler_); });
    called_.get_future().wait();
    attempt.stop.request_stop();
    EXPECT_EQ(done.get().code, grpc::StatusCode::CANCELLED);
}

TEST_F(GrpcTaskHandlerTest, ATokenIsNotSentInTheClear) {
    EXPECT_FALSE(GrpcTaskHandler::Create({.type = "t", .address = "a:1", .token = "secret"}));
}

}  // namespace
}  // namespace takt::internal
