// How fast the embedded store is, beside what its parts can do on the same disk in the same run:
// the tables by hand in SQLite, and appending to a file with fdatasync.
//
//   store_bench [directory] [seconds per cell] [one batch size only]
//
// A lifecycle is insert, update, finish. A batch of N carries N changes, one commit at a time, so
// lifecycles/s = N × commits/s / 3.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "base/check.h"
#include "bench/store_writer.h"
#include "store/embedded/sqlite.h"
#include "store/embedded/store.h"

namespace takt::internal {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Of the whole process. On a machine that others use too it says more than the time that passed.
double CpuSeconds() {
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

struct Rate {
    double per_second;
    double cpu_us;  // Of one lifecycle.
};

class Meter {
  public:
    double seconds() const { return SecondsSince(begin_); }
    Rate Of(std::size_t changes) const {
        const double lives = static_cast<double>(changes) / 3;
        return {lives / seconds(), (CpuSeconds() - cpu_) * 1e6 / lives};
    }
    void Print(std::string_view what) const {
        fmt::print("{}: {:.2f} s, {:.2f} s of processor\n", what, seconds(), CpuSeconds() - cpu_);
    }

  private:
    const Clock::time_point begin_ = Clock::now();
    const double cpu_ = CpuSeconds();
};

Rate BenchStore(const std::string& directory, std::size_t batch, double seconds) {
    std::filesystem::remove_all(directory);
    auto opened = OpenEmbedded({.directory = directory});
    TAKT_CHECK(opened.has_value());
    StoreWriter writer(**opened);
    writer.Prepare(batch);
    const Meter meter;
    std::size_t changes = 0;
    for (; meter.seconds() < seconds; changes += batch) writer.CommitNext(batch);
    return meter.Of(changes);
}

// The same rows by hand: 359 bytes each, live and history apart, two indexes on the history.
Rate BenchSqlite(const std::string& directory, std::size_t batch, double seconds) {
    std::filesystem::remove_all(directory);
    std::filesystem::create_directories(directory);
    embedded::Connection connection(directory + "/raw.db",
                                    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "");
    for (const char* sql :
         {"PRAGMA page_size = 8192", "PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL",
          "PRAGMA cache_size = -65536", "PRAGMA wal_autocheckpoint = 8000",
          "CREATE TABLE live (serial INTEGER PRIMARY KEY, status INTEGER, record BLOB)",
          "CREATE TABLE history (serial INTEGER PRIMARY KEY, status INT, task TEXT, record BLOB)",
          "CREATE INDEX history_status ON history (status)",
          "CREATE INDEX history_task ON history (task)"}) {
        connection.Run(sql);
    }
    embedded::Statement insert = connection.Prepare("INSERT INTO live VALUES (?, 0, ?)");
    embedded::Statement update = connection.Prepare("UPDATE live SET status = 1 WHERE serial = ?");
    embedded::Statement remove = connection.Prepare("DELETE FROM live WHERE serial = ?");
    embedded::Statement finish = connection.Prepare("INSERT INTO history VALUES (?, 4, ?, ?)");
    const std::string record(359, 'x');
    const Meter meter;
    std::int64_t changes = 0;
    while (meter.seconds() < seconds) {
        connection.Run("BEGIN IMMEDIATE");
        for (std::size_t i = 0; i < batch; ++i, ++changes) {
            const std::int64_t serial = changes / 3;
            switch (changes % 3) {
                case 0:
                    insert.Int(serial);
                    insert.Blob(record);
                    insert.Run();
                    break;
                case 1:
                    update.Int(serial);
                    update.Run();
                    break;
                default:
                    remove.Int(serial);
                    remove.Run();
                    finish.Int(serial);
                    finish.Text(finish.Keep(SerialText(static_cast<Serial>(serial))));
                    finish.Blob(record);
                    finish.Run();
            }
        }
        connection.Run("COMMIT");
    }
    return meter.Of(static_cast<std::size_t>(changes));
}

// The ceiling of the disk: 359 bytes for an insert, 24 for each other change.
Rate BenchAppend(const std::string& directory, std::size_t batch, double seconds) {
    std::filesystem::create_directories(directory);
    const int file = open((directory + "/raw.log").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    TAKT_CHECK(file >= 0);
    const Meter meter;
    std::size_t changes = 0;
    std::string bytes;
    while (meter.seconds() < seconds) {
        bytes.clear();
        for (std::size_t i = 0; i < batch; ++i, ++changes) {
            bytes.append(changes % 3 == 0 ? 359 : 24, 'x');
        }
        TAKT_CHECK(write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
        TAKT_CHECK(fdatasync(file) == 0);
    }
    close(file);
    return meter.Of(static_cast<std::size_t>(changes));
}

void BenchLoad(const std::string& directory, std::size_t rows) {
    std::filesystem::remove_all(directory);
    auto opened = OpenEmbedded({.directory = directory});
    TAKT_CHECK(opened.has_value());
    Store& store = **opened;
    StoreWriter writer(store);
    const Meter inserting;
    for (std::size_t i = 0; i < rows / 4000; ++i) writer.Insert(4000);
    inserting.Print(fmt::format("insert of {} live rows", rows));
    const Meter loading;
    std::string cursor;
    std::vector<Execution> all;
    all.reserve(rows);
    do {
        LoadPage page =
            Await<LoadPage>([&](Done<LoadPage> done) { store.Load(0, cursor, std::move(done)); });
        cursor = page.next;
        std::ranges::move(page.executions, std::back_inserter(all));
    } while (!cursor.empty());
    loading.Print(fmt::format("load of {} live rows", all.size()));
}

}  // namespace
}  // namespace takt::internal

int main(int count, char** arguments) {
    const std::string root = count > 1 ? arguments[1] : "store-bench-data";
    const double seconds = count > 2 ? std::atof(arguments[2]) : 3;
    fmt::print(
        "lifecycles/s (and µs of processor for each)\n{:>6} {:>17} {:>17} {:>17} {:>10} {:>10}\n",
        "batch", "store", "raw SQLite", "raw append", "of SQLite", "of append");
    std::vector<std::size_t> batches = {1, 16, 128, 1000};
    if (count > 3) batches = {static_cast<std::size_t>(std::max(1, std::atoi(arguments[3])))};
    for (const std::size_t batch : batches) {
        const takt::internal::Rate append = takt::internal::BenchAppend(root, batch, seconds);
        const takt::internal::Rate sqlite =
            takt::internal::BenchSqlite(root + "/raw", batch, seconds);
        const takt::internal::Rate store =
            takt::internal::BenchStore(root + "/store", batch, seconds);
        fmt::print("{:>6}", batch);
        for (const takt::internal::Rate& rate : {store, sqlite, append}) {
            fmt::print(" {:>9.0f} ({:>5.1f})", rate.per_second, rate.cpu_us);
        }
        fmt::print(" {:>9.0f}% {:>9.0f}%\n", 100 * store.per_second / sqlite.per_second,
                   100 * store.per_second / append.per_second);
    }
    takt::internal::BenchLoad(root + "/store", 1'000'000);
    std::filesystem::remove_all(root);
}
