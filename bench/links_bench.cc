// One scheduler and its workers in one process: submits → WebSocket → handlers → results, on the
// memory store, so that what is measured is node, engine, link and worker runtime.
//
//   build/bench/links_bench [tasks] [workers] [capacity] [payload bytes]
#include <fmt/format.h>
#include <sys/resource.h>

#include <atomic>
#include <cstdlib>

#include "base/log.h"
#include "tests/support/stack.h"
#include "worker/worker_runtime.h"

namespace takt::internal {
namespace {

using namespace testing_support;

double CpuSeconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void Submit(Stack& stack, std::atomic<long>& accepted, const std::string& payload) {
    const NewTaskPtr task = new Task;
    task->name = Text("noop");
    task->type = Text("noop");
    task->queue = Text("default");
    task->payload = Text(payload);
    stack.node().Ask(internal::Submit{.task = task}, [&](Result<Answer> answer) {
        if (answer) ++accepted;
    });
}

int Main(long tasks, int workers, std::uint32_t capacity, std::size_t payload_bytes) {
    SetLogLevel(LogLevel::kWarning);
    Stack stack;
    stack.watcher.AwaitRole(Role::kLeader);
    std::atomic<long> done = 0;
    std::vector<std::unique_ptr<WorkerRuntime>> fleet;
    for (int i = 0; i < workers; ++i) {
        HandlerRegistry handlers;
        if (!handlers.AddFunction("noop", [&](TaskContext&) {
                done.fetch_add(1, std::memory_order_relaxed);
                return TaskResult::Success();
            })) {
            return 1;
        }
        WorkerOptions options;
        options.servers = {stack.url()};
        options.id = "w-" + std::to_string(i);
        options.capacity = capacity;
        fleet.push_back(std::move(*WorkerRuntime::Create(std::move(options), handlers)));
        if (!fleet.back()->Start()) return 1;
    }
    stack.watcher.AwaitEvents(EventType::kWorkerJoined, static_cast<std::size_t>(workers));
    const std::string payload = '"' + std::string(payload_bytes, 'x') + '"';
    std::atomic<long> accepted = 0;
    const auto begin = std::chrono::steady_clock::now();
    const double cpu = CpuSeconds();
    for (long i = 0; i < tasks; ++i) {
        // As many under way as a few clients would have.
        while (i - done.load(std::memory_order_relaxed) > 20'000) std::this_thread::sleep_for(1ms);
        Submit(stack, accepted, payload);
    }
    stack.watcher.AwaitEvents(EventType::kTaskCompleted, static_cast<std::size_t>(tasks));
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const StreamLinkStats stats = stack.link().stats();
    fmt::print(
        "{} tasks, {} workers of {}: {:.0f}/s, {:.1f} us of CPU each, "
        "{:.1f} assigns and {:.1f} results per frame\n",
        accepted.load(), workers, capacity, static_cast<double>(tasks) / seconds,
        (CpuSeconds() - cpu) / static_cast<double>(tasks) * 1e6,
        static_cast<double>(stats.assigns) / static_cast<double>(stats.frames_out),
        static_cast<double>(stats.results) / static_cast<double>(stats.frames_in));
    return 0;
}

}  // namespace
}  // namespace takt::internal

int main(int count, char** arguments) {
    const auto number = [&](int index, long otherwise) {
        return count > index ? std::atol(arguments[index]) : otherwise;
    };
    return takt::internal::Main(number(1, 100'000), static_cast<int>(number(2, 2)),
                                static_cast<std::uint32_t>(number(3, 64)),
                                static_cast<std::size_t>(number(4, 64)));
}
