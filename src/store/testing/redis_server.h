// A redis-server for a test.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "store/testing/server_process.h"

namespace takt::internal {

class RedisServer {
  public:
    // "{port}" among the arguments stands for the port. Durable unless `arguments` say otherwise:
    // every write is on disk before it is answered.
    static Result<std::unique_ptr<RedisServer>> Start(
        const std::vector<std::string>& arguments = {});

    std::uint16_t port() const { return port_; }
    std::string url(const std::string& rest = {}) const {
        return "redis://127.0.0.1:" + std::to_string(port_) + rest;
    }
    ServerProcess& process() { return *process_; }
    const TempDirectory& directory() const { return *directory_; }

    // The output of redis-cli for a command. kUnknown if it fails or the answer is an error.
    Result<std::string> Cli(std::vector<std::string> arguments) const;
    // Asks until the command prints `text`; false if it does not within 20 s.
    bool CliUntil(const std::vector<std::string>& arguments, const std::string& text) const;

  private:
    RedisServer() = default;
    static Result<std::unique_ptr<RedisServer>> StartOnce(std::vector<std::string> arguments);

    std::unique_ptr<TempDirectory> directory_ = std::make_unique<TempDirectory>();
    std::uint16_t port_ = 0;
    std::unique_ptr<ServerProcess> process_;
};

}  // namespace takt::internal
