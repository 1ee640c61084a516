// The MySQL store in the conformance suite, on a real mariadbd. A crash is a SIGKILL.
#include <fmt/core.h>

#include "store/conformance/suite.h"
#include "store/mysql/test_database.h"

namespace takt::internal::conformance {
namespace {

class MysqlTestDatabase final : public Database {
  public:
    Result<std::unique_ptr<Store>> Open() override { return OpenMysql(database_.options()); }

    Result<std::unique_ptr<Store>> Crash(std::unique_ptr<Store> store) override {
        mysql::TestServer().process().Kill();
        store.reset();
        if (auto restarted = mysql::TestServer().process().Restart(); !restarted) {
            return std::unexpected(restarted.error());
        }
        return Open();
    }

    bool Advance(Duration time) override {
        mysql::Connection root = database_.Root();
        for (const char* table : {"takt_leases", "takt_schedulers"}) {
            root.Run(fmt::format("UPDATE {} SET expires = expires - INTERVAL {} MICROSECOND", table,
                                 std::chrono::microseconds(time).count()));
        }
        return true;
    }

    Result<void> Spoil(const Execution& row) override {
        database_.Root().Run(fmt::format(
            "UPDATE takt_live SET options = x'ffffffff' WHERE serial = {}", row.serial));
        return {};
    }

  private:
    const mysql::TestDatabase database_;
};

INSTANTIATE_TEST_SUITE_P(Mysql, StoreConformance,
                         testing::Values(Backend{
                             .name = "mysql",
                             .create = []() -> Result<std::unique_ptr<Database>> {
                                 return std::make_unique<MysqlTestDatabase>();
                             },
                             .load_page_rows = 100}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace takt::internal::conformance
