// How fast the etcd store is, beside raw transactions of as many puts against the same etcd in the
// same run.
//
//   etcd_bench [seconds per cell] [etcd://…]
//
// Without a URL it starts an etcd of its own, with default settings. A lifecycle is three changes
// (insert, assign, finish), or two when a submit meets an idle worker and insert and assignment are
// one. A batch of N carries N changes; `depth` commits are under way at once.
#include <fmt/core.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <future>
#include <mutex>

#include "base/log.h"
#include "store/etcd/client.h"
#include "store/etcd/limits.h"
#include "store/etcd/ops.h"
#include "store/etcd/store.h"
#include "store/lead.h"
#include "store/testing/server_process.h"

namespace takt::internal {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

[[noreturn]] void Die(const Error& error) {
    fmt::print(stderr, "etcd_bench: {}\n", error.detail);
    std::exit(1);
}

template <typename T>
T Take(Result<T> result) {
    if (!result) Die(result.error());
    return std::move(*result);
}

// Lets at most `depth` be under way.
class Gate {
  public:
    explicit Gate(std::size_t depth) : free_(depth), depth_(depth) {}
    void Enter() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return free_ > 0; });
        --free_;
    }
    void Leave() {
        const std::lock_guard lock(mutex_);
        ++free_;
        changed_.notify_all();
    }
    void AwaitAll() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return free_ == depth_; });
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t free_;
    const std::size_t depth_;
};

// Executions on their way: each is inserted, perhaps assigned, and finished, some batches apart.
class Lifecycles {
  public:
    Lifecycles(SerialSource& serials, std::size_t steps) : serials_(serials), steps_(steps) {}

    Change Next() {
        const std::size_t step = count_++ % steps_;
        if (step == 0) {
            waiting_.push_back(Make());
            return ExecutionChange{Place::kNone, Place::kLive, waiting_.back()};
        }
        if (step + 1 < steps_) {
            Execution row = std::move(waiting_.front());
            waiting_.pop_front();
            running_.push_back(Assign(std::move(row)));
            return ExecutionChange{Place::kLive, Place::kLive, running_.back()};
        }
        auto& from = steps_ == 2 ? waiting_ : running_;
        Execution row = std::move(from.front());
        from.pop_front();
        row.status = Status::kSuccess;
        row.finished_at = row.created_at + Duration(12);
        boost::intrusive_ptr<Outcome> outcome(new Outcome);
        outcome->data = R"({"sent": true})";
        row.outcome = outcome;
        return ExecutionChange{Place::kLive, Place::kHistory, row};
    }

  private:
    static Execution Assign(Execution row) {
        row.status = Status::kScheduled;
        row.attempt = 1;
        row.epoch = 1;
        for (std::size_t i = 0; i < row.token.size(); ++i) row.token[i] = std::uint8_t(i * 17 + 1);
        row.worker = WorkerId("worker-17");
        return row;
    }
    Execution Make() {
        Execution row;
        row.created_at = ReadClocks().wall;
        row.serial = serials_.Next(row.created_at);
        row.id = ExecutionId(Text(SerialText(row.serial)));
        boost::intrusive_ptr<Task> task(new Task);
        task->id = TaskId(row.id.text());
        task->name = "welcome mail";
        task->type = "mail.send";
        task->queue = "default";
        task->payload = Text(fmt::format(
            R"({{"to": "user{}@example.org", "template": "welcome", "vars": {{"n": {}, "k": "{:x}"}}}})",
            row.serial, row.serial * 7, row.serial * 0x9e3779b97f4a7c15u));
        row.task = task;
        return steps_ == 2 ? Assign(row) : row;
    }

    SerialSource& serials_;
    const std::size_t steps_;
    std::size_t count_ = 0;
    std::deque<Execution> waiting_;
    std::deque<Execution> running_;
};

struct Cell {
    std::size_t changes;  // Of one batch.
    std::size_t depth;
    std::size_t steps;  // Changes of one lifecycle.
};

