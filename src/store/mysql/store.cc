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
#include "store/mysql/server.h"
#include "store/mysql/terms.h"
#include "store/mysql/writer.h"
#include "store/operation_queue.h"
#include "store/refusals.h"
#include "store/turn_queue.h"

namespace takt::internal {
namespace mysql {
namespace {

// A packet holds this much beside one large value, at the very most: a statement's other rows. And
// values double when each of their bytes must be escaped.
constexpr std::size_t kPacketOverhead = 512 << 10;

// Connections that commit: a lock wait or a large purge of one namespace delays only those that share
// its own.
constexpr std::size_t kLanes = 4;

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
          terms_(options_, watch_) {
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
        for (std::size_t i = 0; i < kLanes; ++i) {
            lanes_.push_back(std::make_unique<Lane>(options_, server));
            threads_.emplace_back([lane = lanes_.back().get()] {
                while (auto operation = lane->commits.Pop()) (*operation)(&lane->writer, nullptr);
            });
        }
    }

    ~MysqlStore() override {
        reads_.Close();
        lease_calls_.Close();
        term_calls_.Close();
        for (const auto& lane : lanes_) lane->commits.Close();
        threads_.clear();
    }

    StoreLimits limits() const override { return limits_; }
    std::string Describe() const override { return internal::Describe(options_); }

    void Commit(BatchPtr batch, Done<void> done) override {
        const Partition partition = batch->term.partition;
        RunWriter(
            partition, [batch = std::move(batch)](Writer& writer) { return writer.Commit(*batch); },
            std::move(done));
    }
    void DropPartition(Partition partition, std::uint64_t epoch, Done<void> done) override {
        RunWriter(
            partition,
            [partition, epoch](Writer& writer) -> Result<void> {
                if (partition == kDefaultPartition) return DefaultIsKept();
                return writer.Drop(partition, epoch);
            },
            std::move(done));
    }

    // What keeps a lead waits for nothing else; whoever only asks uses a reader.
    template <typename Part, typename T, typename Work>
    void Call(Part part, Work work, Done<T> done) {
        if constexpr (std::is_same_v<Part, LeaseCall>) {
            lease_calls_.Push(Timed<Leases, T>(std::move(work), std::move(done)));
        } else if constexpr (std::is_same_v<Part, TermCall>) {
            term_calls_.Push(Timed<Terms, T>(std::move(work), std::move(done)));
        } else if constexpr (std::is_same_v<Part, NodesCall>) {
            reads_.Push(kDefaultPartition, Timed<Reader, T>(std::move(work), std::move(done)));
        } else {
            reads_.Push(part.partition, Timed<Reader, T>(std::move(work), std::move(done)));
        }
    }

  private:
    // A connection that commits, and what waits for it. Connected when it is first needed.
    struct Lane {
        Lane(const MysqlOptions& options, const Server& server)
            : writer(options, server, server.packet_bytes_max - kPacketOverhead) {}

        Writer writer;
        TurnQueue<Writer> commits;
    };

    template <typename Work>
    void RunWriter(Partition partition, Work work, Done<void> done) {
        // A partition is always on the same one. The default one has it for itself: those who use
        // no other notice nothing of them.
        const std::size_t lane =
            partition == kDefaultPartition ? 0 : 1 + (partition - 1) % (kLanes - 1);
        lanes_[lane]->commits.Push(partition,
                                   Timed<Writer, void>(std::move(work), std::move(done)));
    }

    // Behind operations that each ran into their timeout, the later ones would wait for all of
    // them; so what has waited for too long is not begun any more.
    template <typename Context, typename T, typename Work>
    Operation<Context> Timed(Work work, Done<T> done) {
        const Steady latest = SteadyClock::now() + options_.timeout;
        return MakeOperation<Context, T>(
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
            std::move(done));
    }

    const MysqlOptions options_;
    const StoreLimits limits_;
    LockWatch watch_;
    Leases leases_;
    Terms terms_;
    std::vector<std::unique_ptr<Reader>> readers_;
    TurnQueue<Reader> reads_;
    OperationQueue<Leases> lease_calls_;
    OperationQueue<Terms> term_calls_;
    std::vector<std::unique_ptr<Lane>> lanes_;
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
