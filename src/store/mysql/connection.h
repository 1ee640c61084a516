// MySQL's client library as this backend uses it: a connection, what statements answer, and the one
// exception for what the server or the network refuses.
//
// Statements are text, several in one packet, so that a transaction is one round trip. Values get
// into them only through Values (values.h).
#pragma once

#include <mysql.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "store/mysql/options.h"

namespace takt::internal::mysql {

// The code of an error of our own: no answer came in time, and none is waited for any more.
constexpr unsigned kNoAnswer = 0;

// The server was started with read_only or super_read_only. Only MySQL has these numbers.
constexpr unsigned kReadOnlyMode = 1836;
constexpr unsigned kReadOnlyTransaction = 1792;

class MysqlError : public std::exception {
  public:
    // `statement`: which one of the packet, from 0.
    MysqlError(unsigned code, std::string message, std::size_t statement = 0)
        : code_(code), message_(std::move(message)), statement_(statement) {}

    unsigned code() const { return code_; }
    std::size_t statement() const { return statement_; }
    const char* what() const noexcept override { return message_.c_str(); }

    // The connection is of no use any more, and what was sent on it may have been carried out.
    bool lost() const;
    // The server takes no writes, and nothing was changed: a replica, or a primary that was one.
    bool read_only() const;
    // The server gave the transaction up for the sake of others: the whole of it can run again.
    bool lock_conflict() const;

  private:
    unsigned code_;
    std::string message_;
    std::size_t statement_;
};

// The rows that a statement returned; all of them are in memory.
//
//   while (rows.Next()) Use(rows.Int(0), rows.Bytes(1));
class Rows {
  public:
    explicit Rows(MYSQL_RES* result) : result_(result) {}

    bool Next();
    bool IsNull(int column) const { return row_[column] == nullptr; }
    std::string_view Bytes(int column) const {
        return IsNull(column) ? std::string_view()
                              : std::string_view(row_[column], lengths_[column]);
    }
    std::int64_t Int(int column) const { return static_cast<std::int64_t>(Unsigned(column)); }
    std::uint64_t Unsigned(int column) const;  // 0 for null.
    std::size_t bytes() const;                 // Of the current row.

  private:
    struct Free {
        void operator()(MYSQL_RES* result) const { mysql_free_result(result); }
    };
    std::unique_ptr<MYSQL_RES, Free> result_;
    MYSQL_ROW row_ = nullptr;
    unsigned long* lengths_ = nullptr;
};

class Connection {
  public:
    // Connects, of several servers to the first that is there and takes writes. Never reconnects by
    // itself: what belongs to a session (its locks, its transaction) must not be lost unnoticed.
    // `timeout` is how long the answers to a packet may take. Throws MysqlError.
    Connection(const MysqlOptions& options, std::chrono::seconds timeout);
    explicit Connection(const MysqlOptions& options) : Connection(options, options.timeout) {}

    // Runs the statements of one packet, in order, up to the first that fails; returns the rows of
    // those that have some. Throws MysqlError.
    std::vector<Rows> Run(std::string_view statements);
    // For one statement that returns rows.
    Rows Query(std::string_view statement);
    bool Ping() { return mysql_ping(handle_.get()) == 0; }

    // Which of the servers it is to; MysqlOptions::current says how they are counted.
    std::size_t place() const { return place_; }

  private:
    void Connect(const MysqlOptions& options, const HostPort& place);
    [[noreturn]] void Throw(std::size_t statement) const;

    struct Close {
        void operator()(MYSQL* handle) const { mysql_close(handle); }
    };
    std::unique_ptr<MYSQL, Close> handle_;
    std::chrono::seconds timeout_;
    std::size_t place_ = 0;
};

}  // namespace takt::internal::mysql
