// How fast executions live through Redis: lifecycles per second (inserted, running, succeeded:
// three changes each) through the store, and for the same commands sent plainly, in the same run.
//
//   redis_bench [SECONDS_PER_CELL] [everysec|always|no] [events]
//
// With `events`, the store (not the plain commands) also writes and publishes one for each change.
#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "store/lead.h"
#include "store/redis/batch_commands.h"
#include "store/redis/store.h"
#include "store/testing/redis_server.h"

namespace takt::internal {
namespace {

constexpr std::size_t kChangesPerLife = 3;

// Batches of lives that overlap: each batch inserts, starts and finishes a third each.
class Lives {
  public:
    explicit Lives(Serial first) : serial_(first) {}

    std::vector<Change> Next(std::size_t count) {
        std::vector<Change> changes;
        while (changes.size() < count) {
            if (step_ == 0) {
                row_ = Make();
                changes.push_back(ExecutionChange{Place::kNone, Place::kLive, row_});
            } else if (step_ == 1) {
                row_.status = Status::kRunning;
                row_.attempt = 1;
                row_.epoch = 1;
                row_.token.fill(7);
                row_.worker = WorkerId("worker-1");
                row_.started_at = row_.created_at + Duration(5);
                row_.ready_at = row_.created_at;
                changes.push_back(ExecutionChange{Place::kLive, Place::kLive, row_});
            } else {
                row_.status = Status::kSuccess;
                row_.finished_at = row_.created_at + Duration(9);
                changes.push_back(ExecutionChange{Place::kLive, Place::kHistory, row_});
            }
            step_ = (step_ + 1) % static_cast<int>(kChangesPerLife);
        }
        return changes;
    }
    Serial last() const { return serial_; }

  private:
    Execution Make() {
        boost::intrusive_ptr<Task> task(new Task);
        const std::string id = SerialText(++serial_);
        task->id = TaskId(Text(id));
        task->name = "send the monthly report";
        task->type = "mail";
        task->queue = "default";
        task->payload = Text(std::string(200, 'p'));
        task->created_at = task->updated_at = TimeOf(serial_);
        Execution row;
        row.serial = serial_;
        row.id = ExecutionId(task->id.text());
        row.created_at = row.scheduled_at = row.ready_at = task->created_at;
        row.task = std::move(task);
        return row;
    }

