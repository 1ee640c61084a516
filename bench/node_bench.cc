// How fast a node is on the embedded store: submit → assign → success, all of it durable, with the
// history indexes, through inbox, engine, group commit and release. The worker is a Sink in the
// same process, so neither network nor handlers are in the figure.
//
//   node_bench [directory] [seconds] [pending]
//
// Prints lifecycles/s beside the raw fsync rate of the same disk in the same run, and how long a
// restart with `pending` executions takes until the node leads.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>

#include "base/check.h"
#include "base/log.h"
#include "running_node.h"

namespace takt::internal {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

double RawSyncs(const std::string& directory, double seconds) {
    const std::string path = directory + "/sync.bin";
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    TAKT_CHECK(file >= 0);
    const std::string block(4096, 'x');
    const auto begin = Clock::now();
    int count = 0;
    for (; SecondsSince(begin) < seconds; ++count) {
        TAKT_CHECK(write(file, block.data(), block.size()) == ssize_t(block.size()));
        TAKT_CHECK(fdatasync(file) == 0);
    }
    close(file);
    std::filesystem::remove(path);
    return count / SecondsSince(begin);
}

// A worker that succeeds at once with everything it is given.
class InstantWorker final : public LocalWorker {
  public:
    void Release(const Effects& effects) override {
        for (const Verdict& verdict : effects.verdicts) finished_ += verdict.accepted ? 1 : 0;
        Succeed(effects);
    }
    std::uint64_t finished() const { return finished_; }

  private:
    std::atomic<std::uint64_t> finished_ = 0;
};

NewTaskPtr MakeTask(const Text& type, const Text& queue) {
    NewTaskPtr task(new Task);
    task->name = type;
    task->type = type;
    task->queue = queue;
    task->payload = Text(std::string(100, 'p'));
    return task;
}

// Keeps at most `window` submits unanswered until `stop` says so; returns how many were accepted.
std::uint64_t SubmitUntil(Node& node, std::uint64_t window, const std::function<bool()>& stop) {
    const Text type("noop");
    const Text queue("default");
    std::mutex mutex;
    std::condition_variable answered;
    std::uint64_t open = 0;
    std::uint64_t accepted = 0;
    while (!stop()) {
        {
            std::unique_lock lock(mutex);
            answered.wait(lock, [&] { return open < window; });
            open += 64;
        }
        for (int i = 0; i < 64; ++i) {
            node.Ask(Submit{.task = MakeTask(type, queue)}, [&](Result<Answer> answer) {
                const std::scoped_lock lock(mutex);
                accepted += answer ? 1 : 0;
                --open;
                answered.notify_one();
            });
        }
    }
    std::unique_lock lock(mutex);
    answered.wait(lock, [&] { return open == 0; });
    return accepted;
}

int Main(int count, char** arguments) {
    const std::string directory = count > 1 ? arguments[1] : "/tmp/takt-node-bench";
    const double seconds = count > 2 ? std::atof(arguments[2]) : 10;
    const std::uint64_t pending = count > 3 ? std::strtoull(arguments[3], nullptr, 10) : 1'000'000;
    const EngineConfig engine{.pending_max = 10'000'000};
    SetLogLevel(LogLevel::kWarning);
    std::filesystem::remove_all(directory);
    std::filesystem::create_directories(directory);

    const double syncs = RawSyncs(directory, 2);
    fmt::print("raw append of 4 KiB with fdatasync: {:.0f}/s\n", syncs);
    {
        InstantWorker worker;
        RunningNode running(directory + "/lifecycles", engine, worker);
        running.AttachWorker(2'000);
        const auto begin = Clock::now();
        SubmitUntil(running.node(), 4'000, [&] { return SecondsSince(begin) > seconds; });
        const double rate = double(worker.finished()) / SecondsSince(begin);
        const NodeStatus status = running.node().status();
        fmt::print("lifecycles through the node: {:.0f}/s, {:.1f} for each raw sync\n", rate,
                   rate / syncs);
        fmt::print("  {} commits with {:.0f} changes each\n", status.commits,
                   double(status.changes) / double(std::max<std::uint64_t>(status.commits, 1)));
    }
    {
        InstantWorker worker;
        RunningNode running(directory + "/pending", engine, worker);
        std::uint64_t submitted = 0;
        const auto begin = Clock::now();
        SubmitUntil(running.node(), 20'000, [&] { return (submitted += 64) > pending; });
        fmt::print("submits of {} that wait: {:.0f}/s\n", pending,
                   double(pending) / SecondsSince(begin));
    }
    {
        const auto begin = Clock::now();
        InstantWorker worker;
        RunningNode running(directory + "/pending", engine, worker);
        fmt::print("restart with {} pending: leads after {:.2f} s\n", pending, SecondsSince(begin));
    }
    std::filesystem::remove_all(directory);
    return 0;
}

}  // namespace
}  // namespace takt::internal

int main(int count, char** arguments) {
    return takt::internal::Main(count, arguments);
}
