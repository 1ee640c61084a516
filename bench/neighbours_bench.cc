// How much a namespace notices of another one: the time of its commits at 100 lifecycles a second,
// alone and beside one that commits as fast as the store lets it.
//
//   neighbours_bench [SECONDS] [redis|etcd|mysql|embedded …]
//
// Ratios count: the rest of the machine is in both columns.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bench/lifecycles.h"
#include "store/lead.h"
#include "store/mysql/connection.h"
#include "store/open.h"
#include "store/testing/etcd_server.h"
#include "store/testing/mariadb_server.h"
#include "store/testing/redis_server.h"

namespace takt::internal {
namespace {

constexpr Partition kQuiet = 1;
constexpr Partition kFlood = 2;
constexpr std::chrono::milliseconds kPause{10};

// One partition of a store, and its leader.
class Neighbour {
  public:
    Neighbour(Store& store, Partition partition) : store_(store) {
        const Result<Term> term = TakeLead(store, {.node = {.node = NodeId("bench")},
                                                   .ttl = Duration(3'600'000),
                                                   .partition = partition});
        if (!term) throw std::runtime_error(term.error().detail);
        term_ = *term;
    }
    // REQUIRES: it is called by one thread.
    void Commit(std::vector<Change> changes, std::function<void()> done) {
        const auto batch = std::make_shared<const Batch>(
            Batch{term_, ++sequence_, lives_.last_serial(), std::move(changes)});
        store_.Commit(batch, [done = std::move(done)](Result<void> result) {
            if (!result) {
                fmt::print(stderr, "the store failed: {}\n", result.error().detail);
                std::exit(1);
            }
            done();
        });
    }
    std::vector<Change> Next(std::size_t count) {
        std::vector<Change> changes;
        for (std::size_t i = 0; i < count; ++i) changes.push_back(lives_.Next());
        return changes;
    }
    Lifecycles& lives() { return lives_; }

  private:
    Store& store_;
    Term term_;
    Lifecycles lives_;
    std::uint64_t sequence_ = 0;
};

// Commits full batches, as many under way as the store allows, until it is stopped.
class Flood {
  public:
    explicit Flood(Store& store) : limits_(store.limits()), neighbour_(store, kFlood) {
        // So much ahead that no batch has two changes of one row.
        for (std::size_t left = 2 * limits_.changes_max; left > 0;) {
            const std::size_t part = std::min(left, limits_.changes_max);
            Wait([&](auto done) { neighbour_.Commit(neighbour_.lives().Ahead(part), done); });
            left -= part;
        }
        Wait([&](auto done) {
            neighbour_.Commit(neighbour_.lives().StartAhead(limits_.changes_max), done);
        });
        thread_ = std::thread([this] { Run(); });
    }
    ~Flood() {
        stop_ = true;
        thread_.join();
    }
    std::size_t changes() const { return changes_; }

  private:
    template <typename Begin>
    void Wait(Begin begin) {
        std::promise<void> done;
        begin([&] { done.set_value(); });
        done.get_future().wait();
    }
    void Run() {
        std::unique_lock lock(mutex_);
        while (!stop_) {
            changed_.wait(lock, [&] { return under_way_ < limits_.pipeline_max; });
            ++under_way_;
            lock.unlock();
            neighbour_.Commit(neighbour_.Next(limits_.changes_max), [this] {
                const std::lock_guard guard(mutex_);
                --under_way_;
                changes_ += limits_.changes_max;
                changed_.notify_one();
            });
            lock.lock();
        }
        changed_.wait(lock, [&] { return under_way_ == 0; });
    }