    Serial serial_;
    int step_ = 0;
    Execution row_;
};

void AddEvents(std::vector<Change>& changes, Serial& serial) {
    const std::size_t count = changes.size();
    for (std::size_t i = 0; i < count; ++i) {
        const Execution& row = std::get<ExecutionChange>(changes[i]).row;
        Event event{.serial = ++serial, .type = EventType::kTaskStarted, .at = TimeOf(serial)};
        event.execution = row.id;
        event.task = row.task->id;
        event.worker = row.worker;
        event.attempt = row.attempt;
        changes.push_back(EventAppend{event});
    }
}

// Processor time of the server in microseconds. Where others use the machine too, it says more than
// the time that passed.
double ServerMicroseconds(pid_t pid) {
    std::ifstream in(fmt::format("/proc/{}/stat", pid));
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    std::istringstream fields(text.substr(text.rfind(')') + 2));
    std::string skipped;
    for (int i = 0; i < 11; ++i) fields >> skipped;
    double user = 0, system = 0;
    fields >> user >> system;
    return (user + system) * 1e6 / static_cast<double>(sysconf(_SC_CLK_TCK));
}

struct Rate {
    double per_second;
    double server_us;  // Of one lifecycle.
};

// Keeps `depth` sends of `lives` lifecycles each under way for `seconds`.
Rate Measure(pid_t server, double seconds, std::size_t depth, double lives,
             const std::function<void(std::function<void(bool)>)>& send) {
    std::mutex mutex;
    std::condition_variable changed;
    std::size_t under_way = 0, done = 0;
    const auto begin = std::chrono::steady_clock::now();
    const double server_begin = ServerMicroseconds(server);
    const auto elapsed = [&] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    };
    std::unique_lock lock(mutex);
    while (elapsed() < seconds) {
        changed.wait(lock, [&] { return under_way < depth; });
        ++under_way;
        lock.unlock();
        send([&](bool good) {
            if (!good) std::abort();
            const std::lock_guard guard(mutex);
            --under_way;
            ++done;
            changed.notify_one();
        });
        lock.lock();
    }
    changed.wait(lock, [&] { return under_way == 0; });
    lives *= static_cast<double>(done);
    return {lives / elapsed(), (ServerMicroseconds(server) - server_begin) / lives};
}

std::vector<std::string_view> Split(std::string_view bytes) {
    std::vector<std::string_view> arguments;
    while (!bytes.empty()) {
        std::size_t length = 0;
        const std::size_t end = bytes.find("\r\n");
        std::from_chars(bytes.data() + 1, bytes.data() + end, length);
        arguments.push_back(bytes.substr(end + 2, length));
        bytes.remove_prefix(end + 2 + length + 2);
    }
    return arguments;
}

// The commands inside a commit, without the script around them.
redis::Call Plain(const redis::Call& commit) {
    const auto keys = Split(commit.keys.bytes());
    const auto args = Split(commit.args.bytes());
    redis::Call call{.lane = redis::Lane::kCommit, .repeatable = false};
    call.replies = 0;
    std::size_t key = 1;
    for (std::size_t i = 5; i < args.size();) {  // After the fence's arguments.
        std::size_t count = 0;
        std::from_chars(args[i + 1].data(), args[i + 1].data() + args[i + 1].size(), count);
        redis::RespWriter command;
        if (args[i] == "rows") {
            command.Begin(1 + 2 * count);
            command.Arg("MSET");
            for (std::size_t j = 0; j < count; ++j) command.Arg(keys[key++]).Arg(args[i + 2 + j]);
        } else {
            command.Begin(count + 2);
            command.Arg(args[i]).Arg(keys[key++]);
            for (std::size_t j = 0; j < count; ++j) command.Arg(args[i + 2 + j]);
        }
        call.commands += command.bytes();
        ++call.replies;
        i += count + 2;
    }
    return call;
}

void Run(double seconds, const std::string& sync, bool events) {
    auto server = RedisServer::Start({"--appendfsync", sync});
    if (!server) throw std::runtime_error(server.error().detail);
    auto store = OpenRedis(*redis::ParseRedisUrl((*server)->url()));
    auto options = redis::ParseRedisUrl((*server)->url());
    auto client = redis::Client::Make(*options);
    if (!store || !client) throw std::runtime_error("cannot open the store");
    const Term term =
        *TakeLead(**store, {.node = {.node = NodeId("bench")}, .ttl = Duration(3'600'000)});
    const redis::PartitionKeys keys("takt", 0);
    const redis::PartitionKeys raw_keys("raw", 0);

    fmt::print("appendfsync {}, {} s per cell, lifecycles/s\n", sync, seconds);
    fmt::print("{:>6} {:>6} {:>9} {:>11} {:>9} {:>11} {:>9}\n", "batch", "depth", "raw",
               "server us", "store", "server us", "fraction");
    const pid_t pid = (*server)->process().pid();
    std::uint64_t sequence = 0;
    Serial event_serial = SerialAt(ReadClocks().wall);
    Lives lives(SerialAt(ReadClocks().wall));
    Lives raw_lives(SerialAt(ReadClocks().wall));
    for (const std::size_t depth : {std::size_t{1}, (*store)->limits().pipeline_max}) {
        for (const std::size_t size : {1, 16, 128, 1000}) {
            const double lives_of_batch = static_cast<double>(size) / kChangesPerLife;
            const Rate raw =
                Measure(pid, seconds, depth, lives_of_batch, [&](std::function<void(bool)> end) {
                    const Batch batch{term, 1, raw_lives.last(), raw_lives.Next(size)};
                    auto call = std::make_shared<redis::Call>(
                        Plain(redis::MakeCommit(batch, raw_keys, *options)));
                    (*client)->Post([&, call, end] {
                        (*client)->Send(std::move(*call),
                                        [end](Result<redis::Replies> r) { end(r.has_value()); });
                    });
                });
            const Rate through =
                Measure(pid, seconds, depth, lives_of_batch, [&](std::function<void(bool)> end) {
                    auto batch = std::make_shared<Batch>();
                    batch->term = term;
                    batch->sequence = ++sequence;
                    batch->changes = lives.Next(size);
                    if (events) AddEvents(batch->changes, event_serial);
                    batch->last_serial = lives.last();
                    (*store)->Commit(batch, [end](Result<void> done) { end(done.has_value()); });
                });
            fmt::print("{:>6} {:>6} {:>9.0f} {:>11.1f} {:>9.0f} {:>11.1f} {:>9.2f}\n", size, depth,
                       raw.per_second, raw.server_us, through.per_second, through.server_us,
                       through.per_second / raw.per_second);
        }
    }
}

}  // namespace
}  // namespace takt::internal

int main(int argc, char** argv) {
    const double seconds = argc > 1 ? std::atof(argv[1]) : 2.0;
    try {
        takt::internal::Run(seconds > 0 ? seconds : 2.0, argc > 2 ? argv[2] : "everysec", argc > 3);
    } catch (const std::exception& error) {
        fmt::print(stderr, "redis_bench: {}\n", error.what());
        return 1;
    }
    return 0;
}
