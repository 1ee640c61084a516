// A program of somebody else's: a scheduler, a worker and a client in one process.
//
//     outside STORE_URL
#include <takt/takt.h>
#include <iostream>

int main(int, char** argv) {
    try {
        takt::SetLog({.level = takt::LogLevel::kWarning}).value();
        takt::Scheduler scheduler({.store_url = argv[1], .listen = "127.0.0.1:0"});
        scheduler.Start().value();
        takt::Worker worker({.servers = {scheduler.url()}});
        worker.Handle("echo", [](takt::TaskContext& task) {
            return takt::TaskResult::Success(task.payload());
        });
        worker.Start().value();
        takt::Client client({.servers = {scheduler.url()}});
        const auto task = client.SubmitTask({.type = "echo", .payload = "\"hello\""}).value();
        const auto run = client.WaitForTask(task.id, std::chrono::seconds(60)).value();
        std::cout << takt::Name(run.status) << " " << run.result << "\n";
        try {
            static_cast<void>(client.GetTask("no-such-task").value());
            return 2;
        } catch (const takt::Failure& failure) {
            return failure.error().code == takt::ErrorCode::kNotFound ? 0 : 3;
        }
    } catch (const takt::Failure& failure) {
        std::cerr << failure.what() << "\n";
        return 1;
    }
}
