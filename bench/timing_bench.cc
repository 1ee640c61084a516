// How recurring tasks fare in numbers: what a million of them cost while nothing is due, how long
// ten thousand that are due in one second take, and how late fires are at a thousand a second.
// Through the node on the embedded store; the worker is a Sink in the same process that is never
// full.
//
//   timing_bench [directory] [tasks]
//
// Prints each figure beside its target, and the load of the machine, without which they say little.
#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/log.h"
#include "running_node.h"

namespace takt::internal {
namespace {

using namespace std::chrono_literals;

Time Now() {
    return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
}

double ResidentMegabytes() {
    std::ifstream statm("/proc/self/statm");
    std::uint64_t total = 0;
    std::uint64_t resident = 0;
    statm >> total >> resident;
    return double(resident) * double(sysconf(_SC_PAGESIZE)) / 1e6;
}

double CpuSeconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
        return double(time.tv_sec) + double(time.tv_usec) / 1e6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double Load() {
    double load = 0;
    return getloadavg(&load, 1) == 1 ? load : -1;
}

// A worker that succeeds at once, and remembers how late each fire was sent to it.
class PunctualWorker final : public LocalWorker {
  public:
    void Release(const Effects& effects) override {
        const Time now = Now();
        {
            const std::scoped_lock lock(mutex_);
            for (const Assign& assign : effects.assigns) {
                late_.push_back(now - assign.execution.scheduled_at);
            }
            changed_.notify_all();
        }
        Succeed(effects);
    }
    // Sorted; waits for so many at most until `deadline`.
    std::vector<Duration> TakeLate(std::size_t count, Time deadline) {
        std::unique_lock lock(mutex_);
        changed_.wait_until(lock, deadline, [&] { return late_.size() >= count; });
        std::vector<Duration> late = std::exchange(late_, {});
        std::ranges::sort(late);
        return late;
    }

