// The steps of the workflows in examples/workflows, in C++.
//
//     example_workflow_worker [URL] [NAME]
#include <algorithm>
#include <csignal>
#include <iostream>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "takt/worker.h"

namespace {

// All whole numbers in a JSON text: enough for the lists that these steps hand on.
std::vector<int> NumbersIn(const std::string& json) {
    std::vector<int> numbers;
    std::string digits;
    for (const char c : json + " ") {
        if (c >= '0' && c <= '9') {
            digits += c;
        } else if (!digits.empty()) {
            numbers.push_back(std::stoi(digits));
            digits.clear();
        }
    }
    return numbers;
}

std::string ListOf(const std::vector<int>& numbers) {
    std::ostringstream list;
    for (std::size_t i = 0; i < numbers.size(); ++i) list << (i > 0 ? "," : "[") << numbers[i];
    return numbers.empty() ? "[]" : list.str() + "]";
}

}  // namespace

int main(int argc, char** argv) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);

    using takt::TaskContext;
    using takt::TaskResult;
    takt::Worker worker({.servers = {argc > 1 ? argv[1] : "http://127.0.0.1:8080"},
                         .name = argc > 2 ? argv[2] : "Workflow Worker",
                         .max_concurrency = 5});
    worker.Handle("flow.extract",
                  [](TaskContext&) { return TaskResult::Success(R"({"rows": [3, 1, 2]})"); });
    worker.Handle("flow.transform", [](TaskContext& task) {
        std::vector<int> rows = NumbersIn(task.payload());
        std::ranges::sort(rows);
        return TaskResult::Success(ListOf(rows));
    });
    worker.Handle("flow.load", [](TaskContext& task) {
        const auto count = NumbersIn(task.payload()).size();
        return TaskResult::Success(R"({"loaded": )" + std::to_string(count) + "}");
    });
    worker.Handle("flow.list", [](TaskContext&) {
        return TaskResult::Success(R"({"files": ["a.csv", "bb.csv", "ccc.csv"]})");
    });
    worker.Handle("flow.count", [](TaskContext& task) {
        // {"file":"a.csv"}: what stands between the last two quotes.
        const std::string& payload = task.payload();
        const std::size_t end = payload.rfind('"');
        const std::size_t begin = payload.rfind('"', end - 1);
        task.Log("part " + std::to_string(task.shard_index() + 1) + " of " +
                 std::to_string(task.shard_total()));
        return TaskResult::Success(std::to_string(end - begin - 1));
    });
    worker.Handle("flow.sum", [](TaskContext& task) {
        const std::vector<int> counts = NumbersIn(task.payload());
        return TaskResult::Success(
            std::to_string(std::accumulate(counts.begin(), counts.end(), 0)));
    });
    worker.Handle("flow.clear", [](TaskContext& task) {
        task.Log("clearing the cache of worker " + std::to_string(task.shard_index() + 1));
        return TaskResult::Success(R"({"cleared": true})");
    });
    if (auto started = worker.Start(); !started) {
        std::cerr << started.error().message << "\n";
        return 1;
    }
    std::cout << "worker " << worker.status().id << " started" << std::endl;

    int signal = 0;
    sigwait(&signals, &signal);
    worker.Stop();
}
