#include "server/door.h"

#include <gtest/gtest.h>

#include "base/log.h"
#include "http/client.h"
#include "server/server.h"
#include "store/embedded/temporary_directory.h"
#include "store/lead.h"
#include "store/open.h"
#include "store/unfinished_copy.h"

namespace takt::internal {
namespace {

class DoorTest : public testing::TestWithParam<std::size_t> {
  protected:
    void SetUp() override {
        Config config;
        config.store.url = "memory:";
        config.server.listen = "127.0.0.1:0";
        config.server.io_threads = GetParam();
        auto server = Server::Start(config);
        ASSERT_TRUE(server) << server.error().detail;
        server_ = std::move(*server);
        // Nobody leads yet.
        while (Send(HttpMethod::kGet, "/api/v1/workers").status == 503) std::this_thread::yield();
    }

    // On a connection of its own, which may be any door's.
    HttpAnswer Send(HttpMethod method, const std::string& path, std::string body = {},
                    const std::string& token = {}) {
        HttpCall call{.method = method, .url = server_->url() + path, .body = std::move(body)};
        if (!call.body.empty()) call.headers.emplace_back("Content-Type", "application/json");
        if (!token.empty()) call.headers.emplace_back("Authorization", "Bearer " + token);
        auto answer = BlockingHttpClient::Create({}).value()->Send(std::move(call));
        EXPECT_TRUE(answer) << answer.error().detail;
        return answer ? std::move(*answer) : HttpAnswer{};
    }
    // Each may go to any door.
    void ExpectEverywhere(int status, const std::string& token) {
        for (int i = 0; i < 8; ++i) {
            EXPECT_EQ(Send(HttpMethod::kGet, "/api/v1/tasks", {}, token).status, status);
        }
    }
    static std::string TokenIn(const std::string& body) {
        const std::size_t at = body.find("takt_");
        return body.substr(at, body.find('"', at) - at);
    }

