// Writer: the one thread that writes. Commits that wait are applied in one transaction, so one sync
// of the disk serves them all. Where several partitions wait they come by turns: each transaction
// takes one batch of each, more of those that are small, and little beyond the first, so that a flood
// in one delays the others by one batch. Where another has written lately, and is likely to come
// again, few batches go together. Most of the log is brought into the database by a Checkpointer
// meanwhile.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "store/company.h"
#include "store/embedded/applier.h"
#include "store/embedded/checkpointer.h"
#include "store/embedded/room_news.h"
#include "store/embedded/sqlite.h"
#include "store/operation_queue.h"
#include "store/store.h"

namespace takt::internal::embedded {

class Writer {
  public:
    struct Connections {
        Connection writer;
        Connection checkpointer;
    };
    // A checkpoint begins when so many frames of the log are not in the database. `directory` is for
    // messages.
    Writer(Connections connections, int checkpoint_frames, std::string directory);
    // Waits for the transaction under way; what is queued ends with kCancelled.
    ~Writer();

    void Commit(BatchPtr batch, Done<void> done);
    // Deletes all of a partition but its term, some rows at a time, between which others write.
    void Drop(Partition partition, std::uint64_t epoch, Done<void> done);
    // `operation` runs in a transaction of its own; it may throw SqliteError only through Guard.
    void Run(Operation<Writer> operation);

    // For operations given to Run: calls `work` with the connection inside a transaction, which is
    // committed if it succeeds.
    template <typename T, typename Work>
    Result<T> Transact(Work work);

  private:
    // Either a batch to commit or an operation of another kind.
    struct Write {
        BatchPtr batch;
        Done<void> done;
        Operation<Writer> operation;
        bool passed = false;  // Another went ahead of it, though it had come first.
    };

    void Loop();
    // The commits of the next transaction; none if an operation of another kind is next.
    std::vector<Write> TakeGroup();
    std::vector<Write> TakeTurns();
    bool OnePartitionWaits() const;
    void CommitGroup(std::vector<Write>& group);
    // Begins a transaction with all batches of the group. False if one of them contradicts the stored
    // rows: then nothing has begun.
    bool ApplyTogether(const std::vector<Write>& group, std::vector<Result<void>>& results);
    // The same, without those that contradict.
    void ApplyApart(const std::vector<Write>& group, std::vector<Result<void>>& results);
    Result<void> ApplyOne(const Batch& batch);
    // A page that only a purge reads is damaged: whatever else there is to write can be written.
    void PutPurgesOff(const SqliteError& error);
    void Checkpoint();
    // Takes what the checkpointer has done; waits for it if the log has grown too far meanwhile. False
    // if it is still at it.
    bool TakeCheckpoint();
    void CheckpointHere(int mode);
    void NoteCheckpoint(const Checkpointed& outcome);
    void Rollback();
    // SQLite calls it when a commit stands in the log, which then has so many frames.
    void NoteWritten(int frames);
    // The meaning of a failure for the caller.
    Error Judge(const SqliteError& error, bool committing);
    // After a failure that leaves the file in doubt nothing is written any more.
    void Break(const SqliteError& error);

    Connection connection_;
    Checkpointer checkpointer_;
    const std::string directory_;
    Applier applier_;
    Statement begin_, commit_;
    std::optional<Error> broken_;
    RoomNews room_news_;
    const int checkpoint_frames_;
    int frames_ = 0;           // In the log, as of the last commit.
    int frames_saved_ = 0;     // Of these, in the database.
    int frames_left_ = 0;      // Not there when a checkpoint began that is to be the last.
    int frames_tried_ = 0;     // How long the log was when it last could not be brought there.
    int frames_insisted_ = 0;  // How long it was when readers were last waited for.
    Company company_;

    std::mutex mutex_;
    std::condition_variable ready_;
    std::deque<Write> queue_;
    bool closed_ = false;
    std::thread thread_;
};

template <typename T, typename Work>
Result<T> Writer::Transact(Work work) {
    if (broken_) return std::unexpected(*broken_);
    bool committing = false;
    try {
        connection_.Run("BEGIN IMMEDIATE");
        Result<T> result = work(connection_);
        if (!result) {
            Rollback();
            return result;
        }
        committing = true;
        connection_.Run("COMMIT");
        return result;
    } catch (const SqliteError& error) {
        Rollback();
        return std::unexpected(Judge(error, committing));
    }
}

}  // namespace takt::internal::embedded