class StoreBench {
  public:
    explicit StoreBench(Store& store) : store_(store) {
        term_ = Take(TakeLead(store_, {.node = {.node = NodeId("bench"), .address = "http://bench"},
                                       .ttl = Duration(600'000)}));
    }

    // How long it takes to list what a filter leaves nothing of.
    double SecondsToListNothing() {
        std::promise<Result<std::vector<Execution>>> answer;
        const auto begin = Clock::now();
        store_.ListExecutions({.type = Text("no such type")},
                              [&](auto rows) { answer.set_value(std::move(rows)); });
        Take(answer.get_future().get());
        return SecondsSince(begin);
    }
    std::size_t finished() const { return finished_; }

    double LivesPerSecond(const Cell& cell, double seconds) {
        Lifecycles lives(serials_, cell.steps);
        Gate gate(cell.depth);
        std::size_t changes = 0;
        const auto begin = Clock::now();
        while (SecondsSince(begin) < seconds) {
            auto batch = std::make_shared<Batch>();
            for (std::size_t i = 0; i < cell.changes; ++i) batch->changes.push_back(lives.Next());
            batch->term = term_;
            batch->sequence = ++sequence_;
            batch->last_serial = serials_.last();
            changes += cell.changes;
            gate.Enter();
            store_.Commit(std::move(batch), [&gate](Result<void> done) {
                if (!done) Die(done.error());
                gate.Leave();
            });
        }
        gate.AwaitAll();
        finished_ += changes / cell.steps;
        return static_cast<double>(changes) / static_cast<double>(cell.steps) / SecondsSince(begin);
    }

  private:
    Store& store_;
    Term term_;
    std::uint64_t sequence_ = 0;
    std::size_t finished_ = 0;
    SerialSource serials_{0, 0};
};

etcd::Detached RawTxn(etcd::Client& client, etcd::pb::TxnRequest request, Gate& gate) {
    const auto done = co_await client.Txn(std::move(request), etcd::Effect::kRepeatable);
    if (!done) Die(done.error());
    gate.Leave();
}

// Transactions of one compare and so many puts of 300 bytes, each to a key of its own.
double RawPutsPerSecond(etcd::Client& client, std::size_t puts, std::size_t depth, double seconds) {
    Gate gate(depth);
    std::size_t count = 0;
    const std::string value(300, 'x');
    const auto begin = Clock::now();
    while (SecondsSince(begin) < seconds) {
        etcd::pb::TxnRequest request;
        *request.add_compare() = etcd::CreatedAt("/raw/leader", 0);
        for (std::size_t i = 0; i < puts; ++i) {
            auto& put = *request.add_success()->mutable_request_put();
            put.set_key("/raw/" + etcd::Hex(count++ % 100'000));
            put.set_value(value);
        }
        gate.Enter();
        RawTxn(client, std::move(request), gate);
    }
    gate.AwaitAll();
    return static_cast<double>(count) / SecondsSince(begin);
}

void RunAll(const EtcdOptions& options, double seconds) {
    const std::unique_ptr<Store> store = Take(OpenEtcd(options));
    etcd::Client client(options, Take(etcd::ReadSecurity(options)));
    StoreBench bench(*store);
    fmt::print("changes  depth | lifecycles/s of 3   of 2 | raw puts/s  raw as lifecycles of 3\n");
    for (const std::size_t changes : {1u, 16u, 63u, 120u}) {
        for (const std::size_t depth : {std::size_t{1}, etcd::kPipelineMax}) {
            const double three = bench.LivesPerSecond({changes, depth, 3}, seconds);
            const double two = bench.LivesPerSecond({changes, depth, 2}, seconds);
            const double raw = RawPutsPerSecond(client, changes, depth, seconds);
            fmt::print("{:7} {:6} | {:17.0f} {:6.0f} | {:10.0f} {:10.0f}\n", changes, depth, three,
                       two, raw, raw / 3);
        }
    }
    const double list = bench.SecondsToListNothing();
    fmt::print("walking {} pointers for a filter that leaves nothing: {:.2f} s\n", bench.finished(),
               list);
}

}  // namespace
}  // namespace takt::internal

int main(int argc, char** argv) {
    using namespace takt::internal;
    const double seconds = argc > 1 ? std::atof(argv[1]) : 3;
    if (argc > 2) {
        RunAll(Take(ParseEtcdUrl(argv[2])), seconds);
        return 0;
    }
    const TempDirectory directory;
    const std::uint16_t port = FreePort();
    const std::string url = "http://127.0.0.1:" + std::to_string(port);
    const std::string peer = "http://127.0.0.1:" + std::to_string(FreePort());
    const auto server = Take(ServerProcess::Start(
        {.command = {"etcd", "--data-dir", directory.File("data"), "--listen-client-urls", url,
                     "--advertise-client-urls", url, "--listen-peer-urls", peer,
                     "--initial-advertise-peer-urls", peer, "--initial-cluster", "default=" + peer},
         .directory = directory.path(),
         .ready = [port] { return Accepts(port); }}));
    RunAll(Take(ParseEtcdUrl("etcd://127.0.0.1:" + std::to_string(port))), seconds);
    return 0;
}
