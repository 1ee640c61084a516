#include "store/embedded/store.h"

#include <fmt/core.h>

#include "store/call_store.h"
#include "store/embedded/database_file.h"
#include "store/embedded/leases.h"
#include "store/embedded/lock_file.h"
#include "store/embedded/private_files.h"
#include "store/embedded/reader.h"
#include "store/embedded/room.h"
#include "store/embedded/writer.h"
#include "store/operation_queue.h"
#include "store/refusals.h"
#include "store/turn_queue.h"

namespace takt::internal {
namespace embedded {
namespace {

class EmbeddedStore final : public CallStore<EmbeddedStore>, public CountsRoom {
  public:
    // Throws SqliteError.
    EmbeddedStore(const EmbeddedOptions& options, LockFile lock)
        : directory_(options.directory),
          read_deadline_(options.read_deadline),
          lock_(std::move(lock)) {
        for (std::size_t i = 0; i < options.readers + 1; ++i) {
            readers_.push_back(
                std::make_unique<Reader>(OpenReader(options), options.load_page_rows));
        }
        Connection connection = OpenWriter(options);
        std::vector<LeaderRow> terms = Leases::ReadTerms(connection);
        writer_ = std::make_unique<Writer>(
            Writer::Connections{std::move(connection), OpenWriter(options)},
            options.checkpoint_frames, directory_);
        leases_ = std::make_unique<Leases>(*writer_, options.clock, std::move(terms));
        for (const auto& reader : readers_) {
            // The first is the leader's: a list over years of history must not keep it waiting.
            TurnQueue<Reader>& queue = reader == readers_.front() ? leader_reads_ : reads_;
            threads_.emplace_back([&queue, reader = reader.get()] {
                while (auto operation = queue.Pop()) (*operation)(reader, nullptr);
            });
        }
        // Leases have a thread of their own: an announcement must not wait behind a long read.
        threads_.emplace_back([this] {
            while (auto operation = lease_calls_.Pop()) (*operation)(leases_.get(), nullptr);
        });
    }

    ~EmbeddedStore() override {
        reads_.Close();
        leader_reads_.Close();
        lease_calls_.Close();
        threads_.clear();
        readers_.clear();
        writer_.reset();
    }

    StoreLimits limits() const override {
        // Far below what SQLite can take; a larger transaction gains nothing and delays its answer.
        // A purge can keep up with batches in which everything finishes.
        return {.changes_max = 4096, .bytes_max = 16u << 20, .pipeline_max = 4, .purge_max = 8192};
    }

    std::string Describe() const override { return "embedded " + directory_; }
    std::optional<StoreRoom> Room() const override { return RoomIn(directory_); }

    void Commit(BatchPtr batch, Done<void> done) override {
        writer_->Commit(std::move(batch), std::move(done));
    }

    void DropPartition(Partition partition, std::uint64_t epoch, Done<void> done) override {
        if (partition == kDefaultPartition) {
            return writer_->Run(MakeOperation<Writer, void>(
                [](Writer&) -> Result<void> { return DefaultIsKept(); }, std::move(done)));
        }
        writer_->Drop(partition, epoch, std::move(done));
    }

    // A term begins and ends on the writer's thread, in order with the commits.
    template <typename T, typename Work>
    void Call(TermCall, Work work, Done<T> done) {
        writer_->Run(MakeOperation<Writer, T>(
            [this, work = std::move(work)](Writer&) { return work(*leases_); }, std::move(done)));
    }

    template <typename T, typename Work>
    void Call(LeaseCall, Work work, Done<T> done) {
        lease_calls_.Push(MakeOperation<Leases, T>(std::move(work), std::move(done)));
    }

    template <typename T, typename Work>
    void Call(NodesCall, Work work, Done<T> done) {
        Call(LeaseCall{}, std::move(work), std::move(done));
    }

    template <typename T, typename Work>
    void Call(LoadCall call, Work work, Done<T> done) {
        leader_reads_.Push(call.partition, MakeOperation<Reader, T>(
                                               [this, work = std::move(work)](Reader& reader) {
                                                   return Guard<T>(work, reader);
                                               },
                                               std::move(done)));
    }

    template <typename T, typename Work>
    void Call(ReaderCall call, Work work, Done<T> done) {
        reads_.Push(call.partition, MakeOperation<Reader, T>(
                                        [this, work = std::move(work)](Reader& reader) {
                                            reader.SetDeadline(SteadyClock::now() + read_deadline_);
                                            return Guard<T>(work, reader);
                                        },
                                        std::move(done)));
    }

  private:
    template <typename T, typename Work>
    Result<T> Guard(const Work& work, Reader& reader) {
        try {
            return work(reader);
        } catch (const SqliteError& error) {
            if (error.code() == SQLITE_INTERRUPT) {
                return Fail(ErrorCode::kUnavailable,
                            fmt::format("reading took longer than {}; narrow the time range or "
                                        "the filter",
                                        FormatDuration(read_deadline_)));
            }
            return Fail(ErrorCode::kUnavailable,
                        fmt::format("reading from {} failed: {}", directory_, error.what()));
        }
    }

    const std::string directory_;
    const Duration read_deadline_;
    LockFile lock_;  // Given back last.
    std::vector<std::unique_ptr<Reader>> readers_;
    std::unique_ptr<Leases> leases_;  // What the writer does last may be theirs.
    std::unique_ptr<Writer> writer_;
    TurnQueue<Reader> leader_reads_;
    TurnQueue<Reader> reads_;
    OperationQueue<Leases> lease_calls_;
    std::vector<std::jthread> threads_;
};

}  // namespace
}  // namespace embedded

Result<std::unique_ptr<Store>> OpenEmbedded(const EmbeddedOptions& options) {
    // Counting every allocation of SQLite takes a lock for each; nobody reads the count. Only the
    // first call in a process can succeed, and the store works without.
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    if (Result<void> made = embedded::MakePrivate(options.directory); !made) {
        return std::unexpected(made.error());
    }
    Result<embedded::LockFile> lock = embedded::LockFile::Take(options.directory);
    if (!lock) return std::unexpected(lock.error());
    if (Result<void> prepared = embedded::PrepareDatabase(options); !prepared) {
        return std::unexpected(prepared.error());
    }
    try {
        return std::make_unique<embedded::EmbeddedStore>(options, std::move(*lock));
    } catch (const embedded::SqliteError& sqlite) {
        return std::unexpected(embedded::WhyUnusable(options, sqlite));
    }
}

}  // namespace takt::internal
