#include "store/embedded/sqlite.h"

namespace takt::internal::embedded {

SqliteError::SqliteError(sqlite3* database)
    : code_(sqlite3_extended_errcode(database)),
      system_errno_(sqlite3_system_errno(database)),
      message_(sqlite3_errmsg(database)) {}

bool SqliteError::is_damage() const {
    return code() == SQLITE_CORRUPT || code() == SQLITE_NOTADB || code_ == SQLITE_IOERR_READ ||
           code_ == SQLITE_IOERR_SHORT_READ || code_ == SQLITE_IOERR_CORRUPTFS ||
           code_ == SQLITE_IOERR_DATA;
}

Statement::Statement(sqlite3* database, std::string_view sql) {
    sqlite3_stmt* statement = nullptr;
    const int code = sqlite3_prepare_v3(database, sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    if (code != SQLITE_OK) throw SqliteError(database);
    statement_.reset(statement);
    bound_.resize(static_cast<std::size_t>(sqlite3_bind_parameter_count(statement)));
}

void Statement::Throw() const {
    throw SqliteError(sqlite3_db_handle(statement_.get()));
}

template <typename Call>
void Statement::Bind(const Parameter& parameter, Call bind) {
    Parameter& bound = bound_.at(static_cast<std::size_t>(next_ - 1));
    const int number = next_++;
    if (bound == parameter) return;
    bound = {};  // Unless it can be bound.
    Check(bind(number));
    bound = parameter;
}

void Statement::Int(std::int64_t value) {
    Bind({.kind = Parameter::Kind::kInt, .number = value},
         [&](int number) { return sqlite3_bind_int64(statement_.get(), number, value); });
}

void Statement::Text(std::string_view text) {
    // A null pointer would bind NULL.
    const char* bytes = text.data() ? text.data() : "";
    Bind({Parameter::Kind::kText, static_cast<std::int64_t>(text.size()), bytes}, [&](int number) {
        return sqlite3_bind_text64(statement_.get(), number, bytes, text.size(), SQLITE_STATIC,
                                   SQLITE_UTF8);
    });
}

void Statement::Blob(std::string_view bytes) {
    const char* begin = bytes.data() ? bytes.data() : "";
    Bind({Parameter::Kind::kBlob, static_cast<std::int64_t>(bytes.size()), begin}, [&](int number) {
        return sqlite3_bind_blob64(statement_.get(), number, begin, bytes.size(), SQLITE_STATIC);
    });
}

void Statement::Null() {
    Bind({.kind = Parameter::Kind::kNull},
         [&](int number) { return sqlite3_bind_null(statement_.get(), number); });
}

void Statement::Value(sqlite3_value* value) {
    bound_.at(static_cast<std::size_t>(next_ - 1)) = {};
    Check(sqlite3_bind_value(statement_.get(), next_++, value));
}

bool Statement::Step() {
    const int code = sqlite3_step(statement_.get());
    Check(code);
    return code == SQLITE_ROW;
}

void Statement::Reset() {
    // The code repeats what Step said.
    sqlite3_reset(statement_.get());
    kept_.clear();
    next_ = 1;
}

void Statement::Run() {
    const Rows rows(*this);
    Step();
}

std::string_view Row::Bytes(int column) const {
    const void* bytes = sqlite3_column_blob(statement_, column);
    if (!bytes) return {};
    return {static_cast<const char*>(bytes),
            static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

Connection::Connection(const std::string& path, int flags, const std::string& vfs) {
    sqlite3* database = nullptr;
    const int code = sqlite3_open_v2(path.c_str(), &database, flags | SQLITE_OPEN_NOMUTEX,
                                     vfs.empty() ? nullptr : vfs.c_str());
    database_.reset(database);
    if (code != SQLITE_OK) {
        throw database ? SqliteError(database) : SqliteError(code, "out of memory");
    }
    sqlite3_extended_result_codes(database, 1);
}

void Connection::Run(const std::string& sql) {
    if (sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
        throw SqliteError(database_.get());
    }
}

std::int64_t Connection::QueryInt(std::string_view sql) {
    Statement statement = Prepare(sql);
    return statement.Step() ? statement.row().Int(0) : 0;
}

std::string Connection::QueryText(std::string_view sql) {
    Statement statement = Prepare(sql);
    return statement.Step() ? std::string(statement.row().Bytes(0)) : std::string();
}

}  // namespace takt::internal::embedded
