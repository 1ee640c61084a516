#include "store/embedded/writer.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

#include "base/failpoint.h"
#include "base/log.h"

namespace takt::internal::embedded {
namespace {

// Parts of the log, in the frames that begin a checkpoint (1000 pages of 8 KiB, 8 MB: a sync of so much
// holds up the commits beside it for some milliseconds, one of 64 MB for fifty).
//
// Once the log is this long it is to start over. The little that the checkpointer has left by then
// the writer brings into the database itself: only when nothing is left can SQLite start it over.
constexpr int kStartOver = 8;
constexpr int kLastPart = 8;  // The inverse of that little.
// Beyond this much that is not in the database the disk is slower than what is written: the writer
// waits for the checkpointer.
constexpr int kBehindMax = 8;
// Readers that never pause keep the log from starting over. Past this much of it the writer waits
// for them, up to the busy timeout, rather than let it fill the disk.
constexpr int kLogMax = 80;

// In one transaction. The node has no more under way than pipeline_max for each partition; this
// only keeps the answer to the first from waiting for very many others.
constexpr std::size_t kGroupMax = 64;

// Of the batches behind the first in one transaction, where several partitions wait: written in less
// than a millisecond. Who floods has batches of more.
constexpr std::size_t kSharedBytesMax = 16u << 10;

// Between purges of a damaged history: often enough to remind the operator and to go on after a
// repair, seldom enough not to cost anything.
constexpr std::chrono::hours kDamagedPurgeInterval{1};

// A failed sync may have thrown away what it was to write, and the next one would not say so. Only
// what a fresh start reads from the disk can be trusted.
bool LeavesDoubt(const SqliteError& error) {
    return error.code() == SQLITE_IOERR || error.code() == SQLITE_CORRUPT ||
           error.code() == SQLITE_NOTADB;
}

}  // namespace

Writer::Writer(Connections connections, int checkpoint_frames, std::string directory)
    : connection_(std::move(connections.writer)),
      checkpointer_(std::move(connections.checkpointer)),
      directory_(std::move(directory)),
      applier_(connection_),
      begin_(connection_.Prepare("BEGIN IMMEDIATE")),
      commit_(connection_.Prepare("COMMIT")),
      room_news_(directory_),
      checkpoint_frames_(checkpoint_frames) {
    sqlite3_wal_hook(
        connection_.get(),
        [](void* writer, sqlite3*, const char*, int frames) {
            static_cast<Writer*>(writer)->NoteWritten(frames);
            return SQLITE_OK;
        },
        this);
    thread_ = std::thread([this] { Loop(); });
}

Writer::~Writer() {
    std::deque<Write> left;
    {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        left.swap(queue_);
    }
    ready_.notify_one();
    const Error cancelled{ErrorCode::kCancelled, "the store was closed", {}};
    for (Write& write : left) {
        write.batch ? write.done(std::unexpected(cancelled)) : write.operation(nullptr, &cancelled);
    }
    thread_.join();
}

void Writer::Commit(BatchPtr batch, Done<void> done) {
    company_.Note(batch->term.partition, SteadyClock::now());
    {
        const std::lock_guard lock(mutex_);
        queue_.push_back({std::move(batch), std::move(done), {}, false});
    }
    ready_.notify_one();
}

void Writer::Run(Operation<Writer> operation) {
    {
        const std::lock_guard lock(mutex_);
        if (!closed_) {
            queue_.push_back({nullptr, {}, std::move(operation), false});
            ready_.notify_one();
            return;
        }
    }
    // An operation that goes on in steps, while the store is being closed.
    const Error cancelled{ErrorCode::kCancelled, "the store was closed", {}};
    operation(nullptr, &cancelled);
}

void Writer::Drop(Partition partition, std::uint64_t epoch, Done<void> done) {
    Run([partition, epoch, done = std::move(done)](Writer* writer, const Error* refusal) mutable {
        if (refusal) return done(std::unexpected(*refusal));
        const Result<bool> gone = writer->Transact<bool>([&](Connection&) -> Result<bool> {
            return writer->applier_.DropSome(partition, epoch);
        });
        if (!gone) return done(std::unexpected(gone.error()));
        if (*gone) return done({});
        writer->Drop(partition, epoch, std::move(done));
    });
}

bool Writer::OnePartitionWaits() const {
    const Partition first = queue_.front().batch->term.partition;
    return std::ranges::all_of(queue_, [&](const Write& write) {
        return !write.batch || write.batch->term.partition == first;
    });
}

std::vector<Writer::Write> Writer::TakeGroup() {
    std::vector<Write> group;
    if (!queue_.front().batch) return group;
    if (!OnePartitionWaits()) return TakeTurns();
    const bool shared = company_.shared(SteadyClock::now());
    std::size_t changes = 0;
    // Not beyond an operation of another kind: a term begins and ends in order with the commits.
    while (group.size() < kGroupMax && !queue_.empty() && queue_.front().batch) {
        changes += queue_.front().batch->changes.size();
        if (shared && !group.empty() && changes > Company::kChangesMax) break;
        group.push_back(std::move(queue_.front()));
        queue_.pop_front();
    }
    return group;
}

// The oldest batch of each partition, the smallest first and as many as are soon written: who has
// little to say does not wait until one who has much is done. Batches that were passed over go ahead
// of all others the next time, in the order in which they came.
std::vector<Writer::Write> Writer::TakeTurns() {
    struct Waiting {
        std::size_t at = 0;  // In the queue.
        std::size_t bytes = 0;
        bool passed = false;
        bool first = false;  // Of its partition.
    };
    std::vector<Waiting> oldest, others;
    std::set<Partition> seen;
    for (std::size_t at = 0; at < queue_.size() && queue_[at].batch; ++at) {
        const Batch& batch = *queue_[at].batch;
        const bool first = seen.insert(batch.term.partition).second;
        Waiting& waiting =
            (first ? oldest : others)
                .emplace_back(Waiting{.at = at, .passed = queue_[at].passed, .first = first});
        for (const Change& change : batch.changes) waiting.bytes += SizeOf(change);
    }
    std::ranges::sort(oldest, {}, [](const Waiting& one) {
        return std::tuple(!one.passed, one.passed ? 0 : one.bytes, one.at);
    });
    // Later batches of a partition go along while there is room: one commit a transaction is less than
    // many a small one has to say, and after a stall of the disk it would fall behind for long.
    std::ranges::copy(others, std::back_inserter(oldest));
    std::vector<std::size_t> taken;
    std::set<Partition> closed;  // Their later batches must not overtake one that has to wait.
    std::size_t bytes = 0;
    for (const Waiting& waiting : oldest) {
        const Partition partition = queue_[waiting.at].batch->term.partition;
        const bool room =
            taken.empty() || (taken.size() < kGroupMax && bytes + waiting.bytes <= kSharedBytesMax);
        if (!room || closed.contains(partition)) {
            queue_[waiting.at].passed |= waiting.first;
            closed.insert(partition);
            continue;
        }
        if (!taken.empty()) bytes += waiting.bytes;
        taken.push_back(waiting.at);
    }
    std::vector<Write> group;
    for (const std::size_t at : taken) group.push_back(std::move(queue_[at]));
    std::ranges::sort(taken, std::greater());
    for (const std::size_t at : taken) queue_.erase(queue_.begin() + std::ptrdiff_t(at));
    return group;
}

void Writer::Loop() {
    for (;;) {
        Write other;
        std::vector<Write> group;
        {
            std::unique_lock lock(mutex_);
            ready_.wait(lock, [this] { return closed_ || !queue_.empty(); });
            if (closed_) return;
            group = TakeGroup();
            if (group.empty()) {
                other = std::move(queue_.front());
                queue_.pop_front();
            }
        }
        if (group.empty()) {
            other.operation(this, nullptr);
        } else {
            CommitGroup(group);
        }
        Checkpoint();
    }
}

void Writer::CommitGroup(std::vector<Write>& group) {
    std::vector<Result<void>> results(group.size());
    bool committing = false;
    try {
        if (broken_) throw SqliteError(SQLITE_IOERR, broken_->detail);
        if (!ApplyTogether(group, results) && group.size() > 1) ApplyApart(group, results);
        committing = true;
        if (TAKT_MUTANT("embedded.write_nothing")) Rollback();
        if (TAKT_MUTANT("embedded.answer_early")) {
            for (std::size_t i = 0; i < group.size(); ++i) group[i].done(results[i]);
        }
        if (connection_.in_transaction()) commit_.Run();
    } catch (const SqliteError& error) {
        Rollback();
        if (!broken_ && error.code() == SQLITE_CORRUPT && applier_.failed_in_purge()) {
            PutPurgesOff(error);
            return CommitGroup(group);  // Which meets no purge any more.
        }
        const Error verdict = broken_ ? *broken_ : Judge(error, committing);
        // A batch that was refused stays refused; the others share the fate of the transaction.
        for (Result<void>& result : results) {
            if (result) result = std::unexpected(verdict);
        }
    }
    if (TAKT_MUTANT("embedded.answer_early")) return;
    for (std::size_t i = 0; i < group.size(); ++i) group[i].done(std::move(results[i]));
}

bool Writer::ApplyTogether(const std::vector<Write>& group, std::vector<Result<void>>& results) {
    if (!TAKT_MUTANT("embedded.half_batches")) begin_.Run();
    for (std::size_t i = 0; i < group.size(); ++i) {
        results[i] = ApplyOne(*group[i].batch);
        if (results[i] || results[i].error().code != ErrorCode::kInvalid) continue;
        Rollback();
        return false;
    }
    return true;
}

// Savepoints copy every page that they may have to restore, so they come only when one is needed.
void Writer::ApplyApart(const std::vector<Write>& group, std::vector<Result<void>>& results) {
    results.assign(group.size(), {});
    begin_.Run();
    for (std::size_t i = 0; i < group.size(); ++i) {
        connection_.Run("SAVEPOINT batch");
        results[i] = ApplyOne(*group[i].batch);
        if (!results[i] && results[i].error().code == ErrorCode::kInvalid) {
            connection_.Run("ROLLBACK TO batch");
        }
        connection_.Run("RELEASE batch");
    }
}

Result<void> Writer::ApplyOne(const Batch& batch) {
    try {
        return applier_.Apply(batch);
    } catch (const SqliteError& error) {
        if (error.code() != SQLITE_CONSTRAINT && error.code() != SQLITE_TOOBIG) throw;
        return Fail(ErrorCode::kInvalid,
                    fmt::format("the batch contradicts the stored rows: {}", error.what()));
    }
}

void Writer::PutPurgesOff(const SqliteError& error) {
    Log(LogLevel::kError, "store",
        "old executions cannot be deleted: part of the history in takt.db is damaged. All else "
        "goes on; stop the scheduler and mend the file with takt store repair",
        {{"directory", directory_}, {"error", error.what()}});
    applier_.SuspendPurges(SteadyClock::now() + kDamagedPurgeInterval);
}

void Writer::Checkpoint() {
    if (frames_ < std::max(frames_saved_, frames_tried_)) {  // The log started over.
        frames_saved_ = frames_tried_ = frames_insisted_ = frames_left_ = 0;
    }
    if (broken_ || !TakeCheckpoint() || broken_) return;
    // The checkpointer may begin only while something is left for it (see there).
    const int left = frames_ - frames_saved_;
    if (left == 0 || frames_ - frames_tried_ < checkpoint_frames_) return;
    const bool long_enough = frames_ >= kStartOver * checkpoint_frames_;
    // Of the last ones each leaves less than the one before, unless commits are as large as that.
    const bool little = left <= checkpoint_frames_ / kLastPart;
    const bool no_less = frames_left_ > 0 && left > frames_left_ / 2;
    if (frames_ - frames_insisted_ > kLogMax * checkpoint_frames_) {
        frames_insisted_ = frames_ - (kLogMax - kStartOver) * checkpoint_frames_;
        CheckpointHere(SQLITE_CHECKPOINT_RESTART);
    } else if (long_enough && (little || no_less)) {
        CheckpointHere(SQLITE_CHECKPOINT_PASSIVE);
    } else if (long_enough || left >= checkpoint_frames_) {
        frames_left_ = long_enough ? left : 0;
        checkpointer_.Begin();
    }
}

bool Writer::TakeCheckpoint() {
    const bool behind = frames_ - frames_saved_ > kBehindMax * checkpoint_frames_;
    // Asked once: one that ends from now on is taken after the next commit.
    if (checkpointer_.under_way() && !behind) return false;
    const std::optional<Checkpointed> outcome = checkpointer_.Take();
    if (!outcome) return true;
    if (outcome->frames <= frames_saved_) frames_tried_ = frames_;
    NoteCheckpoint(*outcome);
    return true;
}

void Writer::CheckpointHere(int mode) {
    frames_tried_ = frames_;  // Should a reader be in the way, it is not tried with each commit.
    NoteCheckpoint(MakeCheckpoint(connection_, mode));
}

void Writer::NoteCheckpoint(const Checkpointed& outcome) {
    frames_saved_ = std::max(frames_saved_, outcome.frames);
    if (outcome.failure && LeavesDoubt(*outcome.failure)) Break(*outcome.failure);
}

void Writer::Rollback() {
    // After some errors SQLite has rolled back already.
    if (!connection_.in_transaction()) return;
    sqlite3_exec(connection_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Writer::NoteWritten(int frames) {
    frames_ = frames;
    room_news_.NoteWritten(SteadyClock::now());
}

Error Writer::Judge(const SqliteError& error, bool committing) {
    if (IsNoRoom(connection_, error)) {
        room_news_.NoteFull(SteadyClock::now());
        return {ErrorCode::kUnavailable,
                fmt::format("the disk of {} is full; free some space there, Takt goes on by itself",
                            directory_),
                {}};
    }
    if (LeavesDoubt(error)) {
        Break(error);
        return committing ? Error{ErrorCode::kUnknown, broken_->detail, {}} : *broken_;
    }
    return {ErrorCode::kUnavailable,
            fmt::format("cannot write to {} at the moment: {}", directory_, error.what()),
            {}};
}

void Writer::Break(const SqliteError& error) {
    // Parts of the log may be in the database only in the memory of a disk that has thrown them away.
    // Whoever closes the file last would take them for saved, and delete the log.
    checkpointer_.Take();  // One that is under way ends first.
    connection_.KeepLog();
    checkpointer_.KeepLog();
    broken_ = Error{ErrorCode::kUnavailable,
                    fmt::format("writing to {} failed ({}); check the disk, then restart Takt",
                                directory_, error.what()),
                    {}};
}

}  // namespace takt::internal::embedded
