// Workers that come with a token.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <filesystem>
#include <future>
#include <thread>

#include "base/log.h"
#include "http/client.h"
#include "http/test_support.h"
#include "server/server.h"

namespace takt::internal {
namespace {

class AttachTest : public testing::Test {
  protected:
    void SetUp() override {
        folder_ =
            std::filesystem::path(testing::TempDir()) / ("attach-" + std::to_string(getpid()));
        Config config;
        config.store.url = "file:" + folder_.string();
        config.server.listen = "127.0.0.1:0";
        auto server = Server::Start(config);
        ASSERT_TRUE(server) << server.error().detail;
        server_ = std::move(*server);
        blocking_ = std::move(*BlockingHttpClient::Create({}));
        client_ = std::move(*HttpClient::Create(loop_.io(), {}));
    }
    void TearDown() override {
        client_->Close();
        loop_.Join();
        server_->Stop();
        std::filesystem::remove_all(folder_);
    }
    boost::json::object MakeToken(const std::string& body, const std::string& by = {}) {
        HttpCall call{.method = HttpMethod::kPost,
                      .url = server_->url() + "/api/v1/tokens",
                      .headers = {{"Content-Type", "application/json"}},
                      .body = body};
        if (!by.empty()) call.headers.emplace_back("Authorization", "Bearer " + by);
        // Until somebody leads.
        for (;;) {
            const auto made = blocking_->Send(call);
            if (made && made->status == 201) return boost::json::parse(made->body).as_object();
            std::this_thread::yield();
        }
    }
    // Says who it is, and waits until its session is over.
    std::string CloseReasonOf(const std::string& worker, const std::string& token) {
        const auto over = std::make_shared<std::promise<std::string>>();
        auto callbacks = std::make_shared<WebSocketCallbacks>();
        callbacks->on_open = [worker](const std::shared_ptr<WebSocketSession>& session) {
            session->SendText(R"({"hello":{"protocol":1,"worker_id":")" + worker +
                              R"(","instance":"1","capacity":1}})");
        };
        callbacks->on_message = [](const WebSocketMessage&) {};
        callbacks->on_close = [over](const WebSocketClosed& closed) {
            over->set_value(closed.reason);
        };
        std::string url = server_->url() + "/api/v1/workers/attach";
        url.replace(0, 4, "ws");
        client_->OpenWebSocket({.url = url, .headers = {{"Authorization", "Bearer " + token}}},
                               callbacks, [over](const Error& e) { over->set_value(e.detail); });
        return over->get_future().get();
    }

    const LogCapture log_;
    std::filesystem::path folder_;
    LoopThread loop_;
    std::unique_ptr<Server> server_;
    std::unique_ptr<BlockingHttpClient> blocking_;
    std::unique_ptr<HttpClient> client_;
};

// A worker's token is in the wrong hands, and tries to be somebody else: it must be known which one.
TEST_F(AttachTest, ATokenThatComesWithAnotherWorkerIsNamedInTheAudit) {
    const auto admin = MakeToken(R"({"name":"root","role":"admin"})");
    const auto bound = MakeToken(R"({"name":"w","role":"worker","worker_ids":["w1"]})",
                                 std::string(admin.at("token").as_string()));
    EXPECT_EQ(CloseReasonOf("victim", std::string(bound.at("token").as_string())), "not_yours");

    const std::string id(bound.at("id").as_string());
    EXPECT_THAT(log_.lines(), testing::Contains(testing::AllOf(
                                  testing::HasSubstr("audit: refused the token " + id),
                                  testing::HasSubstr("who=w"), testing::HasSubstr("victim"),
                                  testing::HasSubstr("status=403"))));
}

}  // namespace
}  // namespace takt::internal
