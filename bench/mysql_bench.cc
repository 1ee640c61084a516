// How fast the MySQL store is, beside the same lifecycles as multi-row statements by hand on the
// same server in the same run.
//
//   mysql_bench [seconds per cell]
//
// Starts a mariadbd of its own, durable (innodb_flush_log_at_trx_commit = 1), on this machine. A
// lifecycle is insert, update, finish. A batch of N carries N changes, one commit at a time, so
// lifecycles/s = N × commits/s / 3.
#include <fmt/format.h>
#include <time.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/check.h"
#include "bench/store_writer.h"
#include "store/mysql/connection.h"
#include "store/mysql/store.h"
#include "store/testing/mariadb_server.h"

namespace takt::internal {
namespace {

using Clock = std::chrono::steady_clock;

// Of this process, and of the server.
double CpuSeconds() {
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}
double CpuSeconds(pid_t pid) {
    std::ifstream file(fmt::format("/proc/{}/stat", pid));
    std::string text{std::istreambuf_iterator<char>(file), {}};
    std::istringstream fields(text.substr(text.rfind(')') + 2));
    std::string skipped;
    for (int i = 3; i < 14; ++i) fields >> skipped;
    double user = 0;
    double system = 0;
    fields >> user >> system;
    return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

struct Rate {
    double per_second;
    double client_us;  // Of processor, for one lifecycle.
    double server_us;
};

class Meter {
  public:
    explicit Meter(pid_t server) : server_(server) {}
    double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }
    Rate Of(std::size_t changes) const {
        const double lives = static_cast<double>(changes) / 3;
        return {lives / seconds(), (CpuSeconds() - client_cpu_) * 1e6 / lives,
                (CpuSeconds(server_) - server_cpu_) * 1e6 / lives};
    }

  private:
    const pid_t server_;
    const Clock::time_point begin_ = Clock::now();
    const double client_cpu_ = CpuSeconds();
    const double server_cpu_ = CpuSeconds(server_);
};

MysqlOptions Options(MariadbServer& server, const std::string& database) {
    mysql::Connection root({.socket = server.socket(), .user = "root", .database = "mysql"});
    root.Run(fmt::format("DROP DATABASE IF EXISTS {0};CREATE DATABASE {0}", database));
    return {.port = server.port(),
            .user = MariadbServer::kUser,
            .password = MariadbServer::kPassword,
            .database = database};
}

Rate BenchStore(MariadbServer& server, std::size_t batch, double seconds) {
    auto opened = OpenMysql(Options(server, "takt_test_store"));
    TAKT_CHECK(opened.has_value());
    StoreWriter writer(**opened);
    writer.Prepare(batch);
    const Meter meter(server.process().pid());
    std::size_t changes = 0;
    for (; meter.seconds() < seconds; changes += batch) writer.CommitNext(batch);
    return meter.Of(changes);
}

// Rows of 359 bytes, live and history apart, two indexes on the history: the fastest measured
// shape, as one packet without any check.
Rate BenchRaw(MariadbServer& server, std::size_t batch, double seconds) {
    mysql::Connection connection(Options(server, "takt_test_raw"));
    connection.Run(
        "CREATE TABLE live (serial BIGINT PRIMARY KEY, status INT, record BLOB) ENGINE = InnoDB;"
        "CREATE TABLE history (serial BIGINT PRIMARY KEY, status INT, task VARCHAR(64), record "
        "BLOB,"
        "KEY (status), KEY (task)) ENGINE = InnoDB");
    const std::string record(359, 'x');
    const Meter meter(server.process().pid());
    std::size_t changes = 0;
    std::vector<std::string> inserts, updates, deletes, finishes;
    const auto add = [](std::string& packet, std::string_view head, std::vector<std::string>& rows,
                        std::string_view tail) {
        if (rows.empty()) return;
        packet += fmt::format("{}{}{};", head, fmt::join(rows, ","), tail);
        rows.clear();
    };
    while (meter.seconds() < seconds) {
        for (std::size_t i = 0; i < batch; ++i, ++changes) {
            const std::size_t serial = changes / 3;
            switch (changes % 3) {
                case 0:
                    inserts.push_back(fmt::format("({},0,'{}')", serial, record));
                    break;
                case 1:
                    updates.push_back(fmt::format("({},1)", serial));
                    break;
                default:
                    deletes.push_back(std::to_string(serial));
                    finishes.push_back(
                        fmt::format("({0},4,'{1}','{2}')", serial, SerialText(serial), record));
            }
        }
        std::string packet = "START TRANSACTION;";
        add(packet, "INSERT INTO live VALUES ", inserts, "");
        add(packet, "INSERT INTO live (serial, status) VALUES ", updates,
            " ON DUPLICATE KEY UPDATE status = VALUES(status)");
        add(packet, "DELETE FROM live WHERE serial IN (", deletes, ")");
        add(packet, "INSERT INTO history VALUES ", finishes, "");
        connection.Run(packet + "COMMIT");
    }
    return meter.Of(changes);
}

void BenchLoad(MariadbServer& server, std::size_t rows) {
    auto opened = OpenMysql(Options(server, "takt_test_store"));
    TAKT_CHECK(opened.has_value());
    Store& store = **opened;
    StoreWriter writer(store);
    const Meter inserting(server.process().pid());
    for (std::size_t i = 0; i < rows / 2000; ++i) writer.Insert(2000);
    fmt::print("insert of {} live rows: {:.2f} s\n", rows, inserting.seconds());
    const Meter loading(server.process().pid());
    std::string cursor;
    std::size_t loaded = 0;
    do {
        LoadPage page =
            Await<LoadPage>([&](Done<LoadPage> done) { store.Load(0, cursor, std::move(done)); });
        cursor = page.next;
        loaded += page.executions.size();
    } while (!cursor.empty());
    fmt::print("load of {} live rows: {:.2f} s\n", loaded, loading.seconds());
}

}  // namespace
}  // namespace takt::internal

int main(int count, char** arguments) {
    const double seconds = count > 1 ? std::atof(arguments[1]) : 5;
    auto server = takt::internal::MariadbServer::Start(
        {"--innodb-buffer-pool-size=1G", "--innodb-log-file-size=512M"});
    if (!server) {
        fmt::print(stderr, "mysql_bench: {}\n", server.error().detail);
        return 1;
    }
    fmt::print(
        "lifecycles/s (µs of processor for each: client + server)\n{:>6} {:>22} {:>22} {:>8}\n",
        "batch", "store", "by hand", "of it");
    for (const std::size_t batch : {1, 16, 128, 1000}) {
        const takt::internal::Rate raw = takt::internal::BenchRaw(**server, batch, seconds);
        const takt::internal::Rate store = takt::internal::BenchStore(**server, batch, seconds);
        fmt::print("{:>6}", batch);
        for (const takt::internal::Rate& rate : {store, raw}) {
            fmt::print(" {:>9.0f} ({:>4.0f} + {:>4.0f})", rate.per_second, rate.client_us,
                       rate.server_us);
        }
        fmt::print(" {:>7.0f}%\n", 100 * store.per_second / raw.per_second);
    }
    takt::internal::BenchLoad(**server, 200'000);
}
