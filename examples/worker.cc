// A worker: connects to a scheduler and runs its tasks.
//
//     example_worker [URL]
#include <csignal>
#include <iostream>

#include "takt/worker.h"

// [readme]
class MyTaskProcessor : public takt::TaskProcessor {
  public:
    takt::TaskResult Process(takt::TaskContext& task) override {
        task.Log("processing " + task.task_name());
        if (task.stop_token().stop_requested()) return takt::TaskResult::Failure("asked to stop");
        return takt::TaskResult::Success(R"({"processed": )" + task.payload() + "}");
    }
};
// [readme]

int main(int argc, char** argv) {
    // Before any thread is started, so that only sigwait below takes them.
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);

    // [readme]
    takt::Worker worker({.servers = {argc > 1 ? argv[1] : "http://127.0.0.1:8080"},
                         .name = "My Worker Node",
                         .max_concurrency = 5});
    worker.Handle("greet", [](takt::TaskContext& task) {
        return takt::TaskResult::Success(R"({"hello": )" + task.payload() + "}");
    });
    worker.SetTaskProcessor(std::make_shared<MyTaskProcessor>());  // Every other type.
    if (auto started = worker.Start(); !started) {
        std::cerr << started.error().message << "\n";
        return 1;
    }
    // [readme]
    std::cout << "worker " << worker.status().id << " started" << std::endl;

    int signal = 0;
    sigwait(&signals, &signal);
    worker.Stop();  // Finishes what runs.
}
