// A server with executors, asked through its REST API; every answer is compared with /openapi.json.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/json/parse.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "api/test_openapi.h"
#include "http/client.h"
#include "server/server.h"

namespace takt::internal {

class ExecutorsTest : public testing::Test {
  protected:
    void SetUp() override {
        static int count = 0;
        folder_ = std::filesystem::path(testing::TempDir()) /
                  ("executors-" + std::to_string(::getpid()) + "-" + std::to_string(++count));
        Config config;
        config.store.url = "file:" + folder_.string();
        config.server.listen = "127.0.0.1:0";
        auto server = Server::Start(config);
        ASSERT_TRUE(server) << server.error().detail;
        server_ = std::move(*server);
        client_ = std::move(*BlockingHttpClient::Create({}));
        // An answer of 503 means that nobody leads yet, or that the link to executors has not heard
        // of it.
        while (Send(HttpMethod::kPost, "/api/v1/executors/nobody/heartbeat").status == 503) {
            std::this_thread::yield();
        }
    }
    void TearDown() override {
        if (server_) server_->Stop();
        std::filesystem::remove_all(folder_);
    }

    HttpAnswer Send(HttpMethod method, const std::string& path, std::string body = {},
                    HttpHeaderList headers = {}) {
        if (!body.empty()) headers.emplace_back("Content-Type", "application/json");
        auto answer = client_->Send({.method = method,
                                     .url = server_->url() + path,
                                     .headers = std::move(headers),
                                     .body = std::move(body)});
        EXPECT_TRUE(answer) << answer.error().detail;
        if (!answer) return {};
        if (!description_ && path == "/openapi.json") return std::move(*answer);
        if (!description_) {
            description_ = std::make_unique<OpenApiCheck>(
                boost::json::parse(Send(HttpMethod::kGet, "/openapi.json").body));
        }
        const std::string type(answer->headers.Find("Content-Type").value_or(""));
        EXPECT_EQ(description_->Fault(Name(method), path, {answer->status, type, answer->body}), "")
            << Name(method) << " " << path << "\n"
            << answer->body;
        return std::move(*answer);
    }
    HttpAnswer Get(const std::string& path) { return Send(HttpMethod::kGet, path); }
    HttpAnswer Register(const std::string& body) {
        return Send(HttpMethod::kPost, "/api/v1/executors/register", body);
    }
    static std::string Field(const HttpAnswer& answer, std::string_view name) {
        const auto json = boost::json::parse(answer.body);
        const auto* field = json.as_object().if_contains(name);
        return field && field->is_string() ? std::string(field->as_string()) : "(none)";
    }

    static std::string Registration(const std::string& more) {
        return R"({"name":"reports","instance_id":"r-1","base_url":"http://127.0.0.1:9")" + more +
               "}";
    }
    // Headers with a new token of these fields, which `by` makes.
    HttpHeaderList Bearer(const std::string& fields, const HttpHeaderList& by) {
        const HttpAnswer made =
            Send(HttpMethod::kPost, "/api/v1/tokens", R"({"name":"t","role":)" + fields + "}", by);
        EXPECT_EQ(made.status, 201) << made.body;
        return {{"Authorization", "Bearer " + Field(made, "token")}};
    }

    std::filesystem::path folder_;
    std::unique_ptr<Server> server_;
    std::unique_ptr<BlockingHttpClient> client_;
    std::unique_ptr<OpenApiCheck> description_;
};

}  // namespace takt::internal
