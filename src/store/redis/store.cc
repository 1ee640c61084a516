#include "store/redis/store.h"

#include <future>
#include <utility>

#include "base/log.h"
#include "store/redis/batch_commands.h"
#include "store/redis/check.h"
#include "store/redis/client.h"
#include "store/redis/index_check.h"
#include "store/redis/leases.h"
#include "store/redis/reader.h"
#include "store/redis/schema.h"
#include "store/redis/writer.h"
#include "store/wait.h"

namespace takt::internal {
namespace redis {
namespace {

// A script holds up everybody else: 1,000 changes take Redis some 20 ms. Also far from the 8,000
// values that Lua lets one call have.
constexpr std::size_t kChangesMax = 1000;
// Well below Redis' client-query-buffer-limit (1 GB) and proto-max-bulk-len; sent in under 0.1 s.
constexpr std::size_t kBytesMax = 8 << 20;
// Enough to keep Redis busy while answers travel.
constexpr std::size_t kPipelineMax = 4;

class RedisStore final : public Store, public CountsRoom, public ChecksIndexes {
  public:
    RedisStore(std::unique_ptr<Client> client, const Schema& schema)
        : schema_(schema),
          keys_(client->options().prefix),
          check_(*client, keys_, schema_),
          leases_(*client, keys_, check_, schema_),
          writer_(*client, keys_, check_),
          reader_(*client, keys_),
          client_(std::move(client)) {}

    Result<void> CheckServer() {
        std::promise<Result<void>> promise;
        auto answer = promise.get_future();
        client_->Post([&] {
            check_.Ensure([&](Result<void> checked) { promise.set_value(std::move(checked)); });
        });
        return answer.get();
    }

    Result<std::string> Pause(Partition partition, Duration how_long) {
        return AskStore<std::string>(
            [&](auto done) { writer_.Pause(partition, how_long, std::move(done)); });
    }

    StoreLimits limits() const override {
        return {.changes_max = kChangesMax,
                .bytes_max = kBytesMax,
                .pipeline_max = kPipelineMax,
                .purge_max = kPurgeMax};
    }
    std::string Describe() const override { return redis::Describe(client_->options()); }
    std::string WhyFull() const override { return check_.WhyFull(); }
    std::optional<StoreRoom> Room() const override { return check_.Room(); }

    Result<std::vector<IndexFault>> CheckIndexes(
        const std::vector<Partition>& partitions) override {
        return IndexCheck(*client_, partitions).Run();
    }
    Result<void> MendIndexes(const Term& term, const std::vector<IndexFault>& faults) override {
        return IndexCheck(*client_, {term.partition}).Mend(term, faults);
    }

    void Announce(const NodeRow& node, Duration ttl, Done<void> done) override {
        leases_.Announce(node, ttl, std::move(done));
    }
    void Nodes(Done<std::vector<NodeRow>> done) override { leases_.Nodes(std::move(done)); }
    void Leaders(Done<std::vector<LeaderRow>> done) override { leases_.Leaders(std::move(done)); }
    void Acquire(const Candidate& candidate, Done<Term> done) override {
        leases_.Acquire(candidate, std::move(done));
    }
    void Resign(const Term& term, const NodeId& successor, Done<void> done) override {
        leases_.Resign(term, successor, std::move(done));
    }
    void Commit(BatchPtr batch, Done<void> done) override {
        writer_.Commit(std::move(batch), std::move(done));
    }
    void DropPartition(Partition partition, std::uint64_t epoch, Done<void> done) override {
        writer_.DropPartition(partition, epoch, std::move(done));
    }
    void Load(Partition partition, const std::string& cursor, Done<LoadPage> done) override {
        reader_.Load(partition, cursor, std::move(done));
    }
    void FindExecutions(Partition partition, std::vector<ExecutionId> ids,
                        Done<std::vector<std::optional<Execution>>> done) override {
        reader_.FindExecutions(partition, std::move(ids), std::move(done));
    }
    void ListExecutions(const ExecutionFilter& filter, Done<std::vector<Execution>> done) override {
        reader_.ListExecutions(filter, std::move(done));
    }
    void FindTask(Partition partition, const TaskId& id, Done<TaskRow> done) override {
        reader_.FindTask(partition, id, std::move(done));
    }
    void ListTasks(const TaskFilter& filter, Done<std::vector<TaskRow>> done) override {
        reader_.ListTasks(filter, std::move(done));
    }
    void ListWorkers(Partition partition, Done<std::vector<Worker>> done) override {
        reader_.ListWorkers(partition, std::move(done));
    }
    void ListSettings(Partition partition, const Text& key_prefix,
                      Done<std::vector<SettingPut>> done) override {
        reader_.ListSettings(partition, key_prefix, std::move(done));
    }
    void ReadLog(Partition partition, const ExecutionId& execution, Serial after, std::size_t limit,
                 Done<std::vector<LogChunk>> done) override {
        reader_.ReadLog(partition, execution, after, limit, std::move(done));
    }
    void ReadEvents(Partition partition, Serial after, std::size_t limit,
                    Done<std::vector<Event>> done) override {
        reader_.ReadEvents(partition, after, limit, std::move(done));
    }
    void ReadAudit(Partition partition, Serial before, std::size_t limit,
                   Done<std::vector<AuditRow>> done) override {
        reader_.ReadAudit(partition, before, limit, std::move(done));
    }

