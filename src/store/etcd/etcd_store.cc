#include "store/etcd/etcd_store.h"

#include <array>
#include <functional>
#include <thread>
#include <utility>

#include "base/log.h"
#include "store/etcd/client.h"
#include "store/etcd/committer.h"
#include "store/etcd/compactor.h"
#include "store/etcd/etcd_limits.h"
#include "store/etcd/execution_reader.h"
#include "store/etcd/leadership.h"
#include "store/etcd/loader.h"
#include "store/etcd/row_reader.h"
#include "store/operation_queue.h"

namespace takt::internal {
namespace etcd {
namespace {

// A read whose revision was compacted away begins anew. Compaction keeps ten thousand revisions, so
// that even the second time is rare.
constexpr int kReadsMax = 3;

class EtcdStore final : public Store {
  public:
    EtcdStore(EtcdOptions options, const Security& security);
    ~EtcdStore() override;

    StoreLimits limits() const override {
        return {.changes_max = kChangesMax,
                .bytes_max = kBytesMax,
                .pipeline_max = kPipelineMax,
                .purge_max = kPurgeMax};
    }
    std::string Describe() const override;

    void Acquire(const Candidate& candidate, Done<Term> done) override {
        Begin<Term>([this, candidate] { return leadership_.Acquire(candidate); }, std::move(done));
    }
    void Renew(const Term& term, Duration ttl, Done<void> done) override {
        Begin<void>([this, term, ttl] { return leadership_.Renew(term, ttl); }, std::move(done));
    }
    void Resign(const Term& term, Done<void> done) override {
        Begin<void>([this, term] { return leadership_.Resign(term); }, std::move(done));
    }
    void Leader(Partition partition, Done<std::optional<LeaderRow>> done) override {
        Begin<std::optional<LeaderRow>>([this, partition] { return leadership_.Leader(partition); },
                                        std::move(done));
    }
    void Announce(const NodeRow& node, Duration ttl, Done<void> done) override {
        Begin<void>([this, node, ttl] { return leadership_.Announce(node, ttl); }, std::move(done));
    }
    void Nodes(Done<std::vector<NodeRow>> done) override {
        Begin<std::vector<NodeRow>>([this] { return leadership_.Nodes(); }, std::move(done));
    }
    void Commit(BatchPtr batch, Done<void> done) override;
    void Load(Partition partition, const std::string& cursor, Done<LoadPage> done) override {
        Read<LoadPage>(
            [this, partition, cursor]() -> Async<Result<LoadPage>> {
                Loader loader(reads_, keys_, partition, options_.load_page_rows);
                co_return co_await loader.Load(cursor);
            },
            std::move(done));
    }
    void FindExecutions(std::vector<ExecutionId> ids,
                        Done<std::vector<std::optional<Execution>>> done) override {
        Read<std::vector<std::optional<Execution>>>(
            [this, ids = std::move(ids)]() -> Async<Result<std::vector<std::optional<Execution>>>> {
                ExecutionReader reader(reads_, keys_);
                co_return co_await reader.Find(ids);
            },
            std::move(done));
    }
    void ListExecutions(const ExecutionFilter& filter, Done<std::vector<Execution>> done) override {
        Read<std::vector<Execution>>(
            [this, filter]() -> Async<Result<std::vector<Execution>>> {
                ExecutionReader reader(reads_, keys_);
                co_return co_await reader.List(filter);
            },
            std::move(done));
    }
    void FindTask(const TaskId& id, Done<TaskRow> done) override {
        ReadRows<TaskRow>([id](RowReader& reader) { return reader.FindTask(id); }, std::move(done));
    }
    void ListTasks(const TaskFilter& filter, Done<std::vector<TaskRow>> done) override {
        ReadRows<std::vector<TaskRow>>(
            [filter](RowReader& reader) { return reader.ListTasks(filter); }, std::move(done));
    }
    void ListWorkers(Done<std::vector<Worker>> done) override {
        ReadRows<std::vector<Worker>>([](RowReader& reader) { return reader.ListWorkers(); },
                                      std::move(done));
    }
    void ListSettings(const Text& key_prefix, Done<std::vector<SettingPut>> done) override {
        ReadRows<std::vector<SettingPut>>(
            [key_prefix](RowReader& reader) { return reader.ListSettings(key_prefix); },
            std::move(done));
    }
    void ReadLog(const ExecutionId& execution, Serial after, std::size_t limit,
                 Done<std::vector<LogChunk>> done) override {
        ReadRows<std::vector<LogChunk>>(
            [execution, after, limit](RowReader& reader) {
                return reader.ReadLog(execution, after, limit);
            },
            std::move(done));
    }
    void ReadEvents(Serial after, std::size_t limit, Done<std::vector<Event>> done) override {
        ReadRows<std::vector<Event>>(
            [after, limit](RowReader& reader) { return reader.ReadEvents(after, limit); },
            std::move(done));
    }

  private:
    template <typename T>
    using Work = std::function<Async<Result<T>>()>;

