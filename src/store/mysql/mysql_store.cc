#include "store/mysql/mysql_store.h"

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "store/mysql/batch_sql.h"
#include "store/mysql/judge.h"
#include "store/mysql/leases.h"
#include "store/mysql/reader.h"
#include "store/mysql/schema.h"
#include "store/mysql/writer.h"
#include "store/operation_queue.h"

namespace takt::internal {
namespace mysql {
namespace {

// What a packet may hold beside one large value, at the very most: a statement's other rows. And
// values double when each of their bytes must be escaped.
constexpr std::size_t kPacketOverhead = 512 << 10;

StoreLimits LimitsOf(const Server& server) {
    const std::size_t bytes = (server.packet_bytes_max - kPacketOverhead) / 2;
    // Beyond 2000 changes a transaction takes longer for each of them, and delays its answer.
    return {.changes_max = 2000,
            .bytes_max = std::min<std::size_t>(bytes, 16u << 20),
            .pipeline_max = 2,
            .purge_max = kPurgeMax};
}

class MysqlStore final : public Store {
  public:
    MysqlStore(const MysqlOptions& options, const Server& server)
        : options_(options),
          limits_(LimitsOf(server)),
          leases_(options_),
          writer_(options_, server, server.packet_bytes_max - kPacketOverhead) {
        for (std::size_t i = 0; i < options_.readers; ++i) {
            readers_.push_back(std::make_unique<Reader>(options_));
            threads_.emplace_back([this, reader = readers_.back().get()] {
                while (auto operation = reads_.Pop()) (*operation)(reader, nullptr);
            });
        }
        threads_.emplace_back([this] {
            while (auto operation = lease_calls_.Pop()) (*operation)(&leases_, nullptr);
        });
        threads_.emplace_back([this] {
            while (auto operation = commits_.Pop()) (*operation)(&writer_, nullptr);
        });
    }

    ~MysqlStore() override {
        reads_.Close();
        lease_calls_.Close();
        commits_.Close();
        threads_.clear();
    }

    StoreLimits limits() const override { return limits_; }
    std::string Describe() const override { return internal::Describe(options_); }

    void Acquire(const Candidate& candidate, Done<Term> done) override {
        Run<Term>(
            lease_calls_, [candidate](Leases& leases) { return leases.Acquire(candidate); },
            std::move(done));
    }

    void Renew(const Term& term, Duration ttl, Done<void> done) override {
        Run<void>(
            lease_calls_, [term, ttl](Leases& leases) { return leases.Renew(term, ttl); },
            std::move(done));
    }

    void Resign(const Term& term, Done<void> done) override {
        Run<void>(
            lease_calls_, [term](Leases& leases) { return leases.Resign(term); }, std::move(done));
    }

    void Leader(Partition partition, Done<std::optional<LeaderRow>> done) override {
        Run<std::optional<LeaderRow>>(
            reads_, [partition](Reader& reader) { return reader.Leader(partition); },
            std::move(done));
    }

    void Announce(const NodeRow& node, Duration ttl, Done<void> done) override {
        Run<void>(
            lease_calls_, [node, ttl](Leases& leases) { return leases.Announce(node, ttl); },
            std::move(done));
    }

    void Nodes(Done<std::vector<NodeRow>> done) override {
        Run<std::vector<NodeRow>>(
            reads_, [](Reader& reader) { return reader.Nodes(); }, std::move(done));
    }

    void Commit(BatchPtr batch, Done<void> done) override {
        Run<void>(
            commits_, [batch = std::move(batch)](Writer& writer) { return writer.Commit(*batch); },
            std::move(done));
    }

    void Load(Partition partition, const std::string& cursor, Done<LoadPage> done) override {
        Run<LoadPage>(
            reads_, [partition, cursor](Reader& reader) { return reader.Load(partition, cursor); },
            std::move(done));
    }

    void FindExecutions(std::vector<ExecutionId> ids,
                        Done<std::vector<std::optional<Execution>>> done) override {
        Run<std::vector<std::optional<Execution>>>(
            reads_, [ids = std::move(ids)](Reader& reader) { return reader.FindExecutions(ids); },
            std::move(done));
    }

