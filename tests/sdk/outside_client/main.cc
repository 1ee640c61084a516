// A program of somebody else's: a worker and a client, of a scheduler in another process.
//
//     outside_client URL
#include <takt/client.h>
#include <takt/worker.h>

#include <iostream>
#include <string>

int main(int, char** argv) {
    try {
        takt::Worker worker({.servers = {argv[1]}});
        worker.Handle("echo", [](takt::TaskContext& task) {
            return takt::TaskResult::Success(task.payload());
        });
        worker.Start().value();
        takt::Client client({.servers = {argv[1]}});
        // So long that it is compressed on its way.
        const std::string text(100'000, 'x');
        const auto task = client.SubmitTask({.type = "echo", .payload = '"' + text + '"'}).value();
        const auto run = client.WaitForTask(task.id, std::chrono::seconds(60)).value();
        std::cout << takt::Name(run.status) << " " << run.result.size() << "\n";
        // What only the whole library can.
        takt::Worker by_store({.store_url = "redis://127.0.0.1:6379"});
        by_store.Handle("echo", [](takt::TaskContext&) { return takt::TaskResult::Success(); });
        const auto started = by_store.Start();
        std::cout << started.error().field << ": " << started.error().message << "\n";
        std::cout << takt::MakeGrpcExecutor({.type = "t", .address = "a:1"}).error().message
                  << "\n";
    } catch (const takt::Failure& failure) {
        std::cerr << failure.what() << "\n";
        return 1;
    }
}