    // Runs `work` beginning on the store's own thread, so that `done` is never called from inside
    // the operation.
    template <typename T>
    void Begin(Work<T> work, Done<T> done) {
        queue_.Push([this, work = std::move(work), done = std::move(done)](
                        EtcdStore*, const Error* refusal) mutable {
            if (refusal) return done(std::unexpected(*refusal));
            Run<T>(std::move(work), std::move(done));
        });
    }
    template <typename T>
    Detached Run(Work<T> work, Done<T> done) {
        const Tracker::Hold hold(tracker_);
        // As locals they are gone before the hold is; parameters would outlive it, and the store.
        const Work<T> own_work = std::move(work);
        Done<T> own_done = std::move(done);
        own_done(co_await own_work());
    }
    // As Begin, and repeats a read whose snapshot was compacted away.
    template <typename T>
    void Read(Work<T> work, Done<T> done) {
        Begin<T>([work = std::move(work)] { return Repeat<T>(work); }, std::move(done));
    }
    template <typename T>
    static Async<Result<T>> Repeat(Work<T> work) {
        for (int i = 1;; ++i) {
            Result<T> result = co_await work();
            if (result || result.error().code != ErrorCode::kConflict) co_return result;
            if (i == kReadsMax) {
                co_return Fail(ErrorCode::kUnavailable, std::move(result.error().detail));
            }
        }
    }
    template <typename T>
    void ReadRows(std::function<Async<Result<T>>(RowReader&)> read, Done<T> done) {
        Read<T>(
            [this, read = std::move(read)]() -> Async<Result<T>> {
                RowReader reader(reads_, keys_);
                co_return co_await read(reader);
            },
            std::move(done));
    }

    Committer& committer(Partition partition);
    void Applied(std::int64_t revision);
    Detached Compact(std::int64_t revision);
    Detached CheckCluster();

    const EtcdOptions options_;
    const Keys keys_;
    Tracker tracker_;
    // Connections of their own: a renewal waits for no commit, a commit for no long list.
    Client terms_;
    Client commits_;
    Client reads_;
    Leadership leadership_;
    Compactor compactor_;
    std::mutex mutex_;
    std::array<std::unique_ptr<Committer>, 256> committers_;  // By partition.
    OperationQueue<EtcdStore> queue_;
    std::jthread thread_;
};

EtcdStore::EtcdStore(EtcdOptions options, const Security& security)
    : options_(std::move(options)),
      keys_(options_.prefix),
      terms_(options_, security),
      commits_(options_, security),
      reads_(options_, security),
      leadership_(terms_, keys_) {
    thread_ = std::jthread([this] {
        while (auto operation = queue_.Pop()) (*operation)(this, nullptr);
    });
    queue_.Push([this](EtcdStore*, const Error* refusal) {
        if (!refusal) CheckCluster();
    });
}

EtcdStore::~EtcdStore() {
    queue_.Close();
    thread_.join();
    for (const auto& committer : committers_) {
        if (committer) committer->Close();
    }
    tracker_.WaitUntilIdle();
}

std::string EtcdStore::Describe() const {
    std::string text = "etcd ";
    for (const std::string& endpoint : options_.endpoints) {
        if (&endpoint != &options_.endpoints.front()) text += ',';
        text += endpoint;
    }
    return text + " " + options_.prefix;
}

void EtcdStore::Commit(BatchPtr batch, Done<void> done) {
    queue_.Push([this, batch = std::move(batch), done = std::move(done)](
                    EtcdStore*, const Error* refusal) mutable {
        if (refusal) return done(std::unexpected(*refusal));
        committer(batch->term.partition).Commit(std::move(batch), std::move(done));
    });
}

Committer& EtcdStore::committer(Partition partition) {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<Committer>& committer = committers_[partition];
    if (!committer) {
        committer = std::make_unique<Committer>(
            commits_, keys_, tracker_, [this](std::int64_t revision) { Applied(revision); });
    }
    return *committer;
}

void EtcdStore::Applied(std::int64_t revision) {
    if (!options_.compact) return;
    if (const auto target = compactor_.Observe(revision, SteadyClock::now())) Compact(*target);
}

Detached EtcdStore::Compact(std::int64_t revision) {
    const Tracker::Hold hold(tracker_);
    const auto done = co_await reads_.Compact(revision);
    // kConflict: somebody else has compacted further. Anything else is tried again with the next.
    if (!done && done.error().code != ErrorCode::kConflict) {
        Log(LogLevel::kWarning, "store", "etcd did not discard old revisions",
            {{"error", done.error().detail}});
    }
}

Detached EtcdStore::CheckCluster() {
    const Tracker::Hold hold(tracker_);
    const Result<pb::StatusResponse> status = co_await reads_.Status();
    if (!status) {
        Log(LogLevel::kWarning, "store", "etcd cannot be reached yet",
            {{"error", status.error().detail}});
        co_return;
    }
    Log(LogLevel::kInfo, "store", "etcd answers",
        {{"version", status->version()},
         {"bytes", status->db_size()},
         {"bytes_in_use", status->db_size_in_use()}});
    if (status->version().starts_with("3.0.") || status->version().starts_with("3.1.") ||
        status->version().starts_with("3.2.") || status->version().starts_with("3.3.")) {
        Log(LogLevel::kWarning, "store", "etcd is older than 3.4, which this store was made for",
            {{"version", status->version()}});
    }
    for (const std::string& error : status->errors()) {
        Log(LogLevel::kWarning, "store", "etcd reports a problem", {{"error", error}});
    }
}

}  // namespace
}  // namespace etcd

Result<std::unique_ptr<Store>> OpenEtcd(const EtcdOptions& options) {
    const Result<etcd::Security> security = etcd::ReadSecurity(options);
    if (!security) return std::unexpected(security.error());
    return std::make_unique<etcd::EtcdStore>(options, *security);
}

}  // namespace takt::internal
