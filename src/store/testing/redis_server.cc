#include "store/testing/redis_server.h"

#include <chrono>
#include <thread>
#include <utility>

namespace takt::internal {

Result<std::unique_ptr<RedisServer>> RedisServer::Start(const std::vector<std::string>& arguments) {
    Result<std::unique_ptr<RedisServer>> server = StartOnce(arguments);
    // Another test may have taken the port in the meantime.
    for (int again = 0; again < 2 && !server; ++again) server = StartOnce(arguments);
    return server;
}

Result<std::unique_ptr<RedisServer>> RedisServer::StartOnce(std::vector<std::string> arguments) {
    std::unique_ptr<RedisServer> server(new RedisServer);
    server->port_ = FreePort();
    std::vector<std::string> command = {"redis-server",
                                        "--bind",
                                        "127.0.0.1",
                                        "--port",
                                        std::to_string(server->port_),
                                        "--appendonly",
                                        "yes",
                                        "--appendfsync",
                                        "always",
                                        "--save",
                                        "",
                                        "--dir",
                                        server->directory_->path().string()};
    // Redis waits 5 s for more replicas before it serves the first.
    command.insert(command.end(), {"--repl-diskless-sync-delay", "0"});
    for (std::string& argument : arguments) {
        if (argument == "{port}") argument = std::to_string(server->port_);
    }
    command.insert(command.end(), arguments.begin(), arguments.end());
    // A restarted server listens while it still loads its data; LOADING is an answer too.
    auto process =
        ServerProcess::Start({.command = std::move(command),
                              .directory = server->directory_->path(),
                              .ready = [port = server->port_] { return Accepts(port); }});
    if (!process) return std::unexpected(process.error());
    server->process_ = std::move(*process);
    return server;
}

Result<std::string> RedisServer::Cli(std::vector<std::string> arguments) const {
    std::vector<std::string> command = {"redis-cli", "-e", "-p", std::to_string(port_)};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return RunProgram(command);
}

bool RedisServer::CliUntil(const std::vector<std::string>& arguments,
                           const std::string& text) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < end) {
        const Result<std::string> answer = Cli(arguments);
        if (answer && answer->find(text) != std::string::npos) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return false;
}

}  // namespace takt::internal