  private:
    const Schema schema_;
    Keyring keys_;
    ServerCheck check_;
    Leases leases_;
    Writer writer_;
    Reader reader_;
    std::unique_ptr<Client> client_;  // Last: its thread uses everything above.
};

// Commits of all partitions wait while it is read.
class PausedSnapshot final : public StoreSnapshot {
  public:
    PausedSnapshot(std::unique_ptr<RedisStore> store, Duration pause_max)
        : store_(std::move(store)), pause_max_(pause_max) {}

    Result<void> Pause() {
        const auto leaders =
            AskStore<std::vector<LeaderRow>>([&](auto done) { store_->Leaders(std::move(done)); });
        if (!leaders) return std::unexpected(leaders.error());
        for (const LeaderRow& row : *leaders) {
            const auto fence = store_->Pause(row.partition, pause_max_);
            if (!fence) return std::unexpected(fence.error());
            fences_.emplace_back(row.partition, *fence);
        }
        return {};
    }

    // A dead process's pause ends by itself.
    ~PausedSnapshot() override { static_cast<void>(Confirm()); }

    Store& store() override { return *store_; }

    Result<void> Confirm() override {
        bool same = true;
        Result<void> result;
        for (const auto& [partition, before] : std::exchange(fences_, {})) {
            const auto after = store_->Pause(partition, Duration(0));
            if (!after) result = std::unexpected(after.error());
            same = same && after && *after == before;
        }
        if (!result || same) return result;
        return Fail(ErrorCode::kUnavailable,
                    "reading took longer than commits may be held back (" +
                        FormatDuration(pause_max_) +
                        "), or a scheduler of an older version led: give a longer --pause-max, or "
                        "save with redis-cli --rdb (docs/moving.md)");
    }

  private:
    const std::unique_ptr<RedisStore> store_;
    const Duration pause_max_;
    std::vector<std::pair<Partition, std::string>> fences_;
};

}  // namespace
}  // namespace redis

Result<std::unique_ptr<StoreSnapshot>> SnapshotRedis(const redis::RedisOptions& options,
                                                     Duration pause_max) {
    Result<std::unique_ptr<redis::Client>> client = redis::Client::Make(options);
    if (!client) return std::unexpected(client.error());
    auto store = std::make_unique<redis::RedisStore>(std::move(*client), redis::Schema());
    if (const Result<void> checked = store->CheckServer(); !checked) {
        return std::unexpected(checked.error());
    }
    auto snapshot = std::make_unique<redis::PausedSnapshot>(std::move(store), pause_max);
    if (const Result<void> paused = snapshot->Pause(); !paused) {
        return std::unexpected(paused.error());
    }
    return snapshot;
}

Result<std::unique_ptr<Store>> OpenRedis(const redis::RedisOptions& options) {
    return OpenRedis(options, redis::Schema());
}

Result<std::unique_ptr<Store>> OpenRedis(const redis::RedisOptions& options,
                                         const redis::Schema& schema) {
    Result<std::unique_ptr<redis::Client>> client = redis::Client::Make(options);
    if (!client) return std::unexpected(client.error());
    auto store = std::make_unique<redis::RedisStore>(std::move(*client), schema);
    const Result<void> checked = store->CheckServer();
    if (!checked && checked.error().code == ErrorCode::kInvalid) {
        return std::unexpected(checked.error());
    }
    if (!checked) {
        Log(LogLevel::kWarning, "store", "Redis cannot be reached yet",
            {{"store", store->Describe()}, {"error", checked.error().detail}});
    }
    return store;
}

}  // namespace takt::internal
