// Not a test itself, but linked into the test program only.
#include <fmt/core.h>

#include <atomic>
#include <cstdlib>

#include "store/mysql/test_database.h"

namespace takt::internal::mysql {

MariadbServer& TestServer() {
    static const std::unique_ptr<MariadbServer> server = [] {
        // The tests kill the server, not the machine: what it wrote is in the system's memory, and
        // waiting for the disk would make each test several times longer.
        auto started = MariadbServer::Start({"--innodb-flush-method=nosync"});
        if (!started) {
            fmt::print(stderr, "no MariaDB to test with: {}\n", started.error().detail);
            std::exit(1);
        }
        return std::move(*started);
    }();
    return *server;
}

Connection Root(const std::string& database) {
    return Connection(
        {.socket = TestServer().socket(), .user = "root", .password = "", .database = database});
}

TestDatabase::TestDatabase() {
    static std::atomic<int> count = 0;
    name_ = fmt::format("takt_test{}", ++count);
    mysql::Root().Run("CREATE DATABASE " + name_);
}

TestDatabase::~TestDatabase() {
    try {
        mysql::Root().Run("DROP DATABASE " + name_);
    } catch (const MysqlError& error) {
        fmt::print(stderr, "cannot drop {}: {}\n", name_, error.what());
    }
}

MysqlOptions TestDatabase::options() const {
    return {.port = TestServer().port(),
            .user = MariadbServer::kUser,
            .password = MariadbServer::kPassword,
            .database = name_,
            .load_page_rows = 100};
}

}  // namespace takt::internal::mysql
