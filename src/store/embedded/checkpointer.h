// Checkpointer: brings the log into the database on a thread of its own, while the writer goes on.
//
// SQLite lets a checkpoint and a write run at the same time, with one exception, a fault of all
// versions before 3.51.3 ("WAL-reset bug"): a checkpoint that begins when all of the log is in the
// database already, and a write that starts the log over meanwhile. That write is taken for
// checkpointed, and is lost. So a checkpoint here begins only at the writer's word, when the log
// holds more than the database: then no write can start it over before the checkpoint is done.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "store/embedded/sqlite.h"

namespace takt::internal::embedded {

// Whether a write failed for want of room: a full disk, a quota, a limit of the file size. SQLite takes
// some of these for a broken disk, and they are none.
bool IsNoRoom(const Connection& connection, const SqliteError& error);

struct Checkpointed {
    int frames = 0;  // Of the log that are in the database; 0 if it is not known.
    std::optional<SqliteError> failure;  // None for want of room, or if a reader is in the way.
};

// `mode` is SQLite's. On the caller's thread.
Checkpointed MakeCheckpoint(Connection& connection, int mode);

class Checkpointer {
  public:
    explicit Checkpointer(Connection connection);
    // Waits for the checkpoint under way.
    ~Checkpointer();

    // REQUIRES: none is under way, the outcome of the last was taken, and the log holds frames that the
    // database does not.
    void Begin();
    bool under_way() const { return state_ == State::kBegun; }
    // The log stays when the file is closed. REQUIRES: none is under way.
    void KeepLog() { connection_.KeepLog(); }
    // The outcome of the last one, once; waits for it if it is under way. None if none was begun since.
    std::optional<Checkpointed> Take();

  private:
    enum class State { kIdle, kBegun, kEnded, kClosed };

    void Loop();

    Connection connection_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::atomic<State> state_ = State::kIdle;  // Changes with the mutex held.
    Checkpointed outcome_;
    std::thread thread_;
};

}  // namespace takt::internal::embedded