    const LogCapture quiet_;
    std::unique_ptr<Server> server_;
};

// Every door serves the port: what is asked is answered, and found again.
TEST_P(DoorTest, WhatOneTakesAnotherShows) {
    const HttpAnswer made =
        Send(HttpMethod::kPost, "/api/v1/tasks", R"({"id": "here", "name": "n", "delay": "1h"})");
    EXPECT_EQ(made.status, 201) << made.body;
    for (int i = 0; i < 8; ++i) {
        EXPECT_EQ(Send(HttpMethod::kGet, "/api/v1/executions/here").status, 200);
    }
}

// The first token shuts the doors, all of them, before its maker hears of it; and one that was just
// made opens all of them, one that was revoked none.
TEST_P(DoorTest, TokensHoldAtEveryDoorAtOnce) {
    ExpectEverywhere(200, "");
    const HttpAnswer made =
        Send(HttpMethod::kPost, "/api/v1/tokens", R"({"name": "first", "role": "admin"})");
    ASSERT_EQ(made.status, 201) << made.body;
    const std::string admin = TokenIn(made.body);
    ExpectEverywhere(401, "");
    ExpectEverywhere(200, admin);
    const HttpAnswer second =
        Send(HttpMethod::kPost, "/api/v1/tokens", R"({"name": "b", "role": "viewer"})", admin);
    const std::string viewer = TokenIn(second.body);
    ExpectEverywhere(200, viewer);
    const std::size_t at = second.body.find("\"id\":\"") + 6;
    const std::string id = second.body.substr(at, second.body.find('"', at) - at);
    EXPECT_EQ(Send(HttpMethod::kDelete, "/api/v1/tokens/" + id, {}, admin).status, 204);
    ExpectEverywhere(401, viewer);
}

INSTANTIATE_TEST_SUITE_P(Threads, DoorTest, testing::Values(0, 1, 3),
                         [](const auto& info) { return std::to_string(info.param); });

Config AwayConfig() {
    Config config;
    // Nobody listens there, and no connection is tried twice.
    config.store.url = "redis://127.0.0.1:1?timeout=1s";
    config.server.listen = "127.0.0.1:0";
    return config;
}

// The machine restarts, and the database takes longer than the scheduler.
TEST(LateServer, ServesAndSaysThatItsStoreIsAway) {
    const LogCapture quiet;
    const auto server = Server::Start(AwayConfig());
    ASSERT_TRUE(server) << server.error().detail;
    const auto client = BlockingHttpClient::Create({}).value();
    const auto get = [&](const std::string& path) {
        return client->Send({.url = (*server)->url() + path}).value();
    };
    EXPECT_EQ(get("/healthz").status, 200);
    const HttpAnswer ready = get("/readyz");
    EXPECT_EQ(ready.status, 503);
    EXPECT_NE(ready.body.find("the store cannot be read"), std::string::npos) << ready.body;
    EXPECT_NE(ready.body.find("127.0.0.1:1"), std::string::npos) << ready.body;
    const HttpAnswer status = get("/api/v1/scheduler/status");
    EXPECT_EQ(status.status, 503);
    EXPECT_NE(status.body.find("127.0.0.1:1"), std::string::npos) << status.body;
    // A caller that comes through a proxy may be anybody, and is told nothing of what is behind this
    // one.
    const HttpAnswer stranger =
        client->Send({.url = (*server)->url() + "/readyz", .headers = {{"Via", "1.1 proxy"}}})
            .value();
    EXPECT_EQ(stranger.body.find("127.0.0.1:1"), std::string::npos) << stranger.body;
}

TEST(LateServer, GivesUpIfItIsNotToWait) {
    const LogCapture quiet;
    Config config = AwayConfig();
    config.store.wait = false;
    const auto server = Server::Start(config);
    ASSERT_FALSE(server);
    EXPECT_EQ(server.error().code, ErrorCode::kUnavailable);
}

// The machine went down during `takt store copy`, and its service comes up again by itself.
TEST(UnfinishedCopyTest, IsNotServed) {
    const LogCapture quiet;
    const TemporaryDirectory directory;
    Config config;
    config.store.url = "file:" + directory.path();
    config.server.listen = "127.0.0.1:0";
    const auto mark = [&](Text value) {
        const auto store = OpenStore(config.store.url).value();
        const auto term =
            TakeLead(*store, {.node = {.node = NodeId("copy"), .address = "http://x"}});
        ASSERT_TRUE(term) << term.error().detail;
        auto batch = std::make_shared<Batch>();
        batch->term = *term;
        batch->sequence = 1;
        batch->changes.push_back(
            SettingPut{.key = Text(kUnfinishedCopyKey), .value = std::move(value)});
        ASSERT_TRUE(AskStore<void>([&](auto done) { store->Commit(batch, std::move(done)); }));
    };
    mark("500 archive x");
    const auto refused = Server::Start(config);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
    EXPECT_NE(refused.error().detail.find("give the same 'takt store copy'"), std::string::npos);
    mark({});
    const auto server = Server::Start(config);
    EXPECT_TRUE(server) << server.error().detail;
}

// It went down even before the mark could be written: the term alone tells.
TEST(UnfinishedCopyTest, IsNotServedFromItsFirstMomentOn) {
    const LogCapture quiet;
    const TemporaryDirectory directory;
    Config config;
    config.store.url = "file:" + directory.path();
    config.server.listen = "127.0.0.1:0";
    const NodeId filling(Text(std::string(kFillingNode) + "1"));
    const auto lead = [&](const NodeId& node, std::vector<Change> changes, bool resign) {
        const auto store = OpenStore(config.store.url).value();
        const auto term = TakeLead(*store, {.node = {.node = node, .address = "http://x"}});
        ASSERT_TRUE(term) << term.error().detail;
        if (!changes.empty()) {
            auto batch = std::make_shared<Batch>();
            batch->term = *term;
            batch->sequence = 1;
            batch->changes = std::move(changes);
            ASSERT_TRUE(AskStore<void>([&](auto done) { store->Commit(batch, std::move(done)); }));
        }
        if (resign) {
            ASSERT_TRUE(
                AskStore<void>([&](auto done) { store->Resign(*term, {}, std::move(done)); }));
        }
    };
    lead(filling, {}, false);
    const auto refused = Server::Start(config);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
    EXPECT_NE(refused.error().detail.find("was not finished"), std::string::npos);
    // One that found a mistake and went in order leaves a store like any other.
    lead(filling, {}, true);
    EXPECT_TRUE(Server::Start(config));
    // So does one that was through, and died before it could resign.
    lead(filling, {SettingPut{.key = Text("strategy"), .value = Text("random")}}, false);
    EXPECT_TRUE(Server::Start(config));
}

}  // namespace
}  // namespace takt::internal
