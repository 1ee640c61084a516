// Many tasks at once, without a thread for each: submits them, does something else, waits for all.
//
//     example_async [URL]
#include <iostream>
#include <vector>

#include "takt/client.h"
#include "takt/future.h"

int main(int argc, char** argv) {
    using namespace std::chrono_literals;
    takt::Client client({.servers = {argc > 1 ? argv[1] : "http://127.0.0.1:8080"}});

    // Each with an id of the client's own: an answer that is lost is asked for again, inside.
    std::vector<std::future<takt::Result<takt::Execution>>> runs;
    for (int i = 0; i < 10; ++i) {
        runs.push_back(client.RunAsync(
            {.type = "greet", .payload = "{\"number\": " + std::to_string(i) + "}"}, 1min));
    }
    std::cout << runs.size() << " are under way" << std::endl;

    int succeeded = 0;
    for (auto& run : runs) {
        const auto ended = run.get();
        if (!ended) {
            std::cerr << ended.error().message << "\n";
            return 1;
        }
        if (ended->status == takt::Status::kSuccess) ++succeeded;
    }
    std::cout << succeeded << " succeeded" << std::endl;
    return succeeded == 10 ? 0 : 1;
}
