// Where a MySQL or MariaDB server is and how to talk to it, as a URL says it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace takt::internal {

enum class MysqlTls : std::uint8_t {
    kOff,
    kVerified,    // The server proves its name by a certificate of `tls_ca` or the system's.
    kUnverified,  // Encrypted, but to whoever answers.
};

struct MysqlOptions {
    std::string host = "127.0.0.1";
    std::uint16_t port = 3306;
    std::string socket;  // Path of a Unix socket; used instead of host and port.
    std::string user;
    std::string password;
    std::string database;
    std::string prefix = "takt_";  // Of every table, so that a database can be shared.
    MysqlTls tls = MysqlTls::kOff;
    std::string tls_ca, tls_cert, tls_key;  // Files, PEM.
    std::size_t readers = 4;                // Connections (and threads) that read.
    // Of a connect, a read and a write each, and how long an operation waits for its turn.
    std::chrono::seconds timeout{10};
    std::size_t load_page_rows = 10'000;  // In one page of Load.
};

// mysql://user:password@host:port/database?tls=1&ca=…&cert=…&key=…&prefix=takt_&pool=4
//     &timeout=10&socket=/run/mysqld/mysqld.sock
// Parts are percent-encoded; only the database must be there. kInvalid, with a sentence that holds
// no password, otherwise.
Result<MysqlOptions> ParseMysqlUrl(std::string_view url);

// "mysql takt@127.0.0.1:3306/takt": for people; never the password.
std::string Describe(const MysqlOptions& options);

}  // namespace takt::internal
