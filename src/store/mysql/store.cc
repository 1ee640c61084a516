#include "store/mysql/store.h"

#include <algorithm>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "store/call_store.h"
#include "store/mysql/batch_sql.h"
#include "store/mysql/judge.h"
#include "store/mysql/leases.h"
#include "store/mysql/reader.h"
#include "store/mysql/schema.h"
#include "store/mysql/terms.h"
#include "store/mysql/writer.h"
#include "store/operation_queue.h"
#include "store/refusals.h"

namespace takt::internal {
namespace mysql {
namespace {

// A packet holds this much beside one large value, at the very most: a statement's other rows. And
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

class MysqlStore final : public CallStore<MysqlStore> {
  public:
    MysqlStore(const MysqlOptions& options, const Server& server)
        : options_(options),
          limits_(LimitsOf(server)),
          leases_(options_, watch_),
          terms_(options_, watch_),
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
            while (auto operation = term_calls_.Pop()) (*operation)(&terms_, nullptr);
        });
        threads_.emplace_back([this] {
            while (auto operation = commits_.Pop()) (*operation)(&writer_, nullptr);
        });
    }

    ~MysqlStore() override {
        reads_.Close();
        lease_calls_.Close();
        term_calls_.Close();
        commits_.Close();
        threads_.clear();
    }

    StoreLimits limits() const override { return limits_; }
    std::string Describe() const override { return internal::Describe(options_); }

    void Commit(BatchPtr batch, Done<void> done) override {
        Run<void>(
            commits_,
            [batch = std::move(batch)](Writer& writer) {
                if (auto served = CheckHasSuchRows(*batch); !served) return served;
                return writer.Commit(*batch);
            },
            std::move(done));
    }

    void DropPartition(Partition, Done<void> done) override {
        Run<void>(
            commits_, [](Writer&) -> Result<void> { return HasNoSuchRows(); }, std::move(done));
    }

    // What keeps a lead waits for nothing else; whoever only asks uses a reader.
    template <typename Part, typename T, typename Work>
    void Call(Part, Work work, Done<T> done) {
        if constexpr (std::is_same_v<Part, LeaseCall>) {
            Run<T>(lease_calls_, std::move(work), std::move(done));
        } else if constexpr (std::is_same_v<Part, TermCall>) {
            Run<T>(term_calls_, std::move(work), std::move(done));
        } else {
            Run<T>(reads_, std::move(work), std::move(done));
        }
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
    LockWatch watch_;
    Leases leases_;
    Terms terms_;
    Writer writer_;
    std::vector<std::unique_ptr<Reader>> readers_;
    OperationQueue<Reader> reads_;
    OperationQueue<Leases> lease_calls_;
    OperationQueue<Terms> term_calls_;
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
