#include "store/mysql/connection.h"

#include <errmsg.h>
#include <mysqld_error.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <mutex>
#include <numeric>

#include "base/check.h"

namespace takt::internal::mysql {
namespace {

// Numbers that one of the two servers has and the client's header has not.
constexpr unsigned kConnectionKilled = 1927;    // MariaDB.
constexpr unsigned kInteractionTimeout = 4031;  // MySQL 8: idle for longer than wait_timeout.

void SetOption(MYSQL* handle, mysql_option option, const void* value) {
    TAKT_CHECK(mysql_options(handle, option, value) == 0);
}

// A peer that vanished without a word (power, a dropped NAT entry) is noticed within half a minute
// also while nothing is sent; the system's default is two hours.
void KeepAlive(int socket) {
    const auto set = [&](int level, int option, int value) {
        // A Unix socket knows none of these, and needs none.
        static_cast<void>(setsockopt(socket, level, option, &value, sizeof value));
    };
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, 10);
    set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
    set(IPPROTO_TCP, TCP_KEEPCNT, 4);
    set(IPPROTO_TCP, TCP_NODELAY, 1);
}

void SetTls(MYSQL* handle, const MysqlOptions& options) {
    const auto file = [](const std::string& path) { return path.empty() ? nullptr : path.c_str(); };
    const my_bool off = 0;
    const my_bool on = 1;
    if (!options.tls.enabled) {
        SetOption(handle, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &off);
        return;
    }
    mysql_ssl_set(
        handle, file(options.tls.key_file), file(options.tls.cert_file), file(options.tls.ca_file),
        options.tls.verify && options.tls.ca_file.empty() ? "/etc/ssl/certs" : nullptr, nullptr);
    SetOption(handle, MYSQL_OPT_SSL_ENFORCE, &on);
    SetOption(handle, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, options.tls.verify ? &on : &off);
}

}  // namespace

bool MysqlError::lost() const {
    static constexpr std::array<unsigned, 8> kServerSays = {
        ER_SERVER_SHUTDOWN,    ER_NET_PACKET_TOO_LARGE,  ER_NET_READ_ERROR, ER_NET_READ_INTERRUPTED,
        ER_NET_ERROR_ON_WRITE, ER_NET_WRITE_INTERRUPTED, kConnectionKilled, kInteractionTimeout};
    const bool client = code_ >= CR_MIN_ERROR && code_ < 3000;
    return client || std::ranges::find(kServerSays, code_) != kServerSays.end();
}

bool MysqlError::read_only() const {
    return code_ == ER_OPTION_PREVENTS_STATEMENT || code_ == kReadOnlyMode ||
           code_ == kReadOnlyTransaction;
}

bool MysqlError::lock_conflict() const {
    return code_ == ER_LOCK_DEADLOCK || code_ == ER_LOCK_WAIT_TIMEOUT;
}

bool Rows::Next() {
    row_ = mysql_fetch_row(result_.get());
    if (row_) lengths_ = mysql_fetch_lengths(result_.get());
    return row_ != nullptr;
}

std::uint64_t Rows::Unsigned(int column) const {
    const std::string_view text = Bytes(column);
    const char* end = text.data() + text.size();
    if (text.starts_with('-')) {
        std::int64_t number = 0;
        std::from_chars(text.data(), end, number);
        return static_cast<std::uint64_t>(number);
    }
    std::uint64_t number = 0;
    std::from_chars(text.data(), end, number);
    return number;
}

std::size_t Rows::bytes() const {
    const unsigned columns = mysql_num_fields(result_.get());
    return std::accumulate(lengths_, lengths_ + columns, std::size_t{0});
}