    const StoreLimits limits_;
    Neighbour neighbour_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t under_way_ = 0;
    std::atomic<bool> stop_ = false;
    std::atomic<std::size_t> changes_ = 0;
    std::thread thread_;
};

struct Times {
    double p50_ms = 0;
    double p99_ms = 0;
};

// One lifecycle each 10 ms, timed from when it was due. As a node does it, what comes while the
// pipeline is full goes together into the next commit.
Times Measure(Neighbour& quiet, double seconds, std::size_t pipeline_max) {
    const auto count =
        static_cast<std::size_t>(seconds * 1000 / static_cast<double>(kPause.count()));
    std::mutex mutex;
    std::condition_variable changed;
    std::size_t under_way = 0;
    std::vector<double> times;
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t next = 0; next < count;) {
        std::this_thread::sleep_until(begin + next * kPause);
        {
            std::unique_lock lock(mutex);
            changed.wait(lock, [&] { return under_way < pipeline_max; });
            ++under_way;
        }
        const std::size_t first = next++;
        while (next < std::min(count, first + 16) &&
               begin + next * kPause <= std::chrono::steady_clock::now()) {
            ++next;
        }
        quiet.Commit(quiet.Next(3 * (next - first)), [&, first, next] {
            const auto now = std::chrono::steady_clock::now();
            const std::lock_guard lock(mutex);
            for (std::size_t i = first; i < next; ++i) {
                times.push_back(
                    std::chrono::duration<double, std::milli>(now - begin - i * kPause).count());
            }
            --under_way;
            changed.notify_one();
        });
    }
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return under_way == 0; });
    std::ranges::sort(times);
    return {times[count / 2], times[count * 99 / 100]};
}

void Run(const std::string& name, const std::string& url, double seconds) {
    auto store = OpenStore(url);
    if (!store) throw std::runtime_error(store.error().detail);
    Neighbour quiet(**store, kQuiet);
    const auto ahead = [&](std::vector<Change> changes) {
        std::promise<void> done;
        quiet.Commit(std::move(changes), [&] { done.set_value(); });
        done.get_future().wait();
    };
    // So much ahead that no batch has two changes of one row.
    ahead(quiet.lives().Ahead(60));
    ahead(quiet.lives().StartAhead(30));
    const std::size_t pipeline_max = (*store)->limits().pipeline_max;
    Measure(quiet, 1, pipeline_max);  // Warm.
    const Times alone = Measure(quiet, seconds, pipeline_max);
    Flood flood(**store);
    Measure(quiet, 1, pipeline_max);
    const std::size_t before = flood.changes();
    const auto began = std::chrono::steady_clock::now();
    const Times beside = Measure(quiet, seconds, pipeline_max);
    const double took =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    const double rate = static_cast<double>(flood.changes() - before) / 3 / took;
    fmt::print("{:>10} {:>10.1f} {:>10.1f} {:>12.1f} {:>12.1f} {:>8.1f} {:>14.0f}\n", name,
               alone.p50_ms, alone.p99_ms, beside.p50_ms, beside.p99_ms,
               beside.p99_ms / alone.p99_ms, rate);
}

template <typename Server>
std::unique_ptr<Server> Started(Result<std::unique_ptr<Server>> server) {
    if (!server) throw std::runtime_error(server.error().detail);
    return std::move(*server);
}

void RunMysql(const std::string& name, double seconds) {
    const auto server = Started(MariadbServer::Start());
    mysql::Connection root({.socket = server->socket(), .user = "root", .database = "mysql"});
    root.Run("CREATE DATABASE takt_test");
    Run(name,
        fmt::format("mysql://{}:p%40ss%3Aword%2F%3F@127.0.0.1:{}/takt_test", MariadbServer::kUser,
                    server->port()),
        seconds);
}

void RunStore(const std::string& name, double seconds) {
    if (name == "redis") {
        const auto server = Started(RedisServer::Start());
        return Run(name, server->url(), seconds);
    }
    if (name == "etcd") {
        const auto server = Started(EtcdServer::Start({}));
        return Run(name, server->url(), seconds);
    }
    if (name == "mysql") return RunMysql(name, seconds);
    if (name != "embedded") throw std::runtime_error("there is no store " + name);
    const auto folder =
        std::filesystem::temp_directory_path() / fmt::format("takt-neighbours-{}", getpid());
    Run(name, "file:" + folder.string(), seconds);
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace takt::internal

int main(int argc, char** argv) {
    const double seconds = argc > 1 && std::atof(argv[1]) > 0 ? std::atof(argv[1]) : 10;
    std::vector<std::string> names(argv + std::min(argc, 2), argv + argc);
    if (names.empty()) names = {"embedded", "redis", "etcd", "mysql"};
    fmt::print("a commit at 100/s, ms                    beside one that floods\n");
    fmt::print("{:>10} {:>10} {:>10} {:>12} {:>12} {:>8} {:>14}\n", "store", "p50 alone",
               "p99 alone", "p50", "p99", "ratio", "its lives/s");
    try {
        for (const std::string& name : names) takt::internal::RunStore(name, seconds);
    } catch (const std::exception& error) {
        fmt::print(stderr, "neighbours_bench: {}\n", error.what());
        return 1;
    }
    return 0;
}
