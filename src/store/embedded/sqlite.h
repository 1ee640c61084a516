// SQLite as this backend uses it: connections and statements that close themselves.
//
// A call that SQLite refuses throws SqliteError; the writer and the readers catch it at the one
// place where an operation ends.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace takt::internal::embedded {

class SqliteError : public std::exception {
  public:
    SqliteError(int code, std::string message) : code_(code), message_(std::move(message)) {}
    // The last one of a connection.
    explicit SqliteError(sqlite3* database);
    int code() const { return code_ & 0xff; }
    int extended_code() const { return code_; }
    // Of the operating system, if it had a part in it and SQLite remembers it; else 0.
    int system_errno() const { return system_errno_; }
    // Whether a page is damaged, gone, or cannot be read from its disk. Other I/O errors say nothing of
    // what is stored.
    bool is_damage() const;
    // Whether a table that a statement names is not there.
    bool no_such_table() const {
        return code() == SQLITE_ERROR && message_.starts_with("no such table");
    }
    const char* what() const noexcept override { return message_.c_str(); }

  private:
    int code_;
    int system_errno_ = 0;
    std::string message_;
};

class Row {
  public:
    explicit Row(sqlite3_stmt* statement) : statement_(statement) {}
    std::int64_t Int(int column) const { return sqlite3_column_int64(statement_, column); }
    std::string_view Bytes(int column) const;
    bool IsNull(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
    // As it is, for a statement of another connection.
    sqlite3_value* Value(int column) const { return sqlite3_column_value(statement_, column); }
    std::string_view Name(int column) const { return sqlite3_column_name(statement_, column); }
    int count() const { return sqlite3_column_count(statement_); }

  private:
    sqlite3_stmt* statement_;
};

// Binds its parameters from the left: Int, Text, Blob, Null fill the next one. Bytes that are bound
// must stay until Run or Reset; Keep keeps those that nobody else does.
//
// SQLite keeps what is bound from one use to the next. Most of a row is as it was in the one before
// (numbers, nothing, a text that both share): what is bound already is not bound again.
class Statement {
  public:
    Statement() = default;
    Statement(sqlite3* database, std::string_view sql);

    explicit operator bool() const { return statement_ != nullptr; }

    void Int(std::int64_t value);
    void Text(std::string_view text);
    void Blob(std::string_view bytes);
    void Null();
    void Value(sqlite3_value* value);
    std::string_view Keep(std::string bytes) { return kept_.emplace_back(std::move(bytes)); }

    // Whether there is a (next) row.
    bool Step();
    void Reset();
    // Runs a statement that returns no rows, and makes it ready for its next use.
    void Run();

    // The current row; valid until the next Step or Reset.
    Row row() const { return Row(statement_.get()); }

  private:
    struct Finalize {
        void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
    };
    // A parameter. Of texts and blobs SQLite has but place and size, and reads them when it runs.
    struct Parameter {
        enum class Kind : std::uint8_t { kUnknown, kNull, kInt, kText, kBlob };
        Kind kind = Kind::kUnknown;
        std::int64_t number = 0;  // Or the size.
        const char* bytes = nullptr;

        friend bool operator==(const Parameter&, const Parameter&) = default;
    };
    // Binds the next one by `bind`, which is given its number, unless it is that already.
    template <typename Call>
    void Bind(const Parameter& parameter, Call bind);
    void Check(int code) const {
        if (code != SQLITE_OK && code != SQLITE_ROW && code != SQLITE_DONE) Throw();
    }
    [[noreturn]] void Throw() const;

    std::unique_ptr<sqlite3_stmt, Finalize> statement_;
    std::vector<Parameter> bound_;
    std::deque<std::string> kept_;
    int next_ = 1;
};

class Connection {
  public:
    Connection() = default;
    // `flags` are those of sqlite3_open_v2, `vfs` empty for the system's.
    Connection(const std::string& path, int flags, const std::string& vfs);

    void Run(const std::string& sql);
    Statement Prepare(std::string_view sql) { return Statement(database_.get(), sql); }
    std::int64_t QueryInt(std::string_view sql);
    std::string QueryText(std::string_view sql);
    // Rows that the last statement inserted, changed or deleted.
    std::int64_t changes() const { return sqlite3_changes64(database_.get()); }
    bool in_transaction() const { return sqlite3_get_autocommit(database_.get()) == 0; }
    // The log is left as it is when this closes the file as the last one.
    void KeepLog() {
        sqlite3_db_config(database_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    }
    sqlite3* get() const { return database_.get(); }

  private:
    struct Close {
        void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
    };
    std::unique_ptr<sqlite3, Close> database_;
};

// Resets a statement that returns rows when the reading of them is left, however that happens.
class Rows {
  public:
    explicit Rows(Statement& statement) : statement_(statement) {}
    ~Rows() { statement_.Reset(); }
    Rows(const Rows&) = delete;
    Rows& operator=(const Rows&) = delete;

  private:
    Statement& statement_;
};

}  // namespace takt::internal::embedded
