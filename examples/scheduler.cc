// A scheduler in your own process. The same as `takt serve`, with events on standard output.
//
//     example_scheduler [STORE_URL] [HOST:PORT]
#include <csignal>
#include <iostream>

#include "takt/scheduler.h"

int main(int argc, char** argv) {
    // Before any thread is started, so that only sigwait below takes them.
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);

    takt::Scheduler scheduler({.store_url = argc > 1 ? argv[1] : "file:./takt-data",
                               .listen = argc > 2 ? argv[2] : "127.0.0.1:8080",
                               .node_id = "scheduler-node-1",
                               .heartbeat_interval = std::chrono::seconds(10),
                               .task_timeout = std::chrono::minutes(5),
                               .load_balance_strategy = std::string(takt::kStrategyLeastTasks),
                               .enable_metrics = true});
    scheduler.RegisterEventCallback(takt::EventType::kTaskCompleted, [](const takt::Event& event) {
        std::cout << event.task_id << " completed on " << event.worker_id << std::endl;
    });
    if (auto started = scheduler.Start(); !started) {
        std::cerr << started.error().message << "\n";
        return 1;
    }
    std::cout << "listening on " << scheduler.url() << std::endl;

    int signal = 0;
    sigwait(&signals, &signal);
    if (const auto metrics = scheduler.GetMetrics()) {
        std::cout << metrics->tasks_completed << " tasks completed, " << metrics->tasks_failed
                  << " failed, " << metrics->workers_online << " workers online" << std::endl;
    }
    scheduler.Stop();
}