  private:
    std::vector<Duration> late_;
};

// A node with a worker that stays.
class Running {
  public:
    explicit Running(const std::string& directory) : running_(directory, EngineConfig{}, worker) {
        running_.AttachWorker(100'000);
        beats_ = std::jthread([this](const std::stop_token& stop) {
            // Well within the lease of 30 s.
            std::mutex mutex;
            std::condition_variable_any wake;
            std::unique_lock lock(mutex);
            while (!wake.wait_for(lock, stop, 5s, [] { return false; }) && !stop.stop_requested()) {
                running_.node().Tell(Heartbeat{.session = 1, .load = {}});
            }
        });
    }

    // Keeps some thousands unanswered; returns when all are accepted.
    void Put(std::size_t count, const std::function<NewTaskPtr(std::size_t)>& make) {
        constexpr std::size_t kWindow = 20'000;
        std::mutex mutex;
        std::condition_variable answered;
        std::size_t open = 0;
        std::size_t accepted = 0;
        for (std::size_t i = 0; i < count; ++i) {
            {
                std::unique_lock lock(mutex);
                answered.wait(lock, [&] { return open < kWindow; });
                ++open;
            }
            running_.node().Ask(PutTask{.task = make(i)}, [&](Result<Answer> answer) {
                TAKT_CHECK(answer.has_value());
                const std::scoped_lock lock(mutex);
                ++accepted;
                --open;
                answered.notify_one();
            });
        }
        std::unique_lock lock(mutex);
        answered.wait(lock, [&] { return accepted == count; });
    }

    PunctualWorker worker;

  private:
    RunningNode running_;
    std::jthread beats_;  // Last: it ends before the node that it tells.
};

NewTaskPtr MakeTask(Recurrence recurrence) {
    // As tasks come in by the API: they share the texts of types and queues, the rest is their own.
    static const Text kType("report");
    static const Text kQueue("default");
    NewTaskPtr task(new Task);
    task->name = Text(std::string("nightly report of a customer"));
    task->type = kType;
    task->queue = kQueue;
    task->payload = Text(std::string(R"({"customer": 12345, "format": "pdf"})"));
    auto options = std::make_unique<TaskOptions>();
    options->recurrence = std::move(recurrence);
    options->mode = Mode::kParallel;
    task->options = std::move(options);
    return task;
}

void Print(std::string_view what, const std::string& measured, std::string_view target) {
    fmt::print("{:<58} {:>16}   target {:<12} load {:.1f}\n", what, measured, target, Load());
}

void Quiet(Running& running, std::size_t tasks, double megabytes_before) {
    const auto begin = std::chrono::steady_clock::now();
    running.Put(tasks, [](std::size_t i) {
        Recurrence recurrence;
        // Each at a minute of its own, half a year away.
        const auto month = unsigned(
            std::chrono::year_month_day(std::chrono::floor<std::chrono::days>(Now())).month());
        recurrence.cron = Text(fmt::format("0 {} {} {} {} *", i % 60, i / 60 % 24,
                                           1 + i / 1440 % 28, (month + 5) % 12 + 1));
        return MakeTask(std::move(recurrence));
    });
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    fmt::print("{} cron tasks accepted in {:.1f} s, {:.0f}/s\n", tasks, took.count(),
               double(tasks) / took.count());
    Print(fmt::format("memory in all with {} cron tasks", tasks),
          fmt::format("{:.0f} MB", ResidentMegabytes()), "< 1000 MB");
    fmt::print("  {:.0f} bytes for each task\n",
               (ResidentMegabytes() - megabytes_before) * 1e6 / double(tasks));
    std::this_thread::sleep_for(2s);  // The last commits and their checkpoint.
    constexpr double kSeconds = 10;
    const double cpu = CpuSeconds();
    std::this_thread::sleep_for(std::chrono::duration<double>(kSeconds));
    Print("processor while nothing is due, of one core",
          fmt::format("{:.2f} %", (CpuSeconds() - cpu) / kSeconds * 100), "< 2 %");
}

void SameSecond(Running& running) {
    constexpr std::size_t kTasks = 10'000;
    const auto due = std::chrono::floor<std::chrono::seconds>(Now()) + 10s;
    const std::chrono::hh_mm_ss time(due - std::chrono::floor<std::chrono::days>(due));
    Recurrence recurrence;
    recurrence.cron = Text(fmt::format("{} {} {} * * *", time.seconds().count(),
                                       time.minutes().count(), time.hours().count()));
    running.Put(kTasks, [&](std::size_t) { return MakeTask(recurrence); });
    TAKT_CHECK(Now() < due);
    const double cpu = CpuSeconds();
    const std::vector<Duration> late = running.worker.TakeLate(kTasks, due + 60s);
    TAKT_CHECK(late.size() == kTasks);
    Print("10000 due in one second: all committed and sent after",
          fmt::format("{} ms", late.back().count()), "< 1000 ms");
    fmt::print("  half of them after {} ms; processor {:.2f} s\n", late[kTasks / 2].count(),
               CpuSeconds() - cpu);
}

void Lateness(Running& running) {
    constexpr std::size_t kTasks = 10'000;
    constexpr Duration kEvery = 10s;
    const Time begin = Now() + Duration(12'000);
    running.Put(kTasks, [&](std::size_t i) {
        Recurrence recurrence;
        recurrence.every = kEvery;
        recurrence.start_at = begin + Duration(i);
        return MakeTask(std::move(recurrence));
    });
    TAKT_CHECK(Now() < begin);
    const double cpu = CpuSeconds();
    const std::vector<Duration> late = running.worker.TakeLate(20'000, begin + 21s);
    const auto at = [&](double part) {
        return late[std::size_t(double(late.size() - 1) * part)].count();
    };
    Print(fmt::format("lateness at 1000 fires/s ({} fires), 99 of 100", late.size()),
          fmt::format("{} ms", at(0.99)), "< 20 ms");
    fmt::print("  half {} ms, 999 of 1000 {} ms, all {} ms; processor {:.0f} % of one core\n",
               at(0.5), at(0.999), at(1), (CpuSeconds() - cpu) / 20 * 100);
}

int Main(int count, char** arguments) {
    const std::string directory = count > 1 ? arguments[1] : "/tmp/takt-timing-bench";
    const std::size_t tasks = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 1'000'000;
    SetLogLevel(LogLevel::kWarning);
    std::filesystem::remove_all(directory);
    std::filesystem::create_directories(directory);
    {
        const double before = ResidentMegabytes();
        Running running(directory);
        Quiet(running, tasks, before);
        SameSecond(running);
        Lateness(running);
    }
    std::filesystem::remove_all(directory);
    return 0;
}

}  // namespace
}  // namespace takt::internal

int main(int count, char** arguments) {
    return takt::internal::Main(count, arguments);
}
