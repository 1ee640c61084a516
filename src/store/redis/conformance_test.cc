// RedisStore in the conformance suite, against a redis-server that each test starts and kills.
#include "store/conformance/suite.h"
#include "store/redis/store.h"
#include "store/testing/redis_server.h"

namespace takt::internal::conformance {
namespace {

class RedisTestDatabase final : public Database {
  public:
    explicit RedisTestDatabase(std::unique_ptr<RedisServer> server) : server_(std::move(server)) {}

    Result<std::unique_ptr<Store>> Open() override {
        return OpenRedis(*redis::ParseRedisUrl(server_->url()));
    }

    // The handle lives on: it is the server that dies, and the handle that finds it again.
    Result<std::unique_ptr<Store>> Crash(std::unique_ptr<Store> store) override {
        server_->process().Kill();
        if (Result<void> restarted = server_->process().Restart(); !restarted) {
            return std::unexpected(restarted.error());
        }
        if (!server_->CliUntil({"PING"}, "PONG")) {
            return Fail(ErrorCode::kUnavailable, "redis-server did not load its data");
        }
        return store;
    }

    Result<void> Spoil(const Execution& row) override {
        const std::string head = "pending " + std::to_string(row.serial) + " 0 0 0 \n";
        const Result<std::string> done = server_->Cli(
            {"SET", "{takt:0}:x:" + row.id.text().str(), head + "\x0a\xff not a record"});
        if (!done) return std::unexpected(done.error());
        return {};
    }

  private:
    std::unique_ptr<RedisServer> server_;
};

INSTANTIATE_TEST_SUITE_P(Redis, StoreConformance,
                         testing::Values(Backend{
                             .name = "redis",
                             .create = []() -> Result<std::unique_ptr<Database>> {
                                 auto server = RedisServer::Start();
                                 if (!server) return std::unexpected(server.error());
                                 return std::make_unique<RedisTestDatabase>(std::move(*server));
                             },
                             .load_page_rows = 1000,
                             .ttl_min = Duration(100)}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace takt::internal::conformance
