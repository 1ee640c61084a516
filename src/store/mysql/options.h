// Where a MySQL or MariaDB server is and how to talk to it, as a URL says it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/url.h"
#include "store/url/parameters.h"

namespace takt::internal {

struct MysqlOptions {
    std::string host = "127.0.0.1";
    std::uint16_t port = 3306;
    // Servers to turn to, in this order and around, when that one is not there or takes no writes.
    std::vector<HostPort> others;
    // Which of them was connected to last, 0 is `host`: all connections begin there.
    std::shared_ptr<std::atomic<std::size_t>> current =
        std::make_shared<std::atomic<std::size_t>>(0);
    std::string socket;  // Path of a Unix socket; used instead of host and port.
    std::string user;
    std::string password;
    std::string database;
    std::string prefix = "takt_";  // Of every table, so that a database can be shared.
    StoreTls tls;
    std::size_t readers = 4;  // Connections (and threads) that read.
    // Of a connect, a read and a write each, and how long an operation waits for its turn. MySQL's
    // client counts whole seconds; a URL's parts of one are rounded up.
    std::chrono::seconds timeout{10};
    std::size_t load_page_rows = 10'000;  // In one page of Load.
    // All reads are of one transaction, which sees the moment of the first. For one reader.
    bool pinned = false;
};

// mysql://[user[:password]@]host[:port][,host[:port]…]/database[?name=value&…]
// docs/stores/mysql.md lists the parameters, the table in options.cc reads them. Parts are
// percent-encoded; only the database must be there. kInvalid, with a sentence that holds no
// password, otherwise.
Result<MysqlOptions> ParseMysqlUrl(std::string_view url);

// "mysql takt@127.0.0.1:3306/takt": for people; never the password.
std::string Describe(const MysqlOptions& options);

}  // namespace takt::internal
