#include "store/etcd/store.h"

#include <array>
#include <atomic>
#include <functional>
#include <thread>
#include <type_traits>
#include <utility>

#include "base/log.h"
#include "store/call_store.h"
#include "store/etcd/client.h"
#include "store/etcd/compactor.h"
#include "store/etcd/dropper.h"
#include "store/etcd/leases.h"
#include "store/etcd/limits.h"
#include "store/etcd/quota_watch.h"
#include "store/etcd/reader.h"
#include "store/etcd/schema.h"
#include "store/etcd/writer.h"
#include "store/lead.h"
#include "store/operation_queue.h"
#include "store/refusals.h"
#include "store/store_room.h"

namespace takt::internal {
namespace etcd {
namespace {

// A scheduler that does not compact looks at etcd's size so often, and all of them when nobody writes.
constexpr Duration kStatusEvery{2'000};
constexpr Duration kStatusAtRest{10'000};

std::string NameOf(const EtcdOptions& options) {
    std::string text = "etcd ";
    for (const std::string& endpoint : options.endpoints) {
        if (&endpoint != &options.endpoints.front()) text += ',';
        text += endpoint;
    }
    return text + " " + options.prefix;
}

class EtcdStore final : public CallStore<EtcdStore>, public CountsRoom, public ReadsManyLogs {
  public:
    EtcdStore(EtcdOptions options, const Security& security, Schema schema);
    ~EtcdStore() override;

    StoreLimits limits() const override {
        return {.changes_max = kChangesMax,
                .bytes_max = kBytesMax,
                .pipeline_max = kPipelineMax,
                .purge_max = kPurgeMax};
    }
    std::string Describe() const override { return NameOf(options_); }
    std::string WhyFull() const override { return quota_.WhyFull(); }
    std::optional<StoreRoom> Room() const override {
        const std::uint64_t used = quota_.used();
        if (used == 0) return std::nullopt;
        return StoreRoom{
            .bytes = used, .bytes_max = quota_.quota(), .bound = "etcd's --quota-backend-bytes"};
    }

    void Announce(const NodeRow& node, Duration ttl, Done<void> done) override;
    void Leaders(Done<std::vector<LeaderRow>> done) override;
    void Commit(BatchPtr batch, Done<void> done) override;
    void DropPartition(Partition partition, std::uint64_t epoch, Done<void> done) override;
    void ReadLogs(Partition partition, std::vector<ExecutionId> executions,
                  Done<std::vector<LogBeginning>> done) override {
        Begin<std::vector<LogBeginning>>(
            [this, partition, executions = std::move(executions)] {
                return reader_.ReadLogs(partition, executions);
            },
            std::move(done));
    }

    template <typename Part, typename T, typename Do>
    void Call(Part, Do work, Done<T> done) {
        constexpr bool kReads = std::is_same_v<Part, LoadCall> || std::is_same_v<Part, ReaderCall>;
        Begin<T>(
            [this, work = std::move(work)] {
                if constexpr (kReads) {
                    return work(reader_);
                } else {
                    return work(leases_);
                }
            },
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
    Writer& writer(Partition partition);
    void Applied(Partition partition, std::int64_t revision, std::size_t bytes);
    // Compaction is etcd's as a whole, so one scheduler does it: the leader of the default partition,
    // also for what others write while it has nothing to commit itself.
    void NoteLeaders(const std::vector<LeaderRow>& rows);
    // Looks at etcd's revision, for that one, and at its size, for all.
    Detached WatchStatus();
    void Observe(std::int64_t revision, std::uint64_t bytes);
    Detached Compact(std::int64_t revision);
    Detached CheckCluster();

    const EtcdOptions options_;
    const Keys keys_;
    Tracker tracker_;
    // Connections of their own: a renewal waits for no commit, a commit for no long list.
    Client terms_;
    Client commits_;
    Client reads_;
    Leases leases_;
    Reader reader_;
    QuotaWatch quota_;
    Compactor compactor_;
    std::atomic<bool> leads_default_ = false;
    std::atomic<std::uint64_t> own_bytes_ = 0;  // Written here since etcd's size was looked at.
    std::atomic<std::uint64_t> size_seen_ = 0;
    std::atomic<Steady> status_seen_{};
    std::atomic<std::int64_t> revision_seen_ = 0;
    // Nobody wrote between the last two looks, nor here since, and there is plenty of room.
    std::atomic<bool> at_rest_ = false;
    std::mutex mutex_;
    NodeId node_;  // That was announced last.
    Company company_;
    std::array<std::unique_ptr<Writer>, 256> writers_;  // By partition.
    OperationQueue<EtcdStore> queue_;
    std::jthread thread_;
};

EtcdStore::EtcdStore(EtcdOptions options, const Security& security, Schema schema)
    : options_(std::move(options)),
      keys_(options_.prefix),
      terms_(options_, security),
      commits_(options_, security),
      reads_(options_, security),
      leases_(terms_, keys_, std::move(schema)),
      reader_(reads_, keys_, options_.load_page_rows),
      quota_(options_.quota, NameOf(options_)) {
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
    for (const auto& writer : writers_) {
        if (writer) writer->Close();
    }
    tracker_.WaitUntilIdle();
}

void EtcdStore::Commit(BatchPtr batch, Done<void> done) {
    queue_.Push([this, batch = std::move(batch), done = std::move(done)](
                    EtcdStore*, const Error* refusal) mutable {
        if (refusal) return done(std::unexpected(*refusal));
        writer(batch->term.partition).Commit(std::move(batch), std::move(done));
    });
}

void EtcdStore::DropPartition(Partition partition, std::uint64_t epoch, Done<void> done) {
    Begin<void>(
        [this, partition, epoch]() -> Async<Result<void>> {
            if (partition == kDefaultPartition) co_return DefaultIsKept();
            Dropper dropper(commits_, keys_, partition, epoch);
            co_return co_await dropper.Drop();
        },
        std::move(done));
}

Writer& EtcdStore::writer(Partition partition) {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<Writer>& writer = writers_[partition];
    if (!writer) {
        writer =
            std::make_unique<Writer>(commits_, keys_, tracker_, company_, partition,
                                     [this, partition](std::int64_t revision, std::size_t bytes) {
                                         Applied(partition, revision, bytes);
                                     });
    }
    return *writer;
}

void EtcdStore::Announce(const NodeRow& node, Duration ttl, Done<void> done) {
    {
        const std::lock_guard lock(mutex_);
        node_ = node.node;
    }
    CallStore::Announce(node, ttl, std::move(done));
}

void EtcdStore::Leaders(Done<std::vector<LeaderRow>> done) {
    CallStore::Leaders([this, done = std::move(done)](Result<std::vector<LeaderRow>> rows) mutable {
        if (rows) NoteLeaders(*rows);
        done(std::move(rows));
    });
}

void EtcdStore::NoteLeaders(const std::vector<LeaderRow>& rows) {
    const std::optional<LeaderRow> leader = LeaderOf(rows, kDefaultPartition);
    {
        const std::lock_guard lock(mutex_);
        leads_default_ = leader && leader->node == node_;
    }
    const Steady now = SteadyClock::now();
    const bool compacts = leads_default_ && options_.compact;
    const Duration every = at_rest_ ? kStatusAtRest : compacts ? Duration(0) : kStatusEvery;
    if (now - status_seen_.load() < every) return;
    status_seen_ = now;
    WatchStatus();
}

Detached EtcdStore::WatchStatus() {
    const Tracker::Hold hold(tracker_);
    const std::uint64_t written = quota_.written();
    const Result<pb::StatusResponse> status = co_await reads_.Status();
    if (!status) co_return;  // The next time will do.
    quota_.Observe(*status, written);
    const std::int64_t revision = status->header().revision();
    at_rest_ = revision_seen_.exchange(revision) == revision && quota_.used() * 2 < quota_.quota();
    compactor_.set_quota(quota_.quota());
    if (options_.on_sizes) options_.on_sizes();
    if (!leads_default_ || !options_.compact) co_return;
    // Others' writes are known by what etcd has grown beside our own commits.
    const auto size = static_cast<std::uint64_t>(status->db_size_in_use());
    const std::uint64_t before = size_seen_.exchange(size);
    const std::uint64_t known = (before == 0 ? size : before) + own_bytes_.exchange(0);
    Observe(revision, size > known ? size - known : 0);
}

void EtcdStore::Applied(Partition partition, std::int64_t revision, std::size_t bytes) {
    at_rest_ = false;
    quota_.NoteWritten(bytes);
    if (partition == kDefaultPartition) leads_default_ = true;
    if (!options_.compact || !leads_default_) return;
    own_bytes_ += bytes;
    Observe(revision, bytes);
}

void EtcdStore::Observe(std::int64_t revision, std::uint64_t bytes) {
    if (const auto target = compactor_.Observe(revision, bytes, SteadyClock::now())) {
        Compact(*target);
    }
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
    quota_.Observe(*status);
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
    return OpenEtcd(options, etcd::Schema());
}

Result<std::unique_ptr<Store>> OpenEtcd(const EtcdOptions& options, const etcd::Schema& schema) {
    const Result<etcd::Security> security = etcd::ReadSecurity(options);
    if (!security) return std::unexpected(security.error());
    return std::make_unique<etcd::EtcdStore>(options, *security, schema);
}

}  // namespace takt::internal