Connection::Connection(const MysqlOptions& options, std::chrono::seconds timeout)
    : timeout_(timeout) {
    static std::once_flag once;
    std::call_once(once, [] { TAKT_CHECK(mysql_library_init(0, nullptr, nullptr) == 0); });
    const std::size_t count = 1 + options.others.size();
    const std::size_t first = options.current->load();
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t at = (first + i) % count;
        try {
            Connect(options,
                    at == 0 ? HostPort{options.host, options.port} : options.others[at - 1]);
            // A reader of Aurora has the second alone.
            if (count > 1 && Query("SELECT 1 FROM DUAL WHERE @@global.read_only OR "
                                   "@@global.innodb_read_only")
                                 .Next()) {
                throw MysqlError(ER_OPTION_PREVENTS_STATEMENT, "none of the servers takes writes");
            }
            place_ = at;
            options.current->store(at);
            return;
        } catch (const MysqlError& error) {
            const bool next_may_do = error.lost() || error.read_only();
            if (!next_may_do || i + 1 == count) throw;
        }
    }
}

void Connection::Connect(const MysqlOptions& options, const HostPort& place) {
    handle_.reset(mysql_init(nullptr));
    TAKT_CHECK(handle_ != nullptr);
    // One that does not answer must leave time to turn to the others.
    const auto patience = std::min(timeout_, options.timeout).count() /
                          static_cast<std::int64_t>(1 + options.others.size());
    const auto connect_seconds = static_cast<unsigned>(std::max<std::int64_t>(patience, 1));
    const auto seconds = static_cast<unsigned>(timeout_.count());
    SetOption(handle_.get(), MYSQL_OPT_CONNECT_TIMEOUT, &connect_seconds);
    SetOption(handle_.get(), MYSQL_OPT_READ_TIMEOUT, &seconds);
    SetOption(handle_.get(), MYSQL_OPT_WRITE_TIMEOUT, &seconds);
    SetOption(handle_.get(), MYSQL_SET_CHARSET_NAME, "utf8mb4");
    // Else a server could ask for any file that this process can read.
    const unsigned off = 0;
    SetOption(handle_.get(), MYSQL_OPT_LOCAL_INFILE, &off);
    SetTls(handle_.get(), options);
    const char* socket = options.socket.empty() ? nullptr : options.socket.c_str();
    if (!socket) {
        // "localhost" would make the library look for a socket of its own choice.
        const unsigned tcp = MYSQL_PROTOCOL_TCP;
        SetOption(handle_.get(), MYSQL_OPT_PROTOCOL, &tcp);
    }
    if (!mysql_real_connect(handle_.get(), socket ? nullptr : place.host.c_str(),
                            options.user.c_str(), options.password.c_str(),
                            options.database.c_str(), place.port, socket,
                            CLIENT_MULTI_STATEMENTS | CLIENT_FOUND_ROWS)) {
        Throw(0);
    }
    KeepAlive(static_cast<int>(mysql_get_socket(handle_.get())));
    // With every server's defaults escapes mean what Values writes, a value that does not
    // fit is an error, times are UTC, answers are whole, and a statement may be of all rows.
    Run("SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', autocommit = 1, "
        "time_zone = '+00:00', sql_select_limit = 18446744073709551615, sql_safe_updates = 0");
}

std::vector<Rows> Connection::Run(std::string_view statements) {
    std::vector<Rows> all;
    const Steady deadline = SteadyClock::now() + timeout_;
    if (mysql_real_query(handle_.get(), statements.data(), statements.size()) != 0) Throw(0);
    for (std::size_t statement = 0;; ++statement) {
        MYSQL_RES* result = mysql_store_result(handle_.get());
        if (!result && mysql_errno(handle_.get()) != 0) Throw(statement);
        if (result) all.emplace_back(result);
        // An answer that has come is not thrown away, however long it took.
        if (!mysql_more_results(handle_.get())) return all;
        // The library's timeouts are of single reads; a server that trickles must not outlast them.
        if (SteadyClock::now() > deadline) {
            throw MysqlError(CR_SERVER_LOST, "no complete answer in time", statement + 1);
        }
        const int more = mysql_next_result(handle_.get());
        if (more < 0) return all;
        if (more > 0) Throw(statement + 1);
    }
}

Rows Connection::Query(std::string_view statement) {
    std::vector<Rows> all = Run(statement);
    TAKT_CHECK(all.size() == 1);
    return std::move(all[0]);
}

void Connection::Throw(std::size_t statement) const {
    throw MysqlError(mysql_errno(handle_.get()), mysql_error(handle_.get()), statement);
}

}  // namespace takt::internal::mysql