    void ListExecutions(const ExecutionFilter& filter, Done<std::vector<Execution>> done) override {
        Run<std::vector<Execution>>(
            reads_, [filter](Reader& reader) { return reader.ListExecutions(filter); },
            std::move(done));
    }

    void FindTask(const TaskId& id, Done<TaskRow> done) override {
        Run<TaskRow>(reads_, [id](Reader& reader) { return reader.FindTask(id); }, std::move(done));
    }

    void ListTasks(const TaskFilter& filter, Done<std::vector<TaskRow>> done) override {
        Run<std::vector<TaskRow>>(
            reads_, [filter](Reader& reader) { return reader.ListTasks(filter); }, std::move(done));
    }

    void ListWorkers(Done<std::vector<Worker>> done) override {
        Run<std::vector<Worker>>(
            reads_, [](Reader& reader) { return reader.ListWorkers(); }, std::move(done));
    }

    void ListSettings(const Text& key_prefix, Done<std::vector<SettingPut>> done) override {
        Run<std::vector<SettingPut>>(
            reads_, [key_prefix](Reader& reader) { return reader.ListSettings(key_prefix); },
            std::move(done));
    }

    void ReadLog(const ExecutionId& execution, Serial after, std::size_t limit,
                 Done<std::vector<LogChunk>> done) override {
        Run<std::vector<LogChunk>>(
            reads_,
            [execution, after, limit](Reader& reader) {
                return reader.ReadLog(execution, after, limit);
            },
            std::move(done));
    }

    void ReadEvents(Serial after, std::size_t limit, Done<std::vector<Event>> done) override {
        Run<std::vector<Event>>(
            reads_, [after, limit](Reader& reader) { return reader.ReadEvents(after, limit); },
            std::move(done));
    }

  private:
    // Behind operations that each ran into their timeout, the later ones would wait for all of
    // them; so what has waited for too long is not begun any more.
    template <typename T, typename Context, typename Work>
    void Run(OperationQueue<Context>& queue, Work work, Done<T> done) {
        const Steady latest = SteadyClock::now() + options_.timeout;
        queue.Push(MakeOperation<Context, T>(
            [this, latest, work = std::move(work)](Context& context) -> Result<T> {
                if (SteadyClock::now() > latest) {
                    return Fail(ErrorCode::kUnavailable, Describe() + " is too slow at the moment");
                }
                try {
                    return work(context);
                } catch (const MysqlError& error) {
                    return std::unexpected(Judge(error, options_));
                }
            },
            std::move(done)));
    }

    const MysqlOptions options_;
    const StoreLimits limits_;
    Leases leases_;
    Writer writer_;
    std::vector<std::unique_ptr<Reader>> readers_;
    OperationQueue<Reader> reads_;
    OperationQueue<Leases> lease_calls_;
    OperationQueue<Writer> commits_;
    std::vector<std::jthread> threads_;
};

}  // namespace
}  // namespace mysql

Result<std::unique_ptr<Store>> OpenMysql(const MysqlOptions& options) {
    try {
        mysql::Connection connection(options);
        const Result<mysql::Server> server = mysql::InspectServer(connection, options);
        if (!server) return std::unexpected(server.error());
        const Result<void> migrated =
            mysql::Migrate(connection, options, mysql::Migrations(options.prefix));
        if (!migrated) return std::unexpected(migrated.error());
        mysql::CheckPrivileges(connection, options);
        return std::make_unique<mysql::MysqlStore>(options, *server);
    } catch (const mysql::MysqlError& error) {
        return std::unexpected(mysql::JudgeOpening(error, options));
    }
}

Result<std::unique_ptr<Store>> OpenMysql(std::string_view url) {
    const Result<MysqlOptions> options = ParseMysqlUrl(url);
    if (!options) return std::unexpected(options.error());
    return OpenMysql(*options);
}

}  // namespace takt::internal
