#include "store/embedded/embedded_store.h"

#include <fmt/core.h>

#include <filesystem>

#include "store/embedded/database_file.h"
#include "store/embedded/leases.h"
#include "store/embedded/lock_file.h"
#include "store/embedded/reader.h"
#include "store/embedded/writer.h"
#include "store/operation_queue.h"

namespace takt::internal {
namespace embedded {
namespace {

class EmbeddedStore final : public Store {
  public:
    // Throws SqliteError.
    EmbeddedStore(const EmbeddedOptions& options, LockFile lock)
        : directory_(options.directory),
          read_deadline_(options.read_deadline),
          lock_(std::move(lock)),
          leases_(options.clock) {
        for (std::size_t i = 0; i < options.readers + 1; ++i) {
            readers_.push_back(
                std::make_unique<Reader>(OpenReader(options), options.load_page_rows));
        }
        writer_ = std::make_unique<Writer>(OpenWriter(options), directory_);
        for (const auto& reader : readers_) {
            // The first is the leader's: a list over years of history must not keep it waiting.
            OperationQueue<Reader>& queue = reader == readers_.front() ? leader_reads_ : reads_;
            threads_.emplace_back([&queue, reader = reader.get()] {
                while (auto operation = queue.Pop()) (*operation)(reader, nullptr);
            });
        }
        // Leases have a thread of their own: a renewal must not wait behind a long read.
        threads_.emplace_back([this] {
            while (auto operation = lease_calls_.Pop()) (*operation)(&leases_, nullptr);
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

    void Acquire(const Candidate& candidate, Done<Term> done) override {
        writer_->Run(MakeOperation<Writer, Term>(
            [this, candidate](Writer& writer) { return leases_.Acquire(writer, candidate); },
            std::move(done)));
    }

    void Renew(const Term& term, Duration ttl, Done<void> done) override {
        lease_calls_.Push(MakeOperation<Leases, void>(
            [term, ttl](Leases& leases) { return leases.Renew(term, ttl); }, std::move(done)));
    }

    void Resign(const Term& term, Done<void> done) override {
        writer_->Run(MakeOperation<Writer, void>(
            [this, term](Writer& writer) { return leases_.Resign(writer, term); },
            std::move(done)));
    }

    void Leader(Partition partition, Done<std::optional<LeaderRow>> done) override {
        lease_calls_.Push(MakeOperation<Leases, std::optional<LeaderRow>>(
            [partition](Leases& leases) { return leases.Leader(partition); }, std::move(done)));
    }

    void Announce(const NodeRow& node, Duration ttl, Done<void> done) override {
        lease_calls_.Push(MakeOperation<Leases, void>(
            [node, ttl](Leases& leases) { return leases.Announce(node, ttl); }, std::move(done)));
    }

    void Nodes(Done<std::vector<NodeRow>> done) override {
        lease_calls_.Push(MakeOperation<Leases, std::vector<NodeRow>>(
            [](Leases& leases) { return leases.Nodes(); }, std::move(done)));
    }

    void Commit(BatchPtr batch, Done<void> done) override {
        writer_->Commit(std::move(batch), std::move(done));
    }

    void Load(Partition partition, const std::string& cursor, Done<LoadPage> done) override {
        ReadForLeader(
            [partition, cursor](Reader& reader) { return reader.Load(partition, cursor); },
            std::move(done));
    }

    void FindExecutions(std::vector<ExecutionId> ids,
                        Done<std::vector<std::optional<Execution>>> done) override {
        ReadForLeader([ids = std::move(ids)](Reader& reader) { return reader.FindExecutions(ids); },
                      std::move(done));
    }

    void ListExecutions(const ExecutionFilter& filter, Done<std::vector<Execution>> done) override {
        Read([filter](Reader& reader) { return reader.ListExecutions(filter); }, std::move(done));
    }

    void FindTask(const TaskId& id, Done<TaskRow> done) override {
        Read([id](Reader& reader) { return reader.FindTask(id); }, std::move(done));
    }

    void ListTasks(const TaskFilter& filter, Done<std::vector<TaskRow>> done) override {
        Read([filter](Reader& reader) { return reader.ListTasks(filter); }, std::move(done));
    }

    void ListWorkers(Done<std::vector<Worker>> done) override {
        Read([](Reader& reader) { return reader.ListWorkers(); }, std::move(done));
    }

    void ListSettings(const Text& key_prefix, Done<std::vector<SettingPut>> done) override {
        Read([key_prefix](Reader& reader) { return reader.ListSettings(key_prefix); },
             std::move(done));
    }

    void ReadLog(const ExecutionId& execution, Serial after, std::size_t limit,
                 Done<std::vector<LogChunk>> done) override {
        Read([execution, after,
              limit](Reader& reader) { return reader.ReadLog(execution, after, limit); },
             std::move(done));
    }

    void ReadEvents(Serial after, std::size_t limit, Done<std::vector<Event>> done) override {
        Read([after, limit](Reader& reader) { return reader.ReadEvents(after, limit); },
             std::move(done));
    }

  private:
    template <typename T, typename Work>
    void ReadForLeader(Work work, Done<T> done) {
        leader_reads_.Push(MakeOperation<Reader, T>(
            [this, work = std::move(work)](Reader& reader) { return Guard<T>(work, reader); },
            std::move(done)));
    }

    template <typename T, typename Work>
    void Read(Work work, Done<T> done) {
        reads_.Push(MakeOperation<Reader, T>(
            [this, work = std::move(work)](Reader& reader) {
                reader.SetDeadline(SteadyClock::now() + read_deadline_);
                return Guard<T>(work, reader);
            },
            std::move(done)));
    }

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
    Leases leases_;
    std::vector<std::unique_ptr<Reader>> readers_;
    std::unique_ptr<Writer> writer_;
    OperationQueue<Reader> leader_reads_;
    OperationQueue<Reader> reads_;
    OperationQueue<Leases> lease_calls_;
    std::vector<std::jthread> threads_;
};

}  // namespace
}  // namespace embedded

Result<std::unique_ptr<Store>> OpenEmbedded(const EmbeddedOptions& options) {
    // Counting every allocation of SQLite takes a lock for each; nobody reads the count. Only the
    // first call in a process can succeed, and the store works without.
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    std::error_code error;
    std::filesystem::create_directories(options.directory, error);
    if (error) {
        return Fail(ErrorCode::kInvalid,
                    fmt::format("cannot make the directory {}: {}; choose another --store",
                                options.directory, error.message()));
    }
    Result<embedded::LockFile> lock = embedded::LockFile::Take(options.directory);
    if (!lock) return std::unexpected(lock.error());
    if (Result<void> prepared = embedded::PrepareDatabase(options); !prepared) {
        return std::unexpected(prepared.error());
    }
    try {
        return std::make_unique<embedded::EmbeddedStore>(options, std::move(*lock));
    } catch (const embedded::SqliteError& sqlite) {
        return Fail(
            ErrorCode::kInvalid,
            fmt::format("cannot open {}: {}", embedded::DatabasePath(options), sqlite.what()));
    }
}

}  // namespace takt::internal
