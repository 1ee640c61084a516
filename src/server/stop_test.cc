// A whole scheduler that is stopped in order.
#include <gtest/gtest.h>

#include <filesystem>
#include <future>
#include <thread>

#include "http/client.h"
#include "links/push_test_support.h"
#include "server/server.h"

namespace takt::internal {
namespace {

class StopTest : public testing::Test {
  protected:
    void SetUp() override {
        folder_ = std::filesystem::path(testing::TempDir()) / ("stop-" + std::to_string(getpid()));
        client_ = std::move(*BlockingHttpClient::Create({}));
        Start();
        while (Send(HttpMethod::kPost, "/api/v1/executors/nobody/heartbeat").status == 503) {
            std::this_thread::yield();
        }
    }
    void TearDown() override {
        if (server_) server_->Stop();
        std::filesystem::remove_all(folder_);
    }
    void Start() {
        Config config;
        config.store.url = "file:" + folder_.string();
        config.server.listen = "127.0.0.1:0";
        // However busy the machine: a stop ends sooner if nothing is open.
        config.scheduler.stop_deadline = std::chrono::minutes(1);
        auto server = Server::Start(config);
        ASSERT_TRUE(server) << server.error().detail;
        server_ = std::move(*server);
    }
    HttpAnswer Send(HttpMethod method, const std::string& path, std::string body = {}) {
        HttpCall call{.method = method, .url = server_->url() + path, .body = std::move(body)};
        if (!call.body.empty()) call.headers = {{"Content-Type", "application/json"}};
        return client_->Send(std::move(call)).value_or(HttpAnswer{});
    }

    std::filesystem::path folder_;
    std::unique_ptr<Server> server_;
    std::unique_ptr<BlockingHttpClient> client_;
};

// The only scheduler is told to stop while a report is being made: its answer counts, and the next
// start does not have it made again.
TEST_F(StopTest, TheOnlySchedulerTakesTheAnswerToAnOpenCall) {
    testing_support::FakeExecutor executor;
    std::promise<HttpReply> asked;
    executor.Answer([&](const auto&, HttpReply reply) { asked.set_value(std::move(reply)); });
    const std::string executor_body =
        R"({"name":"reports","instance_id":"r-1","base_url":")" + executor.url() + R"("})";
    ASSERT_EQ(Send(HttpMethod::kPost, "/api/v1/executors/register", executor_body).status, 200);
    const std::string task = R"({"id":"x","name":"x","executor":"reports"})";
    ASSERT_EQ(Send(HttpMethod::kPost, "/api/v1/tasks", task).status, 201);
    HttpReply reply = asked.get_future().get();
    auto stopped = std::async([this] { server_->Stop(); });
    // From the moment on in which it stops it gives the executor nothing, or cannot be asked any more.
    for (;;) {
        const HttpAnswer seen = Send(HttpMethod::kGet, "/api/v1/workers/r-1/explain");
        if (seen.status != 200 || seen.body.contains("worker_leaving")) break;
    }

    reply(HttpResponse::Json(200, R"({"status":"success"})"));
    stopped.get();
    Start();
    const HttpAnswer run = Send(HttpMethod::kGet, "/api/v1/executions/x");
    EXPECT_TRUE(run.body.contains(R"("status":"success")")) << run.body;
    EXPECT_EQ(executor.orders(), 1u);
}

}  // namespace
}  // namespace takt::internal
