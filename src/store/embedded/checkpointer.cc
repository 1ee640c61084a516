#include "store/embedded/checkpointer.h"

#include <utility>

#include "base/check.h"
#include "store/embedded/full_disk.h"

namespace takt::internal::embedded {
namespace {

// The error of the operating system when a write to the log, or else to the database, failed last.
// (A failing COMMIT does not set sqlite3_system_errno.)
int WriteErrno(sqlite3* database) {
    sqlite3_file* log = nullptr;
    sqlite3_file_control(database, "main", SQLITE_FCNTL_JOURNAL_POINTER, static_cast<void*>(&log));
    int cause = 0;
    if (log && log->pMethods) log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &cause);
    if (cause == 0) sqlite3_file_control(database, "main", SQLITE_FCNTL_LAST_ERRNO, &cause);
    return cause;
}

}  // namespace

bool IsNoRoom(const Connection& connection, const SqliteError& error) {
    // The shared-memory file cannot grow on a full disk either.
    if (error.code() == SQLITE_FULL || error.extended_code() == SQLITE_IOERR_SHMSIZE) return true;
    if (error.extended_code() != SQLITE_IOERR_WRITE) return false;
    return IsNoRoomErrno(WriteErrno(connection.get()));
}

Checkpointed MakeCheckpoint(Connection& connection, int mode) {
    Checkpointed outcome;
    const int code =
        sqlite3_wal_checkpoint_v2(connection.get(), nullptr, mode, nullptr, &outcome.frames);
    if (code == SQLITE_OK) return outcome;
    outcome.frames = 0;
    // Busy: the next one will do it. Without room nothing is lost, it stays in the log, and the next
    // commit tells the caller if there is none for it.
    const SqliteError error(code, sqlite3_errmsg(connection.get()));
    if (error.code() != SQLITE_BUSY && !IsNoRoom(connection, error)) outcome.failure = error;
    return outcome;
}

Checkpointer::Checkpointer(Connection connection) : connection_(std::move(connection)) {
    thread_ = std::thread([this] { Loop(); });
}

Checkpointer::~Checkpointer() {
    {
        const std::lock_guard lock(mutex_);
        state_ = State::kClosed;
    }
    changed_.notify_all();
    thread_.join();
}

void Checkpointer::Begin() {
    {
        const std::lock_guard lock(mutex_);
        TAKT_CHECK(state_ == State::kIdle);
        state_ = State::kBegun;
    }
    changed_.notify_all();
}

std::optional<Checkpointed> Checkpointer::Take() {
    std::unique_lock lock(mutex_);
    if (state_ == State::kIdle) return std::nullopt;
    changed_.wait(lock, [this] { return state_ == State::kEnded; });
    state_ = State::kIdle;
    return std::exchange(outcome_, {});
}

void Checkpointer::Loop() {
    for (std::unique_lock lock(mutex_);;) {
        changed_.wait(lock, [this] { return state_ == State::kBegun || state_ == State::kClosed; });
        if (state_ == State::kClosed) return;
        lock.unlock();
        Checkpointed outcome = MakeCheckpoint(connection_, SQLITE_CHECKPOINT_PASSIVE);
        lock.lock();
        if (state_ == State::kClosed) return;
        outcome_ = std::move(outcome);
        state_ = State::kEnded;
        changed_.notify_all();
    }
}

}  // namespace takt::internal::embedded
