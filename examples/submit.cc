// Submits a task, waits for it, and shows what became of it.
//
//     example_submit [URL]
#include <iostream>

#include "takt/client.h"

int main(int argc, char** argv) {
    using namespace std::chrono_literals;
    // [readme]
    takt::Client client({.servers = {argc > 1 ? argv[1] : "http://127.0.0.1:8080"}});
    const auto task = client.SubmitTask({.name = "数据处理任务",
                                         .type = "process_data",
                                         .priority = takt::kPriorityHigh,
                                         .payload = R"({"user_id": 12345})",
                                         .metadata = {{"department", "analytics"}},
                                         .retry = {.max_retries = 3, .delay = 1min},
                                         .timeout = 10min});
    if (!task) {
        std::cerr << "failed to submit: " << task.error().message << "\n";
        return 1;
    }
    const auto run = client.WaitForTask(task->id, 1min);
    if (!run) {
        std::cerr << run.error().message << "\n";
        return 1;
    }
    std::cout << run->id << " " << takt::Name(run->status) << " on " << run->worker_id << ": "
              << run->result << "\n";
    // [readme]
    return run->status == takt::Status::kSuccess ? 0 : 1;
}
